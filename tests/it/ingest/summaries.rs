//! Summaries: made every so many messages, each stretch once, and never in the way of conclusions (checklist C7).

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use http::StatusCode;
use reverie_core::reasoner::{
    DeriveRequest, Derived, Reasoner, ReasonerError, Summary, SummaryRequest, ThinkRequest, Thought,
};
use reverie_core::run::Usage;
use reverie_core::summary::Kind;
use serde_json::{Value, json};

use super::{MESSAGES, queue, time_passes};
use crate::rig::{Fault, Faults, Rig, Scripted, config};

const SUMMARIES: &str = "/v3/workspaces/w/sessions/s/summaries";

/// What the summariser was asked: the kind, the first and last message, instructions.
type Asked = Arc<Mutex<Vec<(Kind, u64, u64, Option<String>)>>>;

/// A summary that says which messages it covers, after all that the previous one says.
fn covering(request: &SummaryRequest<'_>) -> Summary {
    let [first, last] = ends(request);
    let before = request.previous.map(|previous| format!("{previous} "));
    Summary {
        content: format!("{}{first}-{last}", before.unwrap_or_default()),
        usage: Usage::default(),
    }
}

fn ends(request: &SummaryRequest<'_>) -> [u64; 2] {
    [request.messages.first(), request.messages.last()].map(|message| message.unwrap().seq.0)
}

async fn rig(reasoner: Scripted) -> Rig {
    Rig::with(config(), Arc::new(reasoner), Faults::none()).await
}

fn logging() -> (Scripted, Asked) {
    let asked = Asked::default();
    let log = Arc::clone(&asked);
    let reasoner = Scripted::idle().summarising(move |request| {
        let [first, last] = ends(request);
        let instructions = request.instructions.map(str::to_owned);
        log.lock().unwrap().push((request.kind, first, last, instructions));
        Ok(covering(request))
    });
    (reasoner, asked)
}

async fn listening() -> (Rig, Asked) {
    let (reasoner, asked) = logging();
    (rig(reasoner).await, asked)
}

/// Maya says so many things, in one POST per hundred.
async fn say(rig: &Rig, from: usize, count: usize) {
    let all: Vec<Value> = (from..from + count)
        .map(|number| json!({"peer_id": "maya", "content": format!("maya noted fact {number}")}))
        .collect();
    for chunk in all.chunks(100) {
        rig.post(MESSAGES, json!({ "messages": chunk })).await;
    }
}

async fn texts(rig: &Rig) -> [Option<String>; 2] {
    let both = rig.get(SUMMARIES).await;
    ["short_summary", "long_summary"].map(|kind| both[kind]["content"].as_str().map(str::to_owned))
}

fn both(short: Option<&str>, long: Option<&str>) -> [Option<String>; 2] {
    [short, long].map(|text| text.map(str::to_owned))
}

/// How many items of a type there are.
async fn items(rig: &Rig, kind: &str) -> usize {
    rig.items().await.iter().filter(|item| item["type"] == *kind).count()
}

/// A model that is overloaded while the flag is set; and how often it was asked.
fn overloaded() -> (Scripted, Arc<Mutex<(bool, usize)>>) {
    let state = Arc::new(Mutex::new((true, 0)));
    let shared = Arc::clone(&state);
    let reasoner = Scripted::idle().summarising(move |request| {
        let mut state = shared.lock().unwrap();
        state.1 += 1;
        if state.0 {
            Err(ReasonerError::transient("overloaded".to_owned()))
        } else {
            Ok(covering(request))
        }
    });
    (reasoner, state)
}

#[tokio::test]
async fn c7_c19_a_short_summary_every_20_messages_and_a_long_one_every_60() {
    let (rig, asked) = listening().await;
    for number in 0..19 {
        say(&rig, number, 1).await;
    }
    rig.settle().await;
    assert_eq!(texts(&rig).await, both(None, None));
    say(&rig, 19, 1).await;
    rig.settle().await;
    assert_eq!(texts(&rig).await, both(Some("1-20"), None));
    let short = rig.get(SUMMARIES).await["short_summary"].clone();
    let last = rig.post(&format!("{MESSAGES}/list?page=20&size=1"), json!({})).await["items"][0].clone();
    assert_eq!(
        short,
        json!({"content": "1-20", "message_id": last["id"], "summary_type": "short",
            "created_at": "2026-01-01T00:00:00Z", "token_count": 3})
    );
    // Whatever comes at once, each stretch is of the same messages.
    say(&rig, 20, 105).await;
    rig.settle().await;
    assert_eq!(
        texts(&rig).await,
        both(Some("1-20 21-40 41-60 61-80 81-100 101-120"), Some("1-60 61-120"))
    );
    assert_eq!(asked.lock().unwrap().len(), 8);
    // Nothing new, nothing asked.
    time_passes(&rig, 10).await;
    assert_eq!(asked.lock().unwrap().len(), 8);
    assert_eq!(queue(&rig).await["pending_work_units"], 0);
}

#[tokio::test]
async fn c7_c9_c11_c12_settings_and_instructions_of_workspace_and_session_hold() {
    let (rig, asked) = listening().await;
    let put = async |path: &str, configuration: Value| {
        rig.ok("PUT", path, Some(json!({ "configuration": configuration })))
            .await;
    };
    let every = |short: u32, long: u32| json!({"messages_per_short_summary": short, "messages_per_long_summary": long});
    let mut summary = every(10, 30);
    summary["custom_instructions"] = json!("as bullet points");
    let unheard = json!({"custom_instructions": "unheard"});
    put(
        "/v3/workspaces/w",
        json!({"summary": summary, "custom_instructions": "in German", "reasoning": unheard}),
    )
    .await;
    say(&rig, 0, 30).await;
    rig.settle().await;
    assert_eq!(texts(&rig).await, both(Some("1-10 11-20 21-30"), Some("1-30")));
    let told = || {
        let asked = asked.lock().unwrap();
        asked.iter().filter_map(|asked| asked.3.clone()).collect::<Vec<_>>()
    };
    assert_eq!(told(), ["as bullet points"; 4]);
    // A session's shared instructions beat the workspace's own for summaries; other distances hold from here on.
    put(
        "/v3/workspaces/w/sessions/s",
        json!({"custom_instructions": "in French", "summary": every(25, 50)}),
    )
    .await;
    say(&rig, 30, 30).await;
    rig.settle().await;
    assert_eq!(
        texts(&rig).await,
        both(Some("1-10 11-20 21-30 31-50"), Some("1-30 31-50"))
    );
    assert_eq!(told()[4..], ["in French", "in French"]);
    // Off: none; and on again: from where it was left.
    put("/v3/workspaces/w/sessions/s", json!({"summary": {"enabled": false}})).await;
    say(&rig, 60, 20).await;
    rig.settle().await;
    assert_eq!(asked.lock().unwrap().len(), 6);
    put("/v3/workspaces/w/sessions/s", json!({"summary": {"enabled": true}})).await;
    say(&rig, 80, 1).await;
    rig.settle().await;
    assert_eq!(
        texts(&rig).await,
        both(
            Some("1-10 11-20 21-30 31-50 51-60 61-70 71-80"),
            Some("1-30 31-50 51-60")
        )
    );
}

#[tokio::test]
async fn sessions_are_summarised_where_nothing_is_reasoned_over() {
    let (rig, _) = listening().await;
    let off = json!({"id": "s", "configuration": {"reasoning": {"enabled": false}}});
    rig.post("/v3/workspaces/w/sessions", off).await;
    say(&rig, 0, 20).await;
    rig.settle().await;
    assert_eq!(texts(&rig).await, both(Some("1-20"), None));
    assert_eq!(rig.texts("w", "maya", "maya").await, [""; 0]);
}

#[tokio::test]
async fn offline_what_was_said_first_is_still_in_the_fiftieth_summary() {
    let rig = Rig::new().await;
    let first = json!({"peer_id": "maya", "content": "I am allergic to peanuts. How are you?"});
    rig.post(MESSAGES, json!({"messages": [first]})).await;
    let talk: Vec<Value> = (0..100)
        .map(|number| json!({"peer_id": "maya", "content": format!("My dog number {number} barks at night.")}))
        .collect();
    for _ in 0..10 {
        rig.post(MESSAGES, json!({ "messages": talk })).await;
    }
    rig.settle().await;
    let found = rig.get(SUMMARIES).await;
    for (kind, most) in [("short_summary", 1000), ("long_summary", 4000)] {
        let text = found[kind]["content"].as_str().unwrap();
        assert!(text.starts_with("maya: I am allergic to peanuts.\n"), "{text}");
        assert!(!text.contains("How are you"), "{text}");
        assert!(found[kind]["token_count"].as_u64().unwrap() <= most, "{text}");
    }
}

#[tokio::test]
async fn a_summary_that_fails_holds_up_nothing_and_is_made_when_the_model_is_back() {
    let (reasoner, state) = overloaded();
    let rig = rig(reasoner).await;
    say(&rig, 0, 30).await;
    assert_eq!(rig.settle().await, 0, "no delivery fails");
    assert_eq!(rig.texts("w", "maya", "maya").await.len(), 30);
    let status = queue(&rig).await;
    assert_eq!(status["pending_work_units"], 1, "{status}");
    let session = rig.get("/v3/workspaces/w/queue/status?session_id=s").await;
    assert_eq!(session["pending_work_units"], 1, "{session}");
    // What comes meanwhile does not ask again before its time.
    for number in 30..35 {
        say(&rig, number, 1).await;
        rig.settle().await;
    }
    assert_eq!(state.lock().unwrap().1, 1);
    time_passes(&rig, 120).await;
    let tries = state.lock().unwrap().1;
    assert!((5..=26).contains(&tries), "{tries} tries in two hours");
    assert_eq!(texts(&rig).await, both(None, None));
    state.lock().unwrap().0 = false;
    time_passes(&rig, 20).await;
    assert_eq!(texts(&rig).await, both(Some("1-20"), None));
    assert_eq!(queue(&rig).await["pending_work_units"], 0);
    assert_eq!(items(&rig, "late_summary").await, 0);
}

#[tokio::test]
async fn where_a_model_gives_no_usable_summary_the_messages_are_quoted() {
    let unusable: [fn() -> Result<Summary, ReasonerError>; 3] = [
        || Err(ReasonerError::permanent("refused".to_owned())),
        || Ok(Summary::default()),
        || panic!("a bug"),
    ];
    for answer in unusable {
        let asked = Arc::new(Mutex::new(0));
        let count = Arc::clone(&asked);
        let reasoner = Unhappy(move || {
            *count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
            answer()
        });
        let rig = Rig::with(config(), Arc::new(reasoner), Faults::none()).await;
        say(&rig, 0, 20).await;
        rig.settle().await;
        assert_eq!(texts(&rig).await, both(None, None));
        time_passes(&rig, 60).await;
        let [short, _] = texts(&rig).await;
        assert!(short.unwrap().starts_with("maya: maya noted fact 0\n"));
        assert_eq!(*asked.lock().unwrap_or_else(PoisonError::into_inner), 3);
        assert_eq!(queue(&rig).await["pending_work_units"], 0);
    }
}

/// Summarises as told, holding no lock while it does, and does nothing else.
struct Unhappy<F>(F);

#[async_trait]
impl<F: Fn() -> Result<Summary, ReasonerError> + Send + Sync> Reasoner for Unhappy<F> {
    async fn derive(&self, _: DeriveRequest<'_>) -> Result<Derived, ReasonerError> {
        Ok(Derived::default())
    }

    async fn summarise(&self, _: SummaryRequest<'_>) -> Result<Summary, ReasonerError> {
        (self.0)()
    }

    async fn think(&self, _: ThinkRequest<'_>) -> Result<Thought, ReasonerError> {
        Ok(Thought::default())
    }
}

#[tokio::test]
async fn a_model_that_does_not_keep_to_its_bound_is_cut() {
    let reasoner = Scripted::idle().summarising(|request| {
        Ok(Summary {
            content: "word ".repeat(request.max_tokens as usize + 100),
            usage: Usage::default(),
        })
    });
    let rig = rig(reasoner).await;
    say(&rig, 0, 20).await;
    rig.settle().await;
    assert_eq!(rig.get(SUMMARIES).await["short_summary"]["token_count"], 1000);
}

#[tokio::test]
async fn silence_is_not_summarised_and_does_not_hold_up_what_follows() {
    let (rig, asked) = listening().await;
    let silence: Vec<_> = (0..20).map(|_| json!({"peer_id": "maya", "content": " "})).collect();
    rig.post(MESSAGES, json!({ "messages": silence })).await;
    rig.settle().await;
    assert_eq!(texts(&rig).await, both(None, None));
    assert_eq!(asked.lock().unwrap().len(), 0);
    say(&rig, 0, 20).await;
    rig.settle().await;
    assert_eq!(texts(&rig).await, both(Some("21-40"), None));
}

#[tokio::test]
async fn h35_a_session_that_goes_takes_its_summaries_along_and_those_that_wait() {
    for fails in [false, true] {
        let (reasoner, state) = overloaded();
        state.lock().unwrap().0 = fails;
        let rig = rig(reasoner).await;
        say(&rig, 0, 60).await;
        rig.settle().await;
        let found = async || [items(&rig, "summary").await, items(&rig, "late_summary").await];
        assert_eq!(found().await, if fails { [0, 2] } else { [2, 0] });
        rig.ok("DELETE", "/v3/workspaces/w/sessions/s", None).await;
        let (status, _) = rig.call("GET", SUMMARIES, None).await;
        assert_eq!(status, StatusCode::NOT_FOUND);
        assert_eq!(queue(&rig).await["pending_work_units"], 0);
        rig.settle().await;
        assert_eq!(found().await, [0, 0]);
        let left = rig.items_in_the_clear().await;
        assert!(!left.iter().any(|item| item.to_string().contains("noted fact")));
        assert!(!left.iter().any(|item| item.to_string().contains("41-60")));
        // A session of the same name begins anew.
        say(&rig, 0, 19).await;
        rig.settle().await;
        assert_eq!(texts(&rig).await, both(None, None));
    }
}

#[tokio::test]
async fn a_session_that_goes_while_it_is_summarised_keeps_nothing() {
    for fails in [false, true] {
        let deleting: Arc<OnceLock<Arc<Rig>>> = Arc::default();
        let rig_ = Arc::clone(&deleting);
        // The deletion begins while the model is thinking.
        let reasoner = Scripted::idle().summarising(move |request| {
            let rig = Arc::clone(rig_.get().unwrap());
            let delete = move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime
                    .unwrap()
                    .block_on(rig.ok("DELETE", "/v3/workspaces/w/sessions/s", None));
            };
            std::thread::spawn(delete).join().unwrap();
            if fails {
                Err(ReasonerError::transient("overloaded".to_owned()))
            } else {
                Ok(covering(request))
            }
        });
        let rig = Arc::new(rig(reasoner).await);
        assert!(deleting.set(Arc::clone(&rig)).is_ok());
        say(&rig, 0, 20).await;
        assert_eq!(rig.settle().await, 0);
        let found = [items(&rig, "summary").await, items(&rig, "late_summary").await];
        assert_eq!(found, [0, 0], "fails: {fails}");
        assert_eq!(queue(&rig).await["total_work_units"], 0);
    }
}

#[tokio::test]
async fn a_delivery_with_no_time_left_hands_the_rest_on() {
    let (rig, asked) = listening().await;
    let clock = Arc::clone(&rig.clock);
    rig.faults.replan(move |_, name| {
        if name == "Summarise" {
            clock.pass(Duration::from_secs(20));
        }
        Fault::None
    });
    say(&rig, 0, 400).await;
    assert_eq!(rig.settle().await, 0);
    assert_eq!(asked.lock().unwrap().len(), 20 + 6);
    let sent = rig.faults.calls().iter().filter(|call| *call == "SendMessage").count();
    assert!(sent > 4, "{sent}");
}

#[tokio::test]
async fn a_crash_at_any_call_leaves_each_stretch_summarised_once() {
    // Everything is derived already, so that only summaries are disturbed.
    let begin = async || {
        let (reasoner, asked) = logging();
        let rig = rig(reasoner).await;
        rig.ok(
            "PUT",
            "/v3/workspaces/w",
            Some(json!({"configuration": {"summary": {"enabled": false}}})),
        )
        .await;
        say(&rig, 0, 61).await;
        rig.settle().await;
        rig.ok("PUT", "/v3/workspaces/w", Some(json!({"configuration": {}})))
            .await;
        let last = json!({"peer_id": "maya", "content": " ", "configuration": {"reasoning": {"enabled": false}}});
        rig.post(MESSAGES, json!({"messages": [last]})).await;
        rig.fix_ids();
        (rig, asked)
    };
    let (rig, asked) = begin().await;
    rig.faults.replan(|_, _| Fault::None);
    assert_eq!(rig.settle().await, 0);
    let (expected, calls) = (rig.fingerprint().await, rig.faults.calls());
    assert_eq!(asked.lock().unwrap().len(), 4);
    assert_eq!(calls.iter().filter(|call| *call == "Summarise").count(), 4, "{calls:?}");
    for (call, name) in calls.iter().enumerate() {
        for fault in [Fault::DieBefore, Fault::DieAfter] {
            let (rig, asked) = begin().await;
            rig.faults
                .replan(move |number, _| if number == call { fault } else { Fault::None });
            rig.settle().await;
            assert!(rig.faults.is_dead());
            let rig = rig.restart().await;
            rig.fix_ids();
            rig.settle().await;
            assert_eq!(rig.fingerprint().await, expected, "{fault:?} at call {call}, {name}");
            // At most the one answer that was under way is asked for again.
            assert!(asked.lock().unwrap().len() <= 5, "{fault:?} at call {call}, {name}");
        }
    }
}
