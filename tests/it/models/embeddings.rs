//! Embedding models: batches, order, numbers, faults.

use std::sync::Arc;

use reverie_core::reasoner::Embedder;
use reverie_models::Provider;
use serde_json::{Value, json};

use super::{KEY, TestPace, models};
use crate::rig::model_server::{Answer, ModelServer, Step};

const MODELS: [(Provider, &str); 3] = [
    (Provider::OpenAi, "text-embedding-x"),
    (Provider::Bedrock, "amazon.titan-embed-text-v2:0"),
    (Provider::Bedrock, "cohere.embed-v4:0"),
];

fn embedder(server: &ModelServer, provider: Provider, model: &str, more: &[(&str, &str)]) -> Arc<dyn Embedder> {
    let mut all = vec![
        ("REVERIE_EMBEDDING_PROVIDER", provider.as_str()),
        ("REVERIE_EMBEDDING_MODEL", model),
    ];
    all.extend(more);
    models(&server.url(), &TestPace::new(), &all).embedder().unwrap()
}

fn texts(count: usize) -> Vec<String> {
    (0..count).map(|at| format!("{}{}", "x".repeat(at % 90), at)).collect()
}

#[tokio::test]
async fn texts_come_back_in_order_in_batches_that_the_provider_takes() {
    for ((provider, model), (most, calls)) in MODELS.into_iter().zip([(128, 3), (1, 300), (96, 4)]) {
        let server = ModelServer::start([]).await;
        let embedder = embedder(&server, provider, model, &[]);
        let texts = texts(300);
        let found = embedder.embed(&texts).await.unwrap();
        assert_eq!(found.len(), 300, "{model}");
        for (text, embedding) in texts.iter().zip(&found) {
            let alone = embedder.embed(std::slice::from_ref(text)).await.unwrap();
            assert_eq!(&alone[0], embedding, "{model}: {text}");
            assert_eq!(embedding.model, model);
        }
        let asked = server.asked();
        let sizes: Vec<_> = asked[..calls]
            .iter()
            .map(|asked| {
                let list = asked.body["input"]
                    .as_array()
                    .or_else(|| asked.body["texts"].as_array());
                list.map_or(1, Vec::len)
            })
            .collect();
        assert!(sizes.iter().all(|size| *size <= most), "{model}: {sizes:?}");
        assert_eq!(sizes.iter().sum::<usize>(), 300, "{model}");
        assert!(embedder.embed(&[]).await.unwrap().is_empty());
        assert_eq!(server.asked().len(), asked.len(), "nothing is asked for nothing");
    }
}

#[tokio::test]
async fn the_number_of_components_is_chosen_and_is_part_of_the_models_name() {
    for ((provider, model), name) in MODELS.into_iter().zip(["dimensions", "dimensions", "output_dimension"]) {
        let server = ModelServer::start([]).await;
        let chosen = embedder(&server, provider, model, &[("REVERIE_EMBEDDING_DIMENSIONS", "256")]);
        let found = chosen.embed(&["a".to_owned()]).await.unwrap();
        assert_eq!(found[0].components.len(), 256, "{model}");
        assert_eq!(found[0].model, format!("{model}@256"));
        assert_eq!(chosen.model(), found[0].model);
        assert_eq!(server.asked()[0].body[name], 256);
        let other = embedder(&server, provider, model, &[])
            .embed(&["a".to_owned()])
            .await
            .unwrap();
        assert!(server.asked()[1].body.get(name).is_none());
        assert_eq!(
            found[0].cosine(&other[0]),
            None,
            "vectors of different length are never compared"
        );
    }
}

#[tokio::test]
async fn blank_and_long_texts_are_made_to_fit() {
    let server = ModelServer::start([]).await;
    let embedder = embedder(&server, Provider::OpenAi, "e", &[]);
    let found = embedder.embed(&[String::new(), "word ".repeat(20_000)]).await.unwrap();
    assert_eq!(found.len(), 2);
    let input = server.asked()[0].body["input"].clone();
    assert_eq!(input[0], ".");
    assert!((1..=24_000).contains(&input[1].as_str().unwrap().len()));
}

#[tokio::test]
async fn answers_that_cannot_be_right_are_errors() {
    let vector = |data: Value| Step::Raw("application/json", json!({"data": data}).to_string());
    for (step, part) in [
        (vector(json!([])), "not as many vectors"),
        (vector(json!([{"embedding": []}])), "components"),
        (vector(json!([{"embedding": ["x"]}])), "numbers"),
        (vector(json!([{"embedding": "AAAA"}])), "none"),
        (Step::Raw("application/json", "{}".to_owned()), "no data"),
        (Step::refuse(401, "authentication_error"), "does not accept the key"),
    ] {
        let server = ModelServer::start([]).await;
        server.embedding([step]);
        let error = embedder(&server, Provider::OpenAi, "e", &[])
            .embed(&["diary".to_owned()])
            .await
            .unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(shown.contains(part), "{part}: {shown}");
        assert!(!shown.contains(KEY) && !shown.contains("diary"), "{shown}");
    }
}

#[tokio::test]
async fn what_passes_is_tried_again() {
    for (provider, model) in MODELS {
        for step in [
            Step::refuse(429, "rate_limit_error"),
            Step::refuse(500, "api_error"),
            Step::HangUp,
            Step::Cut(Answer::text(""), 1),
            Step::Short(Answer::text(""), 1),
        ] {
            let server = ModelServer::start([]).await;
            server.embedding([step]);
            let found = embedder(&server, provider, model, &[]).embed(&["a".to_owned()]).await;
            assert_eq!(found.unwrap().len(), 1, "{model}");
            assert_eq!(server.asked().len(), 2, "{model}");
        }
    }
}

#[tokio::test]
async fn the_embedding_server_may_be_another_than_the_language_models() {
    let server = ModelServer::start([]).await;
    let url = format!("{}/v1", server.url());
    let more = [
        ("OPENAI_BASE_URL", "http://127.0.0.1:9/v1"),
        ("REVERIE_EMBEDDING_BASE_URL", url.as_str()),
        ("REVERIE_EMBEDDING_API_KEY", "sk-other"),
    ];
    embedder(&server, Provider::OpenAi, "e", &more)
        .embed(&["a".to_owned()])
        .await
        .unwrap();
    assert_eq!(server.asked()[0].header("authorization"), "Bearer sk-other");
}
