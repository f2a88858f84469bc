//! Our own operations, where engines differ: transactions with conditions, blocks, paging, batches, the due index.
#![allow(missing_docs, reason = "the names say it")]

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use reverie_aws::system::SystemIds;
use reverie_aws::table::due::{DueKind, SHARDS};
use reverie_aws::table::idempotency::{KeyedRequest, Recording};
use reverie_aws::table::lists::Paging;
use reverie_aws::table::messages::Append;
use reverie_aws::table::sessions::{GivenSession, Session, SessionState};
use reverie_aws::table::work::SessionWork;
use reverie_aws::table::workspaces::{Given, Workspace};
use reverie_aws::table::{Table, TableError};
use reverie_core::id::{IdSource as _, PeerName, Seq, SessionName, WorkspaceName};
use reverie_core::message::Message;
use reverie_core::time::Time;

use super::{TABLE, scan};

/// 2026-01-01T00:00:00Z.
const START: Time = Time::from_seconds(1_767_225_600);
const MINUTE: Duration = Duration::from_mins(1);
const DAY: Duration = Duration::from_hours(24);

fn table(client: &Client) -> Table {
    Table::new(client.clone(), TABLE)
}

fn peer(name: &str) -> PeerName {
    PeerName::parse(name).unwrap()
}

fn session_name() -> SessionName {
    SessionName::parse("s").unwrap()
}

async fn workspace(table: &Table) -> Workspace {
    let name = WorkspaceName::parse("w").unwrap();
    let made = table
        .get_or_create_workspace(&name, Given::default(), &SystemIds, START)
        .await;
    made.unwrap().0
}

async fn session(table: &Table, workspace: &Workspace) -> Session {
    let given = GivenSession::default();
    let made = table
        .get_or_create_session(workspace, &session_name(), given, &SystemIds, START)
        .await;
    made.unwrap().0
}

/// Messages that follow a state, each with a content.
fn messages(state: &SessionState, contents: &[String]) -> Vec<Message> {
    let after = (state.last_seq.0 + 1..).map(Seq);
    let message = |(seq, content): (Seq, &String)| Message {
        seq,
        peer: peer("maya"),
        content: content.clone(),
        metadata: serde_json::Map::new(),
        configuration: None,
        created_at: START,
        arrived_at: START,
        tokens: 1,
    };
    after.zip(contents).map(message).collect()
}

/// Appends at the end as it is now; whoever is not the first tries again.
async fn append(
    table: &Table,
    workspace: &Workspace,
    session: &Session,
    contents: &[String],
    recording: Option<Recording>,
) -> Result<(), TableError> {
    loop {
        let state = table.session_state(&session.uid).await?.unwrap();
        let tried = Append {
            workspace,
            session,
            state: &state,
            messages: &messages(&state, contents),
            activity: &BTreeMap::new(),
            recording: recording.clone(),
        };
        match table.append(tried, START).await {
            Err(TableError::Condition(places)) if places == [0] && state.alive => {}
            other => return other,
        }
    }
}

/// Text that no compression makes shorter.
fn noise(bytes: usize) -> String {
    let mut text = String::new();
    while text.len() < bytes {
        text.push_str(&SystemIds.uid());
    }
    text.truncate(bytes);
    text
}

pub async fn many_who_create_one_workspace_at_once_get_the_same(client: &Client) {
    let table = Arc::new(table(client));
    let makers: Vec<_> = (0..8)
        .map(|_| {
            let table = Arc::clone(&table);
            tokio::spawn(async move { workspace(&table).await.uid })
        })
        .collect();
    let mut uids = HashSet::new();
    for maker in makers {
        uids.insert(maker.await.unwrap());
    }
    assert_eq!(uids.len(), 1);
    let page = Paging {
        page: 1,
        size: 10,
        reverse: false,
    };
    assert_eq!(table.workspaces(page, None).await.unwrap().total, 1);
}

pub async fn many_who_append_to_one_session_lose_nothing(client: &Client) {
    let table = Arc::new(table(client));
    let workspace = workspace(&table).await;
    let session = session(&table, &workspace).await;
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let (table, workspace, session) = (Arc::clone(&table), workspace.clone(), session.clone());
            tokio::spawn(async move {
                for n in 0..5 {
                    let said = [format!("{writer} says {n}")];
                    append(&table, &workspace, &session, &said, None).await.unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let all = table.messages(&session.uid, Seq(1), Seq(u64::MAX / 2)).await.unwrap();
    let places: Vec<_> = all.iter().map(|message| message.seq.0).collect();
    assert_eq!(places, (1..=20).collect::<Vec<_>>());
    let said: HashSet<_> = all.iter().map(|message| &message.content).collect();
    assert_eq!(said.len(), 20);
}

pub async fn a_session_of_megabytes_is_read_whole_and_in_part(client: &Client) {
    let table = table(client);
    let workspace = workspace(&table).await;
    let session = session(&table, &workspace).await;
    let said: Vec<_> = (0..12).map(|_| noise(300_000)).collect();
    for part in said.chunks(6) {
        append(&table, &workspace, &session, part, None).await.unwrap();
    }
    let contents = async |first: u64, last: u64| -> Vec<String> {
        let found = table.messages(&session.uid, Seq(first), Seq(last)).await.unwrap();
        found.into_iter().map(|message| message.content).collect()
    };
    assert!(contents(1, 12).await == said, "not what was said");
    assert!(contents(5, 8).await == said[4..8], "not the part asked for");
}

pub async fn a_message_that_no_item_can_hold_is_refused_before_anything_is_written(client: &Client) {
    let table = table(client);
    let workspace = workspace(&table).await;
    let session = session(&table, &workspace).await;
    let before = scan(client).await.len();
    for contents in [vec![noise(600_000)], (0..16).map(|_| noise(300_000)).collect()] {
        let refused = append(&table, &workspace, &session, &contents, None).await;
        assert!(matches!(refused, Err(TableError::TooLarge(_))), "{refused:?}");
    }
    assert_eq!(scan(client).await.len(), before);
}

pub async fn hundreds_of_peers_are_found_and_counted(client: &Client) {
    let table = table(client);
    let workspace = workspace(&table).await.uid;
    let names: Vec<_> = (0..250).map(|n| peer(&format!("peer-{n}"))).collect();
    table.ensure_peers(&workspace, &names, START).await.unwrap();
    // Once more, some of them new: those that are there stay as they are.
    let more: Vec<_> = (200..260).map(|n| peer(&format!("peer-{n}"))).collect();
    table.ensure_peers(&workspace, &more, START + DAY).await.unwrap();
    let wanted: Vec<_> = (0..300).map(|n| peer(&format!("peer-{n}"))).collect();
    let found = table.find_peers(&workspace, &wanted).await.unwrap();
    assert_eq!(found.len(), 260);
    assert_eq!(found.values().filter(|peer| peer.created_at == START).count(), 250);
    let page = Paging {
        page: 3,
        size: 100,
        reverse: true,
    };
    let page = table.peers(&workspace, page, None).await.unwrap();
    assert_eq!((page.total, page.items.len()), (260, 60));
}

pub async fn a_session_is_due_a_minute_after_it_lags_and_when_it_is_put_off_later(client: &Client) {
    let table = table(client);
    let workspace = workspace(&table).await;
    let session = session(&table, &workspace).await;
    append(&table, &workspace, &session, &["hello".to_owned()], None)
        .await
        .unwrap();
    let due = async |after: Duration| -> Vec<_> {
        let mut found = Vec::new();
        for shard in 0..SHARDS {
            for due in table.due(DueKind::Session, shard, START + after, 10).await.unwrap() {
                let work: SessionWork = table.read_due(&due).await.unwrap().unwrap();
                found.push((due.workspace(), work.uid));
            }
        }
        found
    };
    let expected = [(workspace.uid.clone(), session.uid.clone())];
    assert_eq!(due(MINUTE / 2).await, []);
    assert_eq!(due(MINUTE).await, expected);
    table
        .postpone_session(&workspace.uid, &session.uid, START + 5 * MINUTE)
        .await
        .unwrap();
    assert_eq!(due(MINUTE).await, []);
    assert_eq!(due(5 * MINUTE).await, expected);
    table.forget_session(&workspace.uid, &session.uid).await.unwrap();
    assert_eq!(due(DAY).await, []);
}

pub async fn a_due_item_is_taken_by_one_of_many(client: &Client) {
    let table = Arc::new(table(client));
    let workspace = workspace(&table).await;
    let session = session(&table, &workspace).await;
    append(&table, &workspace, &session, &["hello".to_owned()], None)
        .await
        .unwrap();
    let mut due = Vec::new();
    for shard in 0..SHARDS {
        due.extend(table.due(DueKind::Session, shard, START + MINUTE, 10).await.unwrap());
    }
    assert_eq!(due.len(), 1);
    let takers: Vec<_> = (0..6)
        .map(|_| {
            let (table, due) = (Arc::clone(&table), due[0].clone());
            tokio::spawn(async move { table.take_due(&due, START + MINUTE, |_| START + 2 * MINUTE).await })
        })
        .collect();
    let mut taken = 0;
    for taker in takers {
        taken += usize::from(taker.await.unwrap().unwrap().is_some());
    }
    assert_eq!(taken, 1);
}

pub async fn a_used_key_refuses_the_whole_post_until_it_expires(client: &Client) {
    let table = table(client);
    let workspace = workspace(&table).await;
    let session = session(&table, &workspace).await;
    let request = KeyedRequest::new(&["messages", "s"], "key", "body");
    let post = async |at: Time, over| {
        let recording = Recording {
            workspace: workspace.uid.clone(),
            request: request.clone(),
            over,
            at,
        };
        append(&table, &workspace, &session, &["hello".to_owned()], Some(recording)).await
    };
    let last = async || table.session_state(&session.uid).await.unwrap().unwrap().last_seq;
    post(START, None).await.unwrap();
    assert!(post(START, None).await.unwrap_err().is_condition());
    assert_eq!(last().await, Seq(1));
    let record = table.request_record(&workspace.uid, &request).await.unwrap().unwrap();
    assert!(record.counts(START + DAY / 2) && record.is_of(&workspace.uid, &request));
    // Still there, since time to live deletes late, but passed over.
    assert!(!record.counts(START + DAY));
    post(START + DAY, Some(record.clone())).await.unwrap();
    assert_eq!(last().await, Seq(2));
    assert!(
        post(START + DAY, Some(record)).await.unwrap_err().is_condition(),
        "written over once"
    );
}

pub async fn an_erased_session_leaves_nothing(client: &Client) {
    let table = table(client);
    let workspace = workspace(&table).await;
    let before = scan(client).await.len();
    let session = session(&table, &workspace).await;
    for n in 0..60 {
        append(&table, &workspace, &session, &[format!("message {n}")], None)
            .await
            .unwrap();
    }
    let begun = table
        .begin_session_erasure(&workspace.uid, &session_name(), START)
        .await;
    let erasure = begun.unwrap().unwrap();
    let late = append(&table, &workspace, &session, &["too late".to_owned()], None).await;
    assert!(late.unwrap_err().is_condition());
    let part = erasure.session.unwrap();
    assert!(table.erase_session(&workspace.uid, &part, &|| true).await.unwrap());
    let left = scan(client).await;
    let of_session = |item: &&super::Item| format!("{item:?}").contains(session.uid.as_str());
    assert_eq!(left.iter().filter(of_session).count(), 0);
    // The counter of the workspace's list of sessions stays.
    assert_eq!(left.len(), before + 1);
}
