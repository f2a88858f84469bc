//! Routes and verbs that there are not, and `/health`.

use http::{Method, StatusCode};
use serde_json::json;

use crate::rig::Rig;

#[tokio::test]
async fn an_unknown_route_is_not_found_and_a_wrong_verb_not_allowed() {
    let rig = Rig::new().await;
    for path in [
        "/",
        "/v3",
        "/v3/workspaces/w/nothing",
        "/v3/workspaces/w/peers/maya/chat",
        "/v3/workspaces/",
        "/v2/apps",
    ] {
        assert_eq!(
            rig.call("GET", path, None).await,
            (StatusCode::NOT_FOUND, json!({"detail": "Not Found"})),
            "{path}"
        );
    }
    for (method, path) in [
        (Method::GET, "/v3/workspaces"),
        (Method::DELETE, "/v3/workspaces/w/peers/maya"),
        (Method::PATCH, "/v3/workspaces/w/peers/maya"),
        (Method::PUT, "/v3/workspaces/w/queue/status"),
        (Method::POST, "/health"),
    ] {
        let answer = rig.call(method.as_str(), path, None).await;
        assert_eq!(
            answer,
            (StatusCode::METHOD_NOT_ALLOWED, json!({"detail": "Method Not Allowed"})),
            "{method} {path}"
        );
    }
    assert_eq!(rig.get("/health").await, json!({"status": "ok"}));
}
