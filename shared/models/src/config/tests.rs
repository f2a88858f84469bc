use super::*;

fn read(pairs: &[(&str, &str)]) -> Result<ModelConfig, ModelConfigError> {
    ModelConfig::read(|name| {
        let found = pairs.iter().find(|(n, _)| *n == name);
        found.map(|(_, value)| (*value).to_owned())
    })
}

fn refused(pairs: &[(&str, &str)]) -> String {
    read(pairs).err().map_or_else(String::new, |error| error.to_string())
}

const ANTHROPIC_MODEL: [(&str, &str); 3] = [
    ("REVERIE_MODEL_PROVIDER", "anthropic"),
    ("REVERIE_MODEL", "claude-x"),
    ("ANTHROPIC_API_KEY", "sk-very-secret"),
];

fn with<'a>(pairs: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    pairs.iter().chain(&ANTHROPIC_MODEL).copied().collect()
}

#[test]
fn nothing_set_is_offline_and_the_documented_defaults_are_the_defaults() {
    let config = read(&[]).ok();
    assert_eq!(
        config.as_ref().map(|config| (
            config.language.is_none(),
            config.embedding.is_none(),
            config.needs_aws()
        )),
        Some((true, true, false))
    );
    let documented: Vec<_> = VARIABLES
        .iter()
        .map(|variable| (variable.name, variable.default))
        .collect();
    assert_eq!(read(&documented).ok(), config);
}

#[test]
fn each_task_has_its_model_and_each_may_be_another_providers() {
    let config = read(&with(&[
        ("REVERIE_MODEL_DERIVER", "claude-small"),
        ("REVERIE_MODEL_CHAT", "openai:qwen3:8b"),
        ("REVERIE_MODEL_FALLBACK", "bedrock:us.anthropic.claude-y-v1:0"),
        ("OPENAI_BASE_URL", "http://127.0.0.1:11434/v1/"),
    ]));
    let config = config.ok();
    let language = config.as_ref().and_then(|config| config.language.as_ref());
    let names = language.map(|language| Task::ALL.map(|task| language.of(task).to_string()));
    assert_eq!(
        names,
        Some(
            [
                "anthropic:claude-small",
                "anthropic:claude-x",
                "anthropic:claude-x",
                "openai:qwen3:8b"
            ]
            .map(str::to_owned)
        )
    );
    let fallback = language
        .and_then(|language| language.fallback.as_ref())
        .map(ToString::to_string);
    assert_eq!(fallback.as_deref(), Some("bedrock:us.anthropic.claude-y-v1:0"));
    assert_eq!(
        config.map(|config| (config.needs_aws(), config.openai.url)),
        Some((true, "http://127.0.0.1:11434/v1".to_owned()))
    );
}

#[test]
fn what_a_provider_needs_and_does_not_have_is_an_error_that_names_it() {
    for (pairs, part) in [
        (
            &[("REVERIE_MODEL_PROVIDER", "anthropic")][..],
            "REVERIE_MODEL is not set",
        ),
        (
            &[("REVERIE_MODEL_PROVIDER", "anthropic"), ("REVERIE_MODEL", "m")],
            "ANTHROPIC_API_KEY is not set",
        ),
        (
            &[("REVERIE_MODEL_PROVIDER", "openai"), ("REVERIE_MODEL", "m")],
            "OPENAI_API_KEY is not set",
        ),
        (
            &[
                ("REVERIE_MODEL_PROVIDER", "bedrock"),
                ("REVERIE_MODEL", "m"),
                ("REVERIE_MODEL_FALLBACK", "anthropic:m"),
            ],
            "ANTHROPIC_API_KEY is not set",
        ),
        (
            &[("REVERIE_EMBEDDING_PROVIDER", "openai")],
            "REVERIE_EMBEDDING_MODEL is not set",
        ),
        (
            &[
                ("REVERIE_EMBEDDING_PROVIDER", "openai"),
                ("REVERIE_EMBEDDING_MODEL", "e"),
            ],
            "OPENAI_API_KEY is not set",
        ),
        (
            &[
                ("REVERIE_EMBEDDING_PROVIDER", "bedrock"),
                ("REVERIE_EMBEDDING_MODEL", "e"),
            ],
            "titan-embed-text or cohere.embed",
        ),
    ] {
        let error = refused(pairs);
        assert!(error.contains(part), "{pairs:?}: {error}");
    }
}

#[test]
fn a_bad_value_is_an_error_that_names_its_variable() {
    for pair in [
        ("REVERIE_MODEL_PROVIDER", "gpt"),
        ("REVERIE_MODEL_TEMPERATURE", "hot"),
        ("REVERIE_MODEL_TEMPERATURE", "NaN"),
        ("REVERIE_MODEL_TIMEOUT_SECONDS", "0"),
        ("REVERIE_MODEL_RETRIES", "11"),
        ("REVERIE_EMBEDDING_PROVIDER", "x"),
        ("REVERIE_EMBEDDING_DIMENSIONS", "0"),
        ("ANTHROPIC_BASE_URL", "api.anthropic.com"),
        ("OPENAI_BASE_URL", "ftp://x"),
        ("OPENAI_BASE_URL", "https://user:word@x/v1"),
        ("REVERIE_EMBEDDING_BASE_URL", "https://x/v1?key=1"),
        ("ANTHROPIC_API_KEY", "two words"),
        ("OPENAI_API_KEY", "arn:aws:s3:::x"),
        ("AWS_BEARER_TOKEN_BEDROCK", "ä"),
        ("AWS_ENDPOINT_URL_SSM", "x"),
    ] {
        let error = refused(&[pair]);
        assert!(error.starts_with(pair.0), "{pair:?}: {error}");
    }
    let error = refused(&[
        ("OPENAI_BASE_URL", "https://user:word@x/v1"),
        ("ANTHROPIC_API_KEY", "two words"),
    ]);
    assert!(!error.contains("word@") && !error.contains("two words"), "{error}");
}

#[test]
fn no_key_is_shown() {
    let config = read(&with(&[("OPENAI_API_KEY", "sk-other-secret")]));
    let shown = format!("{config:?}");
    assert!(shown.contains("claude-x") && !shown.contains("secret\""), "{shown}");
    assert!(!shown.contains("very") && !shown.contains("other"), "{shown}");
}

#[test]
fn aws_is_needed_for_signatures_and_for_keys_that_it_keeps() {
    let needs = |pairs: &[(&str, &str)]| read(pairs).ok().map(|config| config.needs_aws());
    let bedrock = [("REVERIE_MODEL_PROVIDER", "bedrock"), ("REVERIE_MODEL", "m")];
    let mantle = [
        ("REVERIE_MODEL_PROVIDER", "anthropic"),
        ("REVERIE_MODEL", "m"),
        (
            "ANTHROPIC_BASE_URL",
            "https://bedrock-mantle.eu-west-1.api.aws/anthropic",
        ),
    ];
    assert_eq!(needs(&bedrock), Some(true));
    assert_eq!(
        needs(&[bedrock[0], bedrock[1], ("AWS_BEARER_TOKEN_BEDROCK", "k")]),
        Some(false)
    );
    assert_eq!(needs(&mantle), Some(true));
    assert_eq!(needs(&with(&[])), Some(false));
    assert_eq!(
        needs(&[
            ANTHROPIC_MODEL[0],
            ANTHROPIC_MODEL[1],
            ("ANTHROPIC_API_KEY", "arn:aws:ssm:eu-west-1:123456789012:parameter/key")
        ]),
        Some(true)
    );
    assert_eq!(
        needs(&[
            ("REVERIE_EMBEDDING_PROVIDER", "bedrock"),
            ("REVERIE_EMBEDDING_MODEL", "amazon.titan-embed-text-v2:0")
        ]),
        Some(true)
    );
    assert_eq!(mantle_region(mantle[2].1).as_deref(), Some("eu-west-1"));
    assert_eq!(mantle_region("https://bedrock-mantle.eu-west-1.api.aws.evil.com"), None);
}
