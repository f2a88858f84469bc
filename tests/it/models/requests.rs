//! What goes over the wire for one rich conversation.

use reverie_models::{
    Content, Effort, Message, OutputSchema, Provider, Request, Role, SystemBlock, Tool, ToolChoice, ToolInput, ToolUse,
};
use serde_json::{Value, json};

use super::{PROVIDERS, TestPace, client, client_with};
use crate::rig::model_server::{Answer, ModelServer};

fn call(id: &str, name: &str, arguments: &Value) -> ToolUse {
    ToolUse {
        id: id.to_owned(),
        name: name.to_owned(),
        input: ToolInput::parse(&arguments.to_string()),
    }
}

/// Two turns of a dream: system with marks for the cache, tools, their results, a schema.
fn rich() -> Request {
    let first = call("c1", "search", &json!({"query": "home"}));
    let second = call("c2", "remove", &json!({"ids": ["x"], "reason": "superseded"}));
    let thinking = Content::Opaque {
        model: "m-1".to_owned(),
        block: json!({"type": "thinking", "thinking": "Hm.", "signature": "signed"}),
    };
    let tool = |name: &str| Tool {
        name: name.to_owned(),
        description: format!("Does {name}."),
        schema: json!({"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}),
    };
    Request {
        system: vec![
            SystemBlock::cached("You tidy what is known about a peer."),
            SystemBlock::new(""),
            SystemBlock::new("The peer is Maya."),
        ],
        messages: vec![
            Message::user("<conclusions>…</conclusions>"),
            Message {
                role: Role::Assistant,
                content: vec![
                    thinking,
                    Content::text("I look first."),
                    Content::ToolUse(first.clone()),
                    Content::ToolUse(second.clone()),
                ],
            },
            Message {
                role: Role::User,
                content: vec![
                    Content::text("Two turns are left."),
                    Content::ToolResult(first.result("x: Maya lives in Porto.")),
                    Content::ToolResult(second.error("there is no conclusion y")),
                ],
            },
        ],
        cache_messages: true,
        tools: vec![tool("search"), tool("remove")],
        tool_choice: ToolChoice::Auto,
        output: Some(OutputSchema {
            name: "report".to_owned(),
            schema: json!({"type": "object", "properties": {"done": {"type": "boolean"}}, "required": ["done"],
                "additionalProperties": false}),
        }),
        max_output_tokens: 2048,
        effort: Some(Effort::Low),
    }
}

/// What every request has that changes from run to run.
const UNSTABLE: [&str; 6] = [
    "host",
    "authorization",
    "x-api-key",
    "x-amz-date",
    "content-length",
    "user-agent",
];

#[tokio::test]
async fn one_conversation_on_every_wire() {
    for provider in PROVIDERS {
        let server = ModelServer::start([Answer::text("x").into(), Answer::text("x").into()]).await;
        let model = client(provider, &server, &TestPace::new());
        model.complete(&rich()).await.unwrap();
        drop(model.stream(&rich()).await.unwrap());
        let [whole, in_parts] = server.asked().try_into().unwrap();
        let headers: serde_json::Map<String, Value> = whole
            .headers
            .iter()
            .filter(|(name, _)| !UNSTABLE.contains(&name.as_str()))
            .map(|(name, value)| (name.to_string(), json!(value.to_str().unwrap())))
            .collect();
        assert!(whole.header("user-agent").starts_with("reverie/"));
        let mut added = in_parts.body.clone();
        if let (Value::Object(added), Value::Object(whole)) = (&mut added, &whole.body) {
            added.retain(|name, value| whole.get(name) != Some(value));
        }
        let shown = json!({"path": whole.path, "headers": headers, "body": whole.body,
            "stream": {"path": in_parts.path, "added": added}});
        insta::assert_json_snapshot!(format!("request_{}", provider.as_str()), shown);
    }
}

#[tokio::test]
async fn bedrock_is_signed_for_its_region_or_has_a_token() {
    let server = ModelServer::start([Answer::text("x").into(), Answer::text("x").into()]).await;
    let id = "arn:aws:bedrock:eu-west-1:1:inference-profile/eu.anthropic.claude-x-v1:0";
    let pace = TestPace::new();
    let question = super::question();
    client_with(Provider::Bedrock, &server, &pace, &[("REVERIE_MODEL", id)])
        .complete(&question)
        .await
        .unwrap();
    let token = [("AWS_BEARER_TOKEN_BEDROCK", "bedrock-token")];
    client_with(Provider::Bedrock, &server, &pace, &token)
        .complete(&question)
        .await
        .unwrap();
    let [signed, bearer] = server.asked().try_into().unwrap();
    assert_eq!(signed.path, format!("/model/{id}/invoke"));
    let authorization = signed.header("authorization");
    let scope = "AWS4-HMAC-SHA256 Credential=AKIDNEVERSHOWTHIS/20260101/eu-west-1/bedrock/aws4_request";
    assert!(authorization.starts_with(scope), "{authorization}");
    assert_eq!(bearer.header("authorization"), "Bearer bedrock-token");
}

#[tokio::test]
async fn a_temperature_is_sent_only_when_it_is_configured() {
    for provider in PROVIDERS {
        let server = ModelServer::start([Answer::text("x").into(), Answer::text("x").into()]).await;
        let pace = TestPace::new();
        client(provider, &server, &pace)
            .complete(&super::question())
            .await
            .unwrap();
        let hot = [("REVERIE_MODEL_TEMPERATURE", "0.2")];
        client_with(provider, &server, &pace, &hot)
            .complete(&super::question())
            .await
            .unwrap();
        let sent: Vec<_> = server
            .asked()
            .iter()
            .map(|asked| asked.body.get("temperature").cloned())
            .collect();
        assert_eq!(sent, [None, Some(json!(0.2))]);
    }
}

#[tokio::test]
async fn marks_for_the_cache_are_never_more_than_four() {
    let mut request = rich();
    request.system = (0..4).map(|at| SystemBlock::cached(format!("part {at}"))).collect();
    let server = ModelServer::start([Answer::text("x").into()]).await;
    client(Provider::Anthropic, &server, &TestPace::new())
        .complete(&request)
        .await
        .unwrap();
    let body = server.asked().pop().unwrap().body;
    assert_eq!(body.to_string().matches("cache_control").count(), 4, "{body}");
    let marked = body["system"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| block.get("cache_control").is_some());
    assert_eq!(marked.collect::<Vec<_>>(), [false, false, true, true]);
}
