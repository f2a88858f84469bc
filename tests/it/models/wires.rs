//! Answers are read alike on every wire, whole and in parts; what a server does not understand is said otherwise.

use reverie_core::run::Usage;
use reverie_models::{Content, Message, OutputSchema, PermanentFault, Provider, Request, StopReason, Tool, ToolInput};
use serde_json::{Value, json};

use super::{PROVIDERS, TestPace, ask, client, client_with, question, streamed};
use crate::rig::model_server::{Answer, ModelServer, Part, Step};

fn rich() -> Answer {
    Answer {
        parts: vec![
            Part::Thinking("Two calls.".to_owned()),
            Part::Text("Ich räume auf.".to_owned()),
            Part::Call(
                "c1".to_owned(),
                "remove".to_owned(),
                json!({"ids": ["é", "b"]}).to_string(),
            ),
            Part::Call("c2".to_owned(), "finish".to_owned(), "{}".to_owned()),
        ],
        stop: "tool_use",
        usage: [100, 20, 3000, 400],
    }
}

#[tokio::test]
async fn an_answer_with_calls_of_tools_is_read_alike_everywhere() {
    for provider in PROVIDERS {
        for is_stream in [false, true] {
            let server = ModelServer::start([rich().into()]).await;
            let found = ask(&client(provider, &server, &TestPace::new()), &question(), is_stream)
                .await
                .unwrap();
            let what = format!("{} stream {is_stream}", provider.as_str());
            assert_eq!(found.model, "m-1", "{what}");
            assert_eq!(found.text(), "Ich räume auf.", "{what}");
            assert_eq!(found.stop, StopReason::ToolUse, "{what}");
            let calls: Vec<_> = found
                .tool_uses()
                .map(|call| (call.id.as_str(), call.name.as_str()))
                .collect();
            assert_eq!(calls, [("c1", "remove"), ("c2", "finish")], "{what}");
            let arguments: Value = found.tool_uses().next().unwrap().arguments().unwrap();
            assert_eq!(arguments, json!({"ids": ["é", "b"]}), "{what}");
            let (read, written) = if provider == Provider::OpenAi {
                (500, 0)
            } else {
                (100, 400)
            };
            let usage = Usage {
                input_tokens: read,
                output_tokens: 20,
                cache_read_input_tokens: 3000,
                cache_creation_input_tokens: written,
            };
            assert_eq!(found.usage, usage, "{what}");
            let thinking = json!({"type": "thinking", "thinking": "Two calls.", "signature": "signed"});
            let opaque = found.content.iter().find_map(|content| match content {
                Content::Opaque { model, block } => Some((model.as_str(), block)),
                _ => None,
            });
            let expected = (provider != Provider::OpenAi).then_some(("m-1", &thinking));
            assert_eq!(opaque, expected, "{what}");
        }
    }
}

#[tokio::test]
async fn a_text_comes_in_parts_and_again_at_the_end() {
    for provider in PROVIDERS {
        let server = ModelServer::start([Answer::text("Sie zog nach Köln.").into()]).await;
        let (texts, found) = streamed(&client(provider, &server, &TestPace::new()), &question()).await;
        assert_eq!(texts.len(), 2, "{}", provider.as_str());
        assert_eq!(texts.concat(), "Sie zog nach Köln.");
        assert_eq!(found.unwrap().text(), "Sie zog nach Köln.");
    }
}

#[tokio::test]
async fn a_server_that_answers_whole_though_asked_for_parts_is_understood() {
    let bodies = [
        (
            Provider::Anthropic,
            json!({"content": [{"type": "text", "text": "Hi."}], "stop_reason": "end_turn"}),
        ),
        (Provider::OpenAi, json!({"choices": [{"message": {"content": "Hi."}}]})),
    ];
    for (provider, body) in bodies {
        let server = ModelServer::start([Step::Raw("application/json", body.to_string())]).await;
        let (texts, found) = streamed(&client(provider, &server, &TestPace::new()), &question()).await;
        assert_eq!(texts, ["Hi."]);
        // What such servers leave out: the reason, the counts.
        assert_eq!(found.unwrap().stop, StopReason::EndTurn);
    }
}

#[tokio::test]
async fn reasons_to_stop_are_understood() {
    for (word, stop) in [
        ("end_turn", StopReason::EndTurn),
        ("max_tokens", StopReason::MaxTokens),
        ("model_context_window_exceeded", StopReason::ContextFull),
        ("refusal", StopReason::Refusal),
        ("pause_turn", StopReason::Other("pause_turn".to_owned())),
    ] {
        for provider in PROVIDERS {
            let mut answer = Answer::text("x");
            answer.stop = word;
            let openai_has_it = ["end_turn", "max_tokens", "pause_turn"].contains(&word);
            if provider == Provider::OpenAi && !openai_has_it {
                continue;
            }
            let server = ModelServer::start([answer.into()]).await;
            let found = client(provider, &server, &TestPace::new()).complete(&question()).await;
            assert_eq!(found.unwrap().stop, stop, "{}", provider.as_str());
        }
    }
    let body = json!({"choices": [{"message": {"refusal": "No."}, "finish_reason": "stop"}]});
    let server = ModelServer::start([Step::Raw("application/json", body.to_string())]).await;
    let found = client(Provider::OpenAi, &server, &TestPace::new())
        .complete(&question())
        .await
        .unwrap();
    assert_eq!(
        (found.stop.clone(), found.text()),
        (StopReason::Refusal, "No.".to_owned())
    );
}

#[tokio::test]
async fn a_call_that_is_not_json_is_an_answerable_error_and_goes_back_as_an_object() {
    for provider in PROVIDERS {
        for is_stream in [false, true] {
            let call = Part::Call("c1".to_owned(), "remove".to_owned(), "{\"ids\": [\"a\"".to_owned());
            let broken = Answer {
                parts: vec![call],
                ..Answer::calls(&[])
            };
            let server = ModelServer::start([broken.into(), Answer::text("ok").into()]).await;
            let model = client(provider, &server, &TestPace::new());
            let mut request = question();
            let found = ask(&model, &request, is_stream).await.unwrap();
            let call = found.tool_uses().next().unwrap();
            assert!(matches!(call.input, ToolInput::Malformed(_)), "{call:?}");
            let told = call.arguments::<Value>().unwrap_err();
            assert!(told.contains("valid JSON"), "{told}");
            request.messages.push(found.message());
            request.messages.push(Message::results([call.error(told)]));
            model.complete(&request).await.unwrap();
            let sent = server.asked().pop().unwrap().body;
            let shown = match provider {
                Provider::OpenAi => {
                    let text = sent["messages"][2]["tool_calls"][0]["function"]["arguments"]
                        .as_str()
                        .unwrap();
                    serde_json::from_str(text).unwrap()
                }
                _ => sent["messages"][1]["content"][0]["input"].clone(),
            };
            assert_eq!(shown, json!({"malformed_arguments": "{\"ids\": [\"a\""}), "{sent}");
        }
    }
}

#[tokio::test]
async fn thinking_goes_back_to_the_model_that_thought_it_and_to_no_other() {
    for provider in [Provider::Anthropic, Provider::Bedrock] {
        let server = ModelServer::start([rich().into(), Answer::text("a").into(), Answer::text("b").into()]).await;
        let pace = TestPace::new();
        let model = client(provider, &server, &pace);
        let mut request = question();
        let found = model.complete(&request).await.unwrap();
        request.messages.push(found.message());
        let results = found.tool_uses().map(|call| call.result("done"));
        request.messages.push(Message::results(results));
        model.complete(&request).await.unwrap();
        let other = client_with(provider, &server, &pace, &[("REVERIE_MODEL", "m-2")]);
        other.complete(&request).await.unwrap();
        let kinds = |at: usize| {
            let body = server.asked()[at].body.clone();
            let blocks = body["messages"][1]["content"].as_array().unwrap().clone();
            blocks
                .into_iter()
                .map(|block| block["type"].as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(kinds(1), ["thinking", "text", "tool_use", "tool_use"]);
        assert_eq!(kinds(2), ["text", "tool_use", "tool_use"]);
        let sent = server.asked()[1].body["messages"][1]["content"][0].clone();
        assert_eq!(
            sent,
            json!({"type": "thinking", "thinking": "Two calls.", "signature": "signed"})
        );
    }
}

fn with_schema() -> Request {
    Request {
        output: Some(OutputSchema {
            name: "answer".to_owned(),
            schema: json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"],
                "additionalProperties": false}),
        }),
        ..question()
    }
}

#[tokio::test]
async fn a_server_that_enforces_no_schema_is_told_it_in_words_from_then_on() {
    for (provider, parameter) in [
        (Provider::Anthropic, "output_config.format"),
        (Provider::OpenAi, "response_format"),
    ] {
        let refusal = format!("{parameter}: Extra inputs are not permitted");
        let fenced = Answer::text("```json\n{\"a\": 1}\n```");
        let server = ModelServer::start([
            Step::refuse_saying(400, "invalid_request_error", &refusal),
            fenced.clone().into(),
            fenced.into(),
        ])
        .await;
        let model = client(provider, &server, &TestPace::new());
        for _ in 0..2 {
            let found = model.complete(&with_schema()).await.unwrap();
            assert_eq!(found.json::<Value>().unwrap(), json!({"a": 1}));
        }
        let asked = server.asked();
        let says = |at: usize| {
            let body: &Value = &asked[at].body;
            let is_enforced = body
                .get("output_config")
                .or_else(|| body.get("response_format"))
                .is_some();
            (is_enforced, body.to_string().contains("valid under this JSON schema"))
        };
        assert_eq!(
            [says(0), says(1), says(2)],
            [(true, false), (false, true), (false, true)]
        );
    }
}

#[tokio::test]
async fn a_refusal_that_is_not_about_the_schema_is_not_tried_again() {
    let refusal = Step::refuse_saying(400, "invalid_request_error", "messages: roles must alternate");
    let server = ModelServer::start([refusal]).await;
    let found = client(Provider::Anthropic, &server, &TestPace::new())
        .complete(&with_schema())
        .await;
    let error = found.unwrap_err();
    assert!(matches!(
        &error,
        reverie_models::ModelError::Permanent {
            fault: PermanentFault::InvalidRequest,
            ..
        }
    ));
    assert_eq!(error.origin().providers_words(), Some("messages: roles must alternate"));
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn the_limit_of_tokens_has_the_name_that_the_server_knows() {
    let refusal = Step::refuse_saying(
        400,
        "invalid_request_error",
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    );
    let server = ModelServer::start([refusal, Answer::text("a").into(), Answer::text("b").into()]).await;
    let model = client(Provider::OpenAi, &server, &TestPace::new());
    for _ in 0..2 {
        model.complete(&question()).await.unwrap();
    }
    let names: Vec<_> = server
        .asked()
        .iter()
        .map(|asked| asked.body.get("max_tokens").is_some())
        .collect();
    assert_eq!(names, [true, false, false]);
}

#[tokio::test]
async fn what_local_servers_leave_out_or_do_otherwise_is_understood() {
    let arguments_as_object = json!({"choices": [{"message": {"content": null, "tool_calls": [
        {"function": {"name": "remove", "arguments": {"ids": ["a"]}}},
        {"id": "", "function": {"name": "finish"}}]}, "finish_reason": "stop"}]});
    let server = ModelServer::start([
        Step::Raw("application/json", arguments_as_object.to_string()),
        // No `[DONE]`, no index, no usage.
        Step::Raw(
            "text/event-stream",
            [
                json!({"choices": [{"delta": {"content": "Hi."}}]}),
                json!({"choices": [{"delta": {"tool_calls": [
                    {"id": "x", "function": {"name": "remove", "arguments": "{\"ids\":[]}"}}]}}]}),
                json!({"choices": [{"delta": {"tool_calls": [
                    {"id": "y", "function": {"name": "finish", "arguments": "{}"}}]}, "finish_reason": "stop"}]}),
            ]
            .map(|chunk| format!("data: {chunk}\n\n"))
            .concat(),
        ),
    ])
    .await;
    let model = client(Provider::OpenAi, &server, &TestPace::new());
    let whole = model.complete(&question()).await.unwrap();
    let (texts, in_parts) = streamed(&model, &question()).await;
    let in_parts = in_parts.unwrap();
    assert_eq!(texts, ["Hi."]);
    for found in [&whole, &in_parts] {
        let names: Vec<_> = found.tool_uses().map(|call| call.name.as_str()).collect();
        assert_eq!(names, ["remove", "finish"]);
        assert_eq!(found.stop, StopReason::ToolUse);
        assert!(found.tool_uses().all(|call| call.arguments::<Value>().is_ok()));
    }
    let ids: Vec<_> = whole.tool_uses().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["call_0", "call_1"]);
}

#[tokio::test]
async fn a_tool_is_kept_in_the_last_turn_and_not_to_be_called() {
    let mut request = question();
    request.tools = vec![Tool {
        name: "remove".to_owned(),
        description: "Removes.".to_owned(),
        schema: json!({"type": "object"}),
    }];
    request.tool_choice = reverie_models::ToolChoice::None;
    for provider in PROVIDERS {
        let server = ModelServer::start([Answer::text("x").into()]).await;
        client(provider, &server, &TestPace::new())
            .complete(&request)
            .await
            .unwrap();
        let body = server.asked().pop().unwrap().body;
        assert!(body["tools"].is_array(), "{body}");
        let choice = if provider == Provider::OpenAi {
            json!("none")
        } else {
            json!({"type": "none"})
        };
        assert_eq!(body["tool_choice"], choice);
    }
}
