//! `filters` of every list that takes them: what comes through, pages and totals under them, and what they cost.
//!
//! The language itself is tested where it is; here every list is shown to speak it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{play, text};
use crate::rig::{Fault, Rig};

/// The ids of a list's items under filters, oldest first.
async fn ids(rig: &Rig, path: &str, filters: &Value) -> Vec<String> {
    let answer = rig
        .post(&format!("/v3/workspaces{path}"), json!({ "filters": filters }))
        .await;
    let items = answer["items"].as_array().unwrap();
    assert_eq!(answer["total"], items.len(), "{path} {filters}");
    items.iter().map(|item| text(&item["id"])).collect()
}

/// Lists under filters and compares ids.
async fn lists(rig: &Rig, path: &str, cases: &[(Value, &[&str])]) {
    for (filters, expected) in cases {
        assert_eq!(ids(rig, path, filters).await, *expected, "{path} {filters}");
    }
}

/// What is called for one list.
async fn cost(rig: &Rig, path: &str, filters: Value) -> (Vec<String>, Value) {
    rig.faults.replan(|_, _| Fault::None);
    let answer = rig
        .post(&format!("/v3/workspaces{path}"), json!({ "filters": filters }))
        .await;
    (rig.faults.calls(), answer)
}

/// How often each call was made.
fn counted(calls: &[String]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for call in calls {
        *counts.entry(call.as_str()).or_default() += 1;
    }
    counts
}

#[tokio::test]
async fn of_workspaces() {
    let rig = Rig::new().await;
    for (id, env, version) in [("a", "dev", "1.0"), ("b", "prod", "2.0"), ("c", "prod", "2.5")] {
        let metadata = json!({"env": env, "version": version});
        rig.post("/v3/workspaces", json!({"id": id, "metadata": metadata}))
            .await;
        rig.pass(std::time::Duration::from_hours(1));
    }
    lists(
        &rig,
        "/list",
        &[
            (json!({"id": "b"}), &["b"]),
            (json!({"id": ["c", "a", "nothing", "no name"]}), &["a", "c"]),
            (json!({"metadata": {"env": "prod"}}), &["b", "c"]),
            (
                json!({"metadata": {"version": {"gte": "2.0"}}, "id": {"ne": "c"}}),
                &["b"],
            ),
            (
                json!({"created_at": {"gt": "2026-01-01", "lt": "2026-01-01T02:00:00Z"}}),
                &["b"],
            ),
            (json!({"NOT": [{"metadata": {"env": "dev"}}]}), &["b", "c"]),
            (json!({"id": "*"}), &["a", "b", "c"]),
            (json!({"id": []}), &[]),
        ],
    )
    .await;
}

#[tokio::test]
async fn of_peers() {
    let rig = Rig::new().await;
    for (id, metadata) in [
        ("ann", json!({"role": "admin", "dept": "eng", "level": 5})),
        ("ben", json!({"role": "user", "dept": "eng", "level": 2})),
        ("cat", json!({"role": "admin", "dept": "sales", "user": {"on": true}})),
    ] {
        rig.post("/v3/workspaces/w/peers", json!({"id": id, "metadata": metadata}))
            .await;
    }
    let by_time = ids(&rig, "/w/peers/list", &json!({})).await;
    assert_eq!(by_time.len(), 3);
    let in_order = |names: &[&str]| -> Vec<String> {
        by_time
            .iter()
            .filter(|name| names.contains(&name.as_str()))
            .cloned()
            .collect()
    };
    for (filters, names) in [
        (
            json!({"AND": [{"metadata": {"role": "admin"}}, {"metadata": {"dept": "eng"}}]}),
            vec!["ann"],
        ),
        (
            json!({"OR": [{"metadata": {"role": "user"}}, {"metadata": {"level": {"gt": 4}}}]}),
            vec!["ann", "ben"],
        ),
        (
            json!({"NOT": [{"metadata": {"role": "admin"}}, {"metadata": {"level": 2}}]}),
            vec![],
        ),
        (json!({"metadata": {"user": {"on": true}}}), vec!["cat"]),
        (json!({"metadata": {"level": {"ne": 5}}}), vec!["ben", "cat"]),
        (
            json!({"id": {"in": ["ann", "ben"]}, "metadata": {"dept": "eng"}}),
            vec!["ann", "ben"],
        ),
        (json!({"workspace_id": "w"}), vec!["ann", "ben", "cat"]),
        (json!({"workspace_id": "v"}), vec![]),
    ] {
        assert_eq!(
            ids(&rig, "/w/peers/list", &filters).await,
            in_order(&names),
            "{filters}"
        );
    }
}

#[tokio::test]
async fn of_sessions_and_of_a_peers_sessions() {
    let rig = Rig::new().await;
    for (id, metadata, peers) in [
        ("a", json!({"type": "chat", "date": "2024-01-15"}), json!({"maya": {}})),
        (
            "b",
            json!({"type": "support", "date": "2024-02-20"}),
            json!({"maya": {}, "bob": {}}),
        ),
        ("c", json!({"type": "chat", "date": "2024-03-10"}), json!({"bob": {}})),
        ("d", json!({"type": "chat"}), json!({"maya": {}})),
    ] {
        let body = json!({"id": id, "metadata": metadata, "peers": peers});
        rig.post("/v3/workspaces/w/sessions", body).await;
        rig.pass(std::time::Duration::from_secs(1));
    }
    rig.ok("DELETE", "/v3/workspaces/w/sessions/d", None).await;
    lists(
        &rig,
        "/w/sessions/list",
        &[
            (json!({"is_active": true}), &["a", "b", "c"]),
            (json!({"is_active": false}), &[]),
            // Gone, though its name is not free yet.
            (json!({"id": ["d", "a"]}), &["a"]),
            (json!({"metadata": {"type": "chat"}}), &["a", "c"]),
            (
                json!({"metadata": {"date": {"gte": "2024-02-01", "lte": "2024-02-28"}}}),
                &["b"],
            ),
            (json!({"workspace_id": {"ne": "w"}}), &[]),
        ],
    )
    .await;
    lists(
        &rig,
        "/w/peers/maya/sessions",
        &[
            (json!({"is_active": true}), &["a", "b"]),
            (json!({"id": ["c", "b", "d"]}), &["b"]),
            (json!({"metadata": {"type": "chat"}}), &["a"]),
            (json!({"NOT": [{"id": "a"}]}), &["b"]),
        ],
    )
    .await;
}

#[tokio::test]
async fn of_messages() {
    let rig = Rig::new().await;
    let said: Vec<_> = [("maya", "high", 10), ("bob", "medium", 5), ("maya", "low", 1)]
        .iter()
        .map(|(peer, category, score)| {
            json!({"peer_id": peer, "content": category, "metadata": {"category": category, "score": score},
                "created_at": format!("2025-06-{score:02}T00:00:00Z")})
        })
        .collect();
    rig.post("/v3/workspaces/w/sessions/s/messages", json!({ "messages": said }))
        .await;
    let path = "/v3/workspaces/w/sessions/s/messages/list";
    for (filters, expected) in [
        (json!({"peer_id": "maya"}), vec!["high", "low"]),
        (json!({"metadata": {"score": {"gte": 5}}}), vec!["high", "medium"]),
        (json!({"metadata": {"score": {"ne": 5}}}), vec!["high", "low"]),
        (
            json!({"metadata": {"category": {"in": ["high", "low"]}}, "peer_id": {"ne": "bob"}}),
            vec!["high", "low"],
        ),
        (json!({"created_at": {"lt": "2025-06-06"}}), vec!["medium", "low"]),
        (json!({"token_count": {"gt": 1000}}), vec![]),
        (
            json!({"session_id": "s", "workspace_id": "w"}),
            vec!["high", "medium", "low"],
        ),
        (json!({"session_id": "t"}), vec![]),
    ] {
        let answer = rig.post(path, json!({ "filters": filters })).await;
        let contents: Vec<_> = answer["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| &item["content"])
            .collect();
        assert_eq!(contents, expected, "{filters}");
        assert_eq!(answer["total"], expected.len());
    }
    // An edited message is found by what it says now.
    let page = rig.post(path, json!({"filters": {"peer_id": "bob"}})).await;
    let one = format!("/v3/workspaces/w/sessions/s/messages/{}", text(&page["items"][0]["id"]));
    rig.ok("PUT", &one, Some(json!({"metadata": {"score": 99}}))).await;
    let page = rig
        .post(path, json!({"filters": {"metadata": {"score": {"gt": 50}}}}))
        .await;
    assert_eq!(page["items"][0]["content"], "medium");
    assert_eq!(page["total"], 1);
}

type Wanted<'a> = Box<dyn Fn(&Value) -> bool + 'a>;

/// Three observers, two observed, a session, and a conclusion of each pair in it and outside.
async fn concluded(rig: &Rig) {
    let peers = json!({"ann": {}, "ben": {}, "cat": {}});
    rig.post("/v3/workspaces/w/sessions", json!({"id": "s", "peers": peers}))
        .await;
    for observer in ["ann", "ben", "cat"] {
        for observed in ["ann", "ben"] {
            for session in [json!("s"), Value::Null] {
                let content = format!("{observer} of {observed} in {session}");
                let body = json!({"content": content, "observer_id": observer, "observed_id": observed, "session_id": session});
                rig.post("/v3/workspaces/w/conclusions", json!({"conclusions": [body]}))
                    .await;
                rig.pass(std::time::Duration::from_secs(1));
            }
        }
    }
}

#[tokio::test]
async fn of_conclusions_across_representations() {
    let rig = Rig::new().await;
    concluded(&rig).await;
    let path = "/v3/workspaces/w/conclusions/list";
    let all = rig.post(path, json!({})).await["items"].as_array().unwrap().clone();
    assert_eq!(all.len(), 12);
    let is = |item: &Value, key: &str, value: &str| item[key] == value;
    let cases: Vec<(Value, Wanted)> = vec![
        (
            json!({"session_id": null}),
            Box::new(|item| item["session_id"].is_null()),
        ),
        (
            json!({"session_id": {"ne": "s"}}),
            Box::new(|item| item["session_id"].is_null()),
        ),
        (
            json!({"NOT": [{"session_id": null}]}),
            Box::new(|item| is(item, "session_id", "s")),
        ),
        (
            json!({"observer": ["ann", "cat"]}),
            Box::new(|item| !is(item, "observer_id", "ben")),
        ),
        (
            json!({"observed": "ben", "session_id": "s"}),
            Box::new(|item| is(item, "observed_id", "ben") && is(item, "session_id", "s")),
        ),
        (
            json!({"OR": [{"observer": "ann", "observed": "ben"}, {"observer": "ben", "observed": "ann"}]}),
            Box::new(|item| item["observer_id"] != item["observed_id"] && !is(item, "observer_id", "cat")),
        ),
        (
            json!({"observer": {"contains": "A"}}),
            Box::new(|item| !is(item, "observer_id", "ben")),
        ),
        (
            json!({"content": {"icontains": "BEN of"}}),
            Box::new(|item| is(item, "observer_id", "ben")),
        ),
        (
            json!({"created_at": {"lt": all[5]["created_at"]}}),
            Box::new(|item| item["created_at"].as_str() < all[5]["created_at"].as_str()),
        ),
        (
            json!({"id": [all[3]["id"], all[7]["id"], "x"], "level": "explicit"}),
            Box::new(|item| *item == all[3] || *item == all[7]),
        ),
        (json!({"times_derived": {"gt": 1}}), Box::new(|_| false)),
        (json!({"metadata": {"kind": "x"}}), Box::new(|_| false)),
        (json!({"workspace_id": "v"}), Box::new(|_| false)),
    ];
    for (filters, wanted) in &cases {
        let expected: Vec<_> = all.iter().filter(|item| wanted(item)).cloned().collect();
        assert!(expected.len() < all.len(), "{filters} shows nothing");
        for reverse in [false, true] {
            // Page by page it is the same list.
            let mut found = Vec::new();
            for page in 1..=7 {
                let path = format!("{path}?size=2&page={page}&reverse={reverse}");
                let answer = rig.post(&path, json!({ "filters": filters })).await;
                assert_eq!(answer["total"], expected.len(), "{filters}");
                found.extend(answer["items"].as_array().unwrap().clone());
            }
            if reverse {
                found.reverse();
            }
            assert_eq!(found, expected, "{filters}");
        }
    }
}

#[tokio::test]
async fn a_query_takes_the_same_filters_besides_the_pair() {
    let rig = Rig::new().await;
    concluded(&rig).await;
    let query = async |filters: Value| {
        let body = json!({"query": "ann of ben", "filters": filters});
        let found = rig.post("/v3/workspaces/w/conclusions/query", body).await;
        found
            .as_array()
            .unwrap()
            .iter()
            .map(|item| text(&item["content"]))
            .collect::<Vec<_>>()
    };
    assert_eq!(query(json!({"observer": "ann", "observed": "ben"})).await.len(), 2);
    for filters in [
        json!({"observer": "ann", "observed": "ben", "session_id": {"ne": null}}),
        json!({"AND": [{"observer_id": "ann"}, {"observed_id": ["ben"]}], "content": {"contains": "in \"S\""}}),
    ] {
        assert_eq!(query(filters).await, ["ann of ben in \"s\""]);
    }
}

#[tokio::test]
async fn pages_and_refusals_as_the_wire_shows_them() {
    let said = play(async |tape| {
        for (id, team) in [("ann", "a"), ("ben", "b"), ("cat", "a"), ("dan", "a")] {
            tape.post("/w/peers", json!({"id": id, "metadata": {"team": team}}))
                .await;
            tape.tick();
        }
        tape.silence();
        let team = json!({"filters": {"metadata": {"team": "a"}}});
        for query in ["?size=2", "?size=2&page=2", "?size=2&page=3", "?size=1&reverse=true"] {
            tape.post(&format!("/w/peers/list{query}"), team.clone()).await;
        }
        tape.post(
            "/w/peers/list?size=1&page=2",
            json!({"filters": {"id": ["dan", "ann"]}}),
        )
        .await;
        for filters in [
            json!({"bogus": 1}),
            json!({"AND": [{"OR": [{"bogus": 1}]}]}),
            json!({"NOT": {"id": "ann"}}),
            json!({"OR": [1]}),
            json!({"NOT": [{"NOT": [{"NOT": [{"NOT": [{"NOT": [{"NOT": [{}]}]}]}]}]}]}),
            json!({"id": 5}),
            json!({"id": {"like": "a"}}),
            json!({"id": {"gt": null}}),
            json!({"created_at": {"gte": "yesterday"}}),
            json!({"created_at": {"contains": "2026"}}),
            json!({"metadata": {"score": {"gte": [1]}}}),
        ] {
            tape.post("/w/peers/list", json!({ "filters": filters })).await;
        }
    })
    .await;
    insta::assert_json_snapshot!(said);
}

#[tokio::test]
async fn conclusions_of_one_pair_read_one_representation_and_those_of_others_none() {
    let rig = Rig::new().await;
    concluded(&rig).await;
    let list = "/w/conclusions/list";
    let (workspace, heads, conclusions, shown) = ("GetItem", "BatchGetItem", "Query", "BatchGetItem");
    let pair = json!({"observer": "ann", "observed": "ben"});
    let (calls, _) = cost(&rig, list, pair).await;
    assert_eq!(calls, [workspace, heads, conclusions]);
    let pair =
        json!({"AND": [{"observer_id": ["ann"]}, {"NOT": [{"observed_id": {"ne": "ben"}}]}], "level": "explicit"});
    let (calls, answer) = cost(&rig, list, pair).await;
    assert_eq!(calls, [workspace, heads, conclusions, shown]);
    assert_eq!(answer["total"], 2);
    let two = json!({"OR": [{"observer": "ann", "observed": "ben"}, {"observer": "cat", "observed": "ben"}]});
    let (calls, answer) = cost(&rig, list, two).await;
    assert_eq!(calls, [workspace, heads, conclusions, conclusions, shown]);
    assert_eq!(answer["total"], 4);
    let by_id = json!({"id": {"in": [answer["items"][0]["id"], answer["items"][1]["id"]]}, "session_id": null});
    let (calls, answer) = cost(&rig, list, by_id).await;
    assert_eq!(calls, [workspace, heads, shown]);
    assert_eq!(answer["total"], 1);
    for nothing in [
        json!({"observer": "ann", "observer_id": "ben", "observed": "ben"}),
        json!({"workspace_id": "v"}),
        json!({"observer": [], "observed": "ben"}),
    ] {
        let (calls, _) = cost(&rig, list, nothing).await;
        assert_eq!(calls, [workspace]);
    }
}

#[tokio::test]
async fn names_are_read_by_key_and_what_is_elsewhere_is_not_read() {
    let rig = Rig::new().await;
    let messages = json!({"messages": [{"peer_id": "maya", "content": "hi"}]});
    rig.post("/v3/workspaces/w/sessions/s/messages", messages).await;
    for (path, filters, calls) in [
        ("/list", json!({"id": ["w", "v"]}), vec!["BatchGetItem"]),
        ("/w/peers/list", json!({"id": "maya"}), vec!["GetItem", "BatchGetItem"]),
        (
            "/w/sessions/list",
            json!({"OR": [{"id": "s"}, {"id": "t"}]}),
            vec!["GetItem", "BatchGetItem"],
        ),
        ("/w/sessions/list", json!({"workspace_id": "v"}), vec!["GetItem"]),
        (
            "/w/sessions/s/messages/list",
            json!({"session_id": "t"}),
            vec!["GetItem", "GetItem"],
        ),
    ] {
        assert_eq!(cost(&rig, path, filters.clone()).await.0, calls, "{path} {filters}");
    }
}

#[tokio::test]
async fn a_long_list_is_gone_through_in_parts() {
    let rig = Rig::new().await;
    let everyone = |range: std::ops::Range<usize>| -> Value {
        range
            .map(|n| (format!("p{n}"), json!({})))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    for part in 0..5 {
        let peers = everyone(part * 50..part * 50 + 50);
        rig.post(
            "/v3/workspaces/w/sessions",
            json!({"id": format!("s{part}"), "peers": peers}),
        )
        .await;
        rig.pass(std::time::Duration::from_secs(1));
    }
    rig.ok(
        "PUT",
        "/v3/workspaces/w/peers/p123",
        Some(json!({"metadata": {"lead": true}})),
    )
    .await;
    let (calls, answer) = cost(&rig, "/w/peers/list", json!({"metadata": {"lead": true}})).await;
    assert_eq!(
        (&answer["total"], &answer["items"][0]["id"]),
        (&json!(1), &json!("p123"))
    );
    // 250 peers are three parts.
    assert_eq!(
        counted(&calls),
        BTreeMap::from([("BatchGetItem", 3), ("GetItem", 1), ("Query", 3)])
    );
    // Pages of what matches are those of the whole list, from either end.
    let not_lead = json!({"NOT": [{"metadata": {"lead": true}}]});
    for reverse in [false, true] {
        let mut seen = Vec::new();
        for page in 1..=3 {
            let path = format!("/v3/workspaces/w/peers/list?size=100&page={page}&reverse={reverse}");
            let answer = rig.post(&path, json!({ "filters": not_lead })).await;
            assert_eq!(answer["total"], 249);
            seen.extend(answer["items"].as_array().unwrap().iter().map(|peer| text(&peer["id"])));
        }
        let mut all = Vec::new();
        for page in 1..=3 {
            let path = format!("/v3/workspaces/w/peers/list?size=100&page={page}&reverse={reverse}");
            let answer = rig.post(&path, json!({})).await;
            all.extend(answer["items"].as_array().unwrap().iter().map(|peer| text(&peer["id"])));
        }
        all.retain(|id| id != "p123");
        assert_eq!(seen, all);
    }
    // More names than are read by key at once.
    let many: Vec<_> = (0..150).map(|n| format!("p{n}")).collect();
    let answer = rig
        .post("/v3/workspaces/w/peers/list", json!({"filters": {"id": many}}))
        .await;
    assert_eq!(answer["total"], 150);
}

#[tokio::test]
async fn a_long_session_and_a_large_representation_are_gone_through_in_parts() {
    let rig = Rig::new().await;
    rig.post("/v3/workspaces/w/peers", json!({"id": "maya"})).await;
    for part in 0..5 {
        let numbers = part * 100..part * 100 + 100;
        let messages: Vec<_> = numbers
            .clone()
            .map(|n| json!({"peer_id": "maya", "content": n.to_string(), "metadata": {"n": n}}))
            .collect();
        rig.post("/v3/workspaces/w/sessions/s/messages", json!({ "messages": messages }))
            .await;
        let stated: Vec<_> = numbers
            .map(|n| json!({"content": format!("fact {n}"), "observer_id": "maya", "observed_id": "maya"}))
            .collect();
        rig.post("/v3/workspaces/w/conclusions", json!({ "conclusions": stated }))
            .await;
        rig.pass(std::time::Duration::from_secs(1));
    }
    let path = "/w/sessions/s/messages/list";
    let (calls, answer) = cost(&rig, path, json!({"metadata": {"n": {"in": [3, 250, 499]}}})).await;
    let found: Vec<_> = answer["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["content"])
        .collect();
    assert_eq!(found, ["3", "250", "499"]);
    // Three parts, each with its messages and what was edited of them.
    let queries = counted(&calls)["Query"];
    assert!((6..=12).contains(&queries), "{calls:?}");
    let path = "/v3/workspaces/w/sessions/s/messages/list?size=2&reverse=true&page=2";
    let answer = rig
        .post(path, json!({"filters": {"metadata": {"n": {"gte": 100, "lt": 103}}}}))
        .await;
    assert_eq!(
        (&answer["total"], &answer["items"][0]["content"]),
        (&json!(3), &json!("100"))
    );

    let facts = json!({"observer": "maya", "observed": "maya", "content": {"contains": "fact 33"}});
    let (calls, answer) = cost(&rig, "/w/conclusions/list", facts).await;
    // 33 and 330 to 339, newest first.
    assert_eq!(
        (&answer["total"], &answer["items"][10]["content"]),
        (&json!(11), &json!("fact 33"))
    );
    assert_eq!(
        counted(&calls),
        BTreeMap::from([("BatchGetItem", 2), ("GetItem", 1), ("Query", 6)])
    );
}
