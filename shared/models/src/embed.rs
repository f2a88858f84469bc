//! Embedding models behind the embedding port, with each provider's limits.

use async_trait::async_trait;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use reverie_core::conclusion::Embedding;
use reverie_core::reasoner::{EmbedError, Embedder};
use reverie_core::text::estimate_tokens;
use serde_json::{Value, json};

use crate::bedrock;
use crate::endpoint::{Call, Endpoint, Misread};
use crate::error::ModelError;

/// Calls that are under way at once.
const PARALLEL: usize = 4;

/// An embedding model of a provider.
pub(crate) struct RemoteEmbedder {
    /// What is stored beside every vector: the model's id, and the number of components where it was chosen.
    id: String,
    model: String,
    dimensions: Option<u32>,
    dialect: Dialect,
    endpoint: Endpoint,
}

/// How texts are sent and vectors come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// `/embeddings` of OpenAI and of those who speak like it.
    OpenAi,
    /// Amazon's Titan on Bedrock: one text a call.
    Titan,
    /// Cohere's on Bedrock.
    Cohere,
}

/// What one call may hold. Estimates are rough, so all are well below what the providers say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Most {
    texts: usize,
    /// Of all texts, estimated.
    tokens: u32,
    /// Of one text, estimated; what is longer is cut off at its end.
    tokens_each: u32,
    /// Of one text.
    characters_each: usize,
}

impl Dialect {
    /// The dialect of a model on Bedrock; the error says which there are.
    pub(crate) fn of_bedrock(model: &str) -> Result<Self, &'static str> {
        if model.contains("titan-embed-text") {
            Ok(Self::Titan)
        } else if model.contains("cohere.embed") {
            Ok(Self::Cohere)
        } else {
            Err("a titan-embed-text or cohere.embed model on Bedrock")
        }
    }

    const fn most(self) -> Most {
        match self {
            // 2,048 texts, 300,000 tokens, 8,192 each; local servers take fewer.
            Self::OpenAi => Most {
                texts: 128,
                tokens: 100_000,
                tokens_each: 6_000,
                characters_each: 24_000,
            },
            // 8,192 tokens, 50,000 characters.
            Self::Titan => Most {
                texts: 1,
                tokens: 6_000,
                tokens_each: 6_000,
                characters_each: 24_000,
            },
            // 96 texts of 2,048 characters; the rest is cut by the model.
            Self::Cohere => Most {
                texts: 96,
                tokens: 50_000,
                tokens_each: 2_048,
                characters_each: 2_048,
            },
        }
    }
}

impl RemoteEmbedder {
    pub(crate) fn new(model: &str, dimensions: Option<u32>, dialect: Dialect, endpoint: Endpoint) -> Self {
        Self {
            id: dimensions.map_or_else(|| model.to_owned(), |dimensions| format!("{model}@{dimensions}")),
            model: model.to_owned(),
            dimensions,
            dialect,
            endpoint,
        }
    }

    fn call(&self, texts: &[String]) -> Call {
        let mut body = match self.dialect {
            Dialect::OpenAi => json!({"model": self.model, "input": texts, "encoding_format": "float"}),
            Dialect::Titan => json!({"inputText": texts.first(), "normalize": true}),
            // The port does not tell questions from documents, and both sides must be embedded alike.
            Dialect::Cohere => json!({"texts": texts, "input_type": "search_document", "truncate": "END"}),
        };
        if let Some(dimensions) = self.dimensions {
            let name = match self.dialect {
                Dialect::OpenAi | Dialect::Titan => "dimensions",
                Dialect::Cohere => "output_dimension",
            };
            body[name] = json!(dimensions);
        }
        match self.dialect {
            Dialect::OpenAi => Call::json("/embeddings", body),
            Dialect::Titan | Dialect::Cohere => Call::json(bedrock::path(&self.model, "invoke"), body),
        }
    }

    async fn ask(&self, texts: &[String]) -> Result<Vec<Embedding>, ModelError> {
        let call = self.call(texts);
        self.endpoint
            .call(&self.model, &call, |answer| {
                let vectors = vectors(self.dialect, answer)?;
                if vectors.len() != texts.len() {
                    return Err(Misread("there are not as many vectors as texts"));
                }
                vectors.iter().map(|vector| self.embedding(vector)).collect()
            })
            .await
    }

    fn embedding(&self, vector: &Value) -> Result<Embedding, Misread> {
        let components = vector.as_array().ok_or(Misread("a vector is none"))?;
        let components: Option<Vec<f64>> = components.iter().map(Value::as_f64).collect();
        let components = components.ok_or(Misread("a vector holds something else than numbers"))?;
        let wanted = self.dimensions.and_then(|wanted| usize::try_from(wanted).ok());
        if components.is_empty() || wanted.is_some_and(|wanted| wanted != components.len()) {
            return Err(Misread("a vector does not have as many components as it should"));
        }
        Ok(Embedding {
            model: self.id.clone(),
            components: quantise(&components),
        })
    }
}

#[async_trait]
impl Embedder for RemoteEmbedder {
    #[allow(
        clippy::misnamed_getters,
        reason = "the port's model is what vectors are compared by"
    )]
    fn model(&self) -> &str {
        &self.id
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError> {
        let most = self.dialect.most();
        let batches = batches(texts.iter().map(|text| fitting(text, most)), most);
        let calls: Vec<_> = batches.iter().map(|batch| self.ask(batch)).collect();
        let answers: Vec<Vec<Embedding>> = stream::iter(calls).buffered(PARALLEL).try_collect().await?;
        let embeddings: Vec<Embedding> = answers.into_iter().flatten().collect();
        let length = embeddings.first().map(|embedding| embedding.components.len());
        if embeddings
            .iter()
            .any(|embedding| Some(embedding.components.len()) != length)
        {
            return Err(EmbedError::new("the vectors of one model differ in length"));
        }
        Ok(embeddings)
    }
}

/// The vectors in an answer, in the order of the texts.
fn vectors(dialect: Dialect, answer: &Value) -> Result<Vec<&Value>, Misread> {
    match dialect {
        Dialect::OpenAi => {
            let mut data: Vec<&Value> = answer["data"]
                .as_array()
                .ok_or(Misread("the answer has no data"))?
                .iter()
                .collect();
            // Where there is no index, they come in order.
            data.sort_by_key(|item| item["index"].as_u64());
            Ok(data.into_iter().map(|item| &item["embedding"]).collect())
        }
        Dialect::Titan => Ok(vec![&answer["embedding"]]),
        Dialect::Cohere => {
            // Newer models name the kind of their numbers.
            let embeddings = &answer["embeddings"];
            let vectors = embeddings.as_array().or_else(|| embeddings["float"].as_array());
            Ok(vectors.ok_or(Misread("the answer has no embeddings"))?.iter().collect())
        }
    }
}

/// A text as a provider takes it: not blank (blank ones are refused), not too long.
fn fitting(text: &str, most: Most) -> String {
    if text.trim().is_empty() {
        return ".".to_owned();
    }
    let mut end = text
        .char_indices()
        .nth(most.characters_each)
        .map_or(text.len(), |(at, _)| at);
    // Halving is rough, but texts that long are rare.
    while estimate_tokens(&text[..end]) > most.tokens_each {
        end /= 2;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
    }
    text[..end].to_owned()
}

fn batches(texts: impl Iterator<Item = String>, most: Most) -> Vec<Vec<String>> {
    let mut batches: Vec<Vec<String>> = Vec::new();
    let mut tokens = 0;
    for text in texts {
        let more = estimate_tokens(&text);
        match batches.last_mut() {
            Some(batch) if batch.len() < most.texts && tokens + more <= most.tokens => {
                tokens += more;
                batch.push(text);
            }
            _ => {
                tokens = more;
                batches.push(vec![text]);
            }
        }
    }
    batches
}

/// Signed bytes with the largest component at ±127: cosines do not change with scale, and vectors of a thousand
/// components would lose most of their digits if they were scaled to unit length.
fn quantise(components: &[f64]) -> Vec<i8> {
    let largest = components.iter().fold(0.0_f64, |largest, c| largest.max(c.abs()));
    let scale = if largest > 0.0 { 127.0 / largest } else { 0.0 };
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the scale keeps every component within ±127"
    )]
    let bytes = components.iter().map(|component| (component * scale).round() as i8);
    bytes.collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn batches_keep_to_the_limits_and_lose_nothing() {
        let most = Most {
            texts: 3,
            tokens: 10,
            tokens_each: 8,
            characters_each: 40,
        };
        let texts = ["a b c", "d e f g", "h", "i", "j k l m n o", "p q r s t", "u"];
        let found = batches(texts.into_iter().map(str::to_owned), most);
        assert_eq!(found.concat(), texts);
        for batch in &found {
            assert!(batch.len() <= 3 && batch.iter().map(|text| estimate_tokens(text)).sum::<u32>() <= 10);
        }
        assert!(batches(std::iter::empty(), most).is_empty());
    }

    #[test]
    fn texts_are_made_to_fit() {
        let most = Dialect::Cohere.most();
        for (text, expected) in [("", "."), (" \n", "."), ("short", "short")] {
            assert_eq!(fitting(text, most), expected);
        }
        let long = fitting(&"ü ".repeat(5000), most);
        assert!(long.chars().count() <= 2048 && long.starts_with("ü ü"));
        let dense = fitting(&"鳥".repeat(20_000), Dialect::Titan.most());
        assert!((1..=6000).contains(&estimate_tokens(&dense)));
    }

    #[test]
    fn quantised_vectors_keep_their_angles() {
        let of = |seed: u64| -> Vec<f64> {
            let mut state = seed;
            let next = || {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                #[allow(clippy::cast_precision_loss, reason = "a random number")]
                let number = (state >> 33) as f64 / f64::from(1_u32 << 31) - 0.5;
                number / 1000.0
            };
            std::iter::repeat_with(next).take(1536).collect()
        };
        let cosine = |a: &[f64], b: &[f64]| {
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
        };
        let embedding = |vector: &[f64]| Embedding {
            model: "m".to_owned(),
            components: quantise(vector),
        };
        let a = of(1);
        for share in [0.0, 0.3, 0.7, 1.0] {
            let b: Vec<f64> = a
                .iter()
                .zip(of(2))
                .map(|(a, b)| a * share + b * (1.0 - share))
                .collect();
            let exact = cosine(&a, &b);
            let found = f64::from(embedding(&a).cosine(&embedding(&b)).unwrap());
            assert!((exact - found).abs() < 0.003, "{exact} {found}");
        }
        assert_eq!(quantise(&[0.0, 0.0]), [0, 0]);
        assert_eq!(quantise(&[2.0, -4.0]), [64, -127]);
    }

    #[test]
    fn answers_of_every_dialect_are_read_in_order() {
        for (dialect, answer) in [
            (
                Dialect::OpenAi,
                json!({"data": [{"index": 1, "embedding": [2]}, {"index": 0, "embedding": [1]}]}),
            ),
            (
                Dialect::OpenAi,
                json!({"data": [{"embedding": [1]}, {"embedding": [2]}]}),
            ),
            (Dialect::Cohere, json!({"embeddings": [[1], [2]]})),
            (Dialect::Cohere, json!({"embeddings": {"float": [[1], [2]]}})),
        ] {
            assert_eq!(
                vectors(dialect, &answer).unwrap(),
                [&json!([1]), &json!([2])],
                "{dialect:?}"
            );
        }
        for dialect in [Dialect::OpenAi, Dialect::Cohere] {
            assert!(vectors(dialect, &json!({"x": 1})).is_err());
        }
    }
}
