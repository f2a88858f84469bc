use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Tokens {
    text: String,
    tokens: Vec<String>,
}

#[derive(Deserialize)]
struct Query {
    query: String,
    answer: String,
}

fn embedder() -> StaticEmbedder {
    StaticEmbedder::load().unwrap()
}

fn cosine(a: &str, b: &str) -> f32 {
    embedder().vector(a).cosine(&embedder().vector(b)).unwrap()
}

#[test]
fn text_is_split_as_the_model_was_trained_to() {
    let cases: Vec<Tokens> = serde_json::from_str(include_str!("../../../embedding/tokens.json")).unwrap();
    assert!(cases.len() > 25);
    let table = embedder().table;
    for case in cases {
        let found: Vec<String> = wordpiece::words(&case.text)
            .iter()
            .flat_map(|word| match wordpiece::pieces(word, |piece| table.find(piece)) {
                Some(rows) => rows.into_iter().map(|row| table.text_of(row)).collect(),
                None => vec!["[UNK]".to_owned()],
            })
            .collect();
        assert_eq!(found, case.tokens, "{:?}", case.text);
    }
}

#[test]
fn texts_of_like_meaning_lie_closer_whatever_their_words() {
    for (text, near, far) in [
        (
            "maya works at Intel",
            "Where is she employed?",
            "Where is the weather mild?",
        ),
        ("maya adopted a dog", "pets", "cars"),
        (
            "maya quit beer and wine",
            "does she drink alcohol",
            "does she play chess",
        ),
    ] {
        assert!(cosine(text, near) > cosine(text, far) + 0.05, "{text}");
    }
}

#[test]
fn related_texts_lie_closer_than_unrelated_ones_in_any_script() {
    for (text, near, far) in [
        (
            "maya works at Intel",
            "Where does maya work?",
            "the weather in Lima is mild",
        ),
        (
            "用户的部署窗口是每周二早上。",
            "用户的部署窗口是什么时候？",
            "我喜欢喝咖啡",
        ),
        ("الموعد النهائي للمشروع", "متى الموعد النهائي للمشروع؟", "أحب القهوة"),
        ("วันส่งมอบงานคือวันศุกร์", "วันส่งมอบงานคือวันอะไร", "ฉันชอบกาแฟ"),
    ] {
        assert!(cosine(text, near) > cosine(text, far) + 0.2, "{text}");
    }
}

/// What `docs/quality.md` says of our own questions.
#[test]
fn questions_find_their_answers() {
    let queries: Vec<Query> = include_str!("../../../quality/queries.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let first = |vector: &dyn Fn(&str) -> Embedding| {
        let answers: Vec<Embedding> = queries.iter().map(|q| vector(&q.answer)).collect();
        let found = |query: &Query, right: usize| {
            let wanted = vector(&query.query);
            let near = |at: usize| answers[at].cosine(&wanted).unwrap();
            (0..answers.len()).all(|at| at == right || near(at) < near(right))
        };
        queries
            .iter()
            .enumerate()
            .filter(|(at, query)| found(query, *at))
            .count()
    };
    let (ours, looks) = (
        first(&|text| embedder().vector(text)),
        first(&|text| ngram_vector(text)),
    );
    assert!(
        ours >= BAR && ours > looks,
        "{ours} of {}, n-grams alone {looks}",
        queries.len()
    );
}

#[test]
fn the_vector_of_a_text_never_changes() {
    let embedder = embedder();
    let vector = embedder.vector("maya works at Intel 你好");
    let sum: i64 = (1_i64..).zip(&vector.components).map(|(i, c)| i * i64::from(*c)).sum();
    assert_eq!(
        (vector.components.len(), vector.model.as_str()),
        (384, "reverie-static-1")
    );
    assert_eq!(
        sum, GOLDEN,
        "changing the table, the mixture or the hash wants a new model id"
    );
    assert!(embedder.vector("").components.iter().all(|c| *c == 0));
    assert_eq!(
        embedder.vector("Ｍａｙａ").components[128..],
        embedder.vector("maya").components[128..]
    );
}

#[test]
fn no_text_is_too_odd() {
    for text in [
        "\0",
        "🍕",
        &"a".repeat(100_000),
        &"a ".repeat(50_000),
        "\u{200b}",
        "\u{301}",
        "##",
        "#",
    ] {
        assert_eq!(embedder().vector(text).components.len(), 384);
    }
}

const BAR: usize = 25;
const GOLDEN: i64 = 8311;
