//! Messages of a session: post, list, get, update.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use http::StatusCode;
use reverie_aws::table::lists::{Page, Paging, Sieve};
use reverie_aws::table::sessions::Session;
use reverie_aws::table::workspaces::{Given, Workspace};
use reverie_core::filter::{Column, Filter, Schema};
use reverie_core::id::{MessageId, PeerName, Seq, SessionName, WorkspaceName};
use reverie_core::message::Message;
use reverie_engine::NewMessage;
use serde_json::json;

use crate::app::App;
use crate::call::Call;
use crate::error::Error;
use crate::filter;
use crate::filter::rows::MessageRow;
use crate::given;
use crate::page::{Body, paging};
use crate::validate::{Node, Problems};
use crate::wire::{MessageBody, Place};

/// The most messages of one POST.
const MAX_MESSAGES: usize = 100;
/// The most characters of a message.
const MAX_CONTENT: usize = 25_000;
/// How many messages are held at once while a session is gone through: 100 kB each at most.
const PART: usize = 200;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route(
            "/v3/workspaces/{workspace_id}/sessions/{session_id}/messages",
            post(create),
        )
        .route(
            "/v3/workspaces/{workspace_id}/sessions/{session_id}/messages/",
            post(create),
        )
        .route(
            "/v3/workspaces/{workspace_id}/sessions/{session_id}/messages/list",
            post(list),
        )
        .route(
            "/v3/workspaces/{workspace_id}/sessions/{session_id}/messages/{message_id}",
            get(one).put(update),
        )
        .route(
            "/v3/workspaces/{workspace_id}/sessions/{session_id}/messages/{message_id}/retry",
            post(retry),
        )
}

fn new_message(node: &Node, problems: &mut Problems, instruction_tokens: u32) -> Option<NewMessage> {
    let content = node.at("content").text(problems, 0, MAX_CONTENT);
    let peer = node.at("peer_id").name(problems, PeerName::parse);
    let created_at = node.at("created_at").given();
    let metadata = given::metadata(node, problems).unwrap_or_default();
    let configuration = given::message(node, problems, instruction_tokens);
    let created_at = created_at.and_then(|node| node.time(problems));
    Some(NewMessage {
        peer: peer?,
        content: content?,
        metadata,
        configuration,
        created_at,
    })
}

async fn create(State(app): State<App>, call: Call) -> Result<Response, Error> {
    let mut problems = Problems::default();
    let workspace = call.new_name(&mut problems, "workspace_id", WorkspaceName::parse);
    let session = call.new_name(&mut problems, "session_id", SessionName::parse);
    let body = call.body();
    let nodes = body
        .required(&mut problems)
        .at("messages")
        .list(&mut problems, 1, MAX_MESSAGES);
    // All of them are read before the first that is wrong ends it: the answer names every problem.
    let messages: Vec<Option<_>> = nodes
        .into_iter()
        .map(|node| {
            node.fields(&mut problems)
                .then(|| new_message(&node, &mut problems, app.config.instruction_tokens))
                .flatten()
        })
        .collect();
    let messages = messages.into_iter().collect::<Option<Vec<_>>>();
    let request = call.keyed(&mut problems, &["messages", call.text("session_id")], &body);
    let ((workspace, session), messages) = problems.finish(workspace.zip(session).zip(messages))?;
    let posted = app
        .engine
        .post_messages(&workspace, &session, messages, request.as_ref())
        .await?;
    let place = Place {
        workspace: &posted.workspace.name,
        session: &posted.session.name,
        uid: &posted.session.uid,
    };
    let messages: Vec<_> = posted
        .messages
        .into_iter()
        .map(|message| MessageBody::of(message, place))
        .collect();
    Ok((StatusCode::CREATED, Json(messages)).into_response())
}

/// Workspace and session that the path names.
async fn place(app: &App, call: &Call) -> Result<(Workspace, Session), Error> {
    let workspace = app.workspace(call).await?;
    let session = app.session(&workspace, &call.session()?).await?;
    Ok((workspace, session))
}

/// The sequence numbers of a page of `total` messages, as (first, last); none when the page is beyond the end.
fn range(total: u64, paging: Paging) -> Option<(Seq, Seq)> {
    let offset = u64::try_from(paging.offset()).ok()?;
    let size = u64::try_from(paging.size).ok()?;
    let left = total.checked_sub(offset).filter(|left| *left > 0)?;
    let count = size.min(left);
    Some(if paging.reverse {
        (Seq(left - count + 1), Seq(left))
    } else {
        (Seq(offset + 1), Seq(offset + count))
    })
}

async fn list(State(app): State<App>, call: Call) -> Result<Response, Error> {
    let mut problems = Problems::default();
    let body = call.body();
    let filters = filter::read(&body.optional(&mut problems), &mut problems);
    let paging = paging(&call.query(), &mut problems);
    problems.finish(Some(()))?;
    let filter = filter::parse(filters, &Schema::MESSAGE)?;
    let (workspace, session) = self::place(&app, &call).await?;
    let place = Place {
        workspace: &workspace.name,
        session: &session.name,
        uid: &session.uid,
    };
    let here = filter.allows(Column::Workspace, workspace.name.as_str())
        && filter.allows(Column::Session, session.name.as_str());
    let page = if filter == Filter::default() {
        let total = last_seq(&app, &session).await?;
        let items = run(&app, &session, total, paging).await?;
        let total = usize::try_from(total).unwrap_or(usize::MAX);
        Page { items, total }
    } else if here {
        matching(&app, &session, paging, |message| {
            filter.matches(&MessageRow(message, place))
        })
        .await?
    } else {
        paging.of(Vec::new())
    };
    Ok(Body::of(page.map(|message| MessageBody::of(message, place)), paging).into_response())
}

/// The newest message of a session: how many there are.
async fn last_seq(app: &App, session: &Session) -> Result<u64, Error> {
    let state = app.table.session_state(&session.uid).await?;
    Ok(state.map_or(0, |state| state.last_seq.0))
}

/// A page of all messages, of which there are `total`.
async fn run(app: &App, session: &Session, total: u64, paging: Paging) -> Result<Vec<Message>, Error> {
    let Some((first, last)) = range(total, paging) else {
        return Ok(Vec::new());
    };
    let mut messages = app.table.messages(&session.uid, first, last).await?;
    if paging.reverse {
        messages.reverse();
    }
    Ok(messages)
}

/// A page of the messages that are wanted. Goes through the whole session, a part at a time.
async fn matching(
    app: &App,
    session: &Session,
    paging: Paging,
    wanted: impl Fn(&Message) -> bool,
) -> Result<Page<Message>, Error> {
    let total = last_seq(app, session).await?;
    let mut sieve = Sieve::new(paging);
    let mut part = Paging {
        page: 1,
        size: PART,
        reverse: paging.reverse,
    };
    while range(total, part).is_some() {
        let messages = run(app, session, total, part).await?;
        messages
            .into_iter()
            .filter(&wanted)
            .for_each(|message| sieve.offer(message));
        part.page += 1;
    }
    Ok(sieve.page())
}

fn no_message(id: &str) -> Error {
    Error::not_found(format!("Message with ID {id} not found"))
}

async fn read(app: &App, call: &Call) -> Result<(Workspace, Session, Message), Error> {
    let (workspace, session) = place(app, call).await?;
    let id = call.text("message_id");
    let seq = MessageId::seq_in(&session.uid, id).ok_or_else(|| no_message(id))?;
    let message = app.table.message(&session.uid, seq).await?;
    let message = message.ok_or_else(|| no_message(id))?;
    Ok((workspace, session, message))
}

fn shown(workspace: &Workspace, session: &Session, message: Message) -> Json<MessageBody> {
    let place = Place {
        workspace: &workspace.name,
        session: &session.name,
        uid: &session.uid,
    };
    Json(MessageBody::of(message, place))
}

async fn one(State(app): State<App>, call: Call) -> Result<Json<MessageBody>, Error> {
    let (workspace, session, message) = read(&app, &call).await?;
    Ok(shown(&workspace, &session, message))
}

async fn update(State(app): State<App>, call: Call) -> Result<Json<MessageBody>, Error> {
    let mut problems = Problems::default();
    let body = call.body();
    let given = Given {
        metadata: given::metadata(&body.required(&mut problems), &mut problems),
        configuration: None,
    };
    problems.finish(Some(()))?;
    given.check_size()?;
    let (workspace, session, mut message) = read(&app, &call).await?;
    if let Some(metadata) = given.metadata {
        let set = app.table.set_message_metadata(&session.uid, message.seq, &metadata);
        if !set.await? {
            return Err(Error::no_session(session.name.as_str(), workspace.name.as_str()));
        }
        message.metadata = metadata;
    }
    Ok(shown(&workspace, &session, message))
}

/// Another try at a message that could not be derived from.
async fn retry(State(app): State<App>, call: Call) -> Result<Response, Error> {
    let (workspace, session, message) = read(&app, &call).await?;
    let id = MessageId::of(&session.uid, message.seq);
    if app.engine.retry_message(&workspace, &session, message.seq).await? {
        Ok((StatusCode::ACCEPTED, Json(json!({ "id": id }))).into_response())
    } else {
        let detail = format!("Message {id} has not failed");
        Err(Error::refused(StatusCode::CONFLICT, detail))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_messages_is_a_range_of_sequence_numbers() {
        let of = |total, page, size, reverse| {
            range(total, Paging { page, size, reverse }).map(|(first, last)| (first.0, last.0))
        };
        assert_eq!(of(5, 1, 2, false), Some((1, 2)));
        assert_eq!(of(5, 3, 2, false), Some((5, 5)));
        assert_eq!(of(5, 4, 2, false), None);
        assert_eq!(of(5, 1, 2, true), Some((4, 5)));
        assert_eq!(of(5, 3, 2, true), Some((1, 1)));
        assert_eq!(of(0, 1, 50, true), None);
        assert_eq!(of(5, usize::MAX, 100, false), None);
    }
}
