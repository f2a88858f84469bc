//! `reverie check-model`: with everything working, and with each thing broken.

use reverie_core::run::Usage;
use reverie_local::check_model::{Found, Report, check};
use reverie_models::Provider;
use serde_json::json;

use super::{KEY, PROVIDERS, TestPace, models};
use crate::rig::model_server::{Answer, ModelServer, Part, Step};

const WHAT: [&str; 5] = ["answers", "calls tools", "keeps to a schema", "streams", "caches"];

/// What a good model does, in the order in which it is asked; the calls of each check.
fn good() -> [Vec<Step>; 5] {
    let cached = |usage| Answer {
        usage,
        ..Answer::text("Rule 7")
    };
    [
        vec![Answer::text("Paris").into()],
        vec![
            Answer::calls(&[("add", json!({"a": 17, "b": 25}))]).into(),
            Answer::text("It is 42.").into(),
        ],
        vec![Answer::text("{\"city\": \"Lisbon\", \"year\": 1755}").into()],
        vec![Answer::text("one two three").into()],
        vec![cached([20, 3, 0, 5000]).into(), cached([20, 3, 5000, 0]).into()],
    ]
}

async fn report(provider: Provider, steps: [Vec<Step>; 5]) -> Report {
    let server = ModelServer::start(steps.concat()).await;
    let chosen = [
        ("REVERIE_MODEL_PROVIDER", provider.as_str()),
        ("REVERIE_MODEL_RETRIES", "0"),
    ];
    let reports = check(&models(&server.url(), &TestPace::new(), &chosen)).await;
    let [report] = reports.try_into().unwrap();
    report
}

fn works(report: &Report) -> Vec<bool> {
    let works = report.checks.iter().map(|check| matches!(check.found, Found::Works(_)));
    works.collect()
}

#[tokio::test]
async fn a_good_model_passes_on_every_wire() {
    for provider in PROVIDERS {
        let report = report(provider, good()).await;
        assert_eq!(report.model, format!("{}:m-1", provider.as_str()));
        assert_eq!(report.checks.iter().map(|check| check.what).collect::<Vec<_>>(), WHAT);
        assert_eq!(works(&report), [true; 5], "{report:?}");
        assert_eq!(report.failed(), 0);
        assert!(report.usage != Usage::default());
    }
}

#[tokio::test]
async fn each_thing_that_is_broken_is_named_and_the_others_are_tried() {
    let text = |text: &str| Step::from(Answer::text(text));
    let call = |arguments: &str| {
        Step::from(Answer {
            parts: vec![Part::Call("c1".to_owned(), "add".to_owned(), arguments.to_owned())],
            ..Answer::calls(&[])
        })
    };
    let refused = || Step::refuse_saying(400, "invalid_request_error", "tools: not supported");
    for (at, steps, part) in [
        (1, vec![text("42")], "without calling the tool"),
        (1, vec![call("{\"a\": 17")], "not a JSON object"),
        (1, vec![call("{\"a\": 17}")], "missing field `b`"),
        (
            1,
            vec![call("{\"a\": 17, \"b\": 25}"), text("I do not know.")],
            "does not answer with its result",
        ),
        (1, vec![refused()], "it says: tools: not supported"),
        (2, vec![text("Lisbon, in 1755")], "not as the schema says"),
        (2, vec![text("{\"city\": \"Lisbon\"}")], "not as the schema says"),
        (3, vec![Step::Short(Answer::text("one two"), 4)], "broken off"),
        (3, vec![text("")], "the parts are not the answer"),
        (4, vec![Step::refuse(500, "api_error")], "the provider failed"),
    ] {
        let mut script = good();
        script[at] = steps;
        let report = report(Provider::Anthropic, script).await;
        let mut expected = [true; 5];
        expected[at] = false;
        assert_eq!(works(&report), expected, "{part}: {report:?}");
        let Found::Fails(why) = &report.checks[at].found else {
            panic!("{report:?}")
        };
        assert!(why.contains(part), "{part}: {why}");
        assert_eq!(report.failed(), 1);
    }
}

#[tokio::test]
async fn a_model_without_a_cache_works_at_a_price() {
    let mut script = good();
    script[4] = vec![Answer::text("Rule 7").into(), Answer::text("Rule 7").into()];
    let report = report(Provider::OpenAi, script).await;
    assert!(matches!(&report.checks[4].found, Found::Missing(price) if price.contains("paid for")));
    assert_eq!(report.failed(), 0);
}

#[tokio::test]
async fn nothing_more_is_asked_of_a_model_that_does_not_answer() {
    for step in [
        Step::refuse_saying(401, "authentication_error", &format!("invalid x-api-key {KEY}")),
        Step::refuse(404, "not_found_error"),
        Step::HangUp,
        Answer::text(" ").into(),
    ] {
        let mut script = good();
        script[0] = vec![step];
        let report = report(Provider::Anthropic, script).await;
        assert!(matches!(report.checks[0].found, Found::Fails(_)), "{report:?}");
        assert!(
            report.checks[1..].iter().all(|check| check.found == Found::Skipped),
            "{report:?}"
        );
        assert_eq!(report.failed(), 5);
        assert!(!format!("{report:?}").contains(KEY), "{report:?}");
    }
}

#[tokio::test]
async fn every_model_of_the_deployment_is_checked_by_itself() {
    let server = ModelServer::start([good().concat(), good().concat()].concat()).await;
    let chosen = [
        ("REVERIE_MODEL_PROVIDER", "anthropic"),
        ("REVERIE_MODEL_CHAT", "m-1"),
        ("REVERIE_MODEL_FALLBACK", "openai:m-2"),
        ("REVERIE_EMBEDDING_PROVIDER", "openai"),
        ("REVERIE_EMBEDDING_MODEL", "e-1"),
    ];
    let reports = check(&models(&server.url(), &TestPace::new(), &chosen)).await;
    let names: Vec<_> = reports.iter().map(|report| report.model.as_str()).collect();
    assert_eq!(names, ["anthropic:m-1", "openai:m-2", "embedding e-1"]);
    assert!(reports.iter().all(|report| report.failed() == 0), "{reports:?}");
}

#[tokio::test]
async fn an_embedding_model_that_does_not_embed_is_named() {
    let vectors = |vectors: [[i32; 2]; 3]| {
        let data: Vec<_> = vectors.iter().map(|vector| json!({"embedding": vector})).collect();
        Step::Raw("application/json", json!({"data": data}).to_string())
    };
    for (step, part) in [
        (Step::refuse(404, "not_found_error"), "no such model"),
        (vectors([[1, 0], [0, 1], [1, 0]]), "what is alike lies at"),
        (
            Step::Raw("application/json", "{\"data\": []}".to_owned()),
            "not as many vectors",
        ),
    ] {
        let server = ModelServer::start([]).await;
        server.embedding([step]);
        let chosen = [
            ("REVERIE_EMBEDDING_PROVIDER", "openai"),
            ("REVERIE_EMBEDDING_MODEL", "e-1"),
        ];
        let [report] = check(&models(&server.url(), &TestPace::new(), &chosen))
            .await
            .try_into()
            .unwrap();
        assert!(
            matches!(&report.checks[0].found, Found::Fails(why) if why.contains(part)),
            "{report:?}"
        );
    }
}
