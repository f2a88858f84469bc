//! What a session has been about: its summaries, and as much of it as fits into a model's context.

use std::collections::BTreeSet;

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use reverie_aws::table::sessions::Session;
use reverie_aws::table::summaries::StoredSummary;
use reverie_aws::table::workspaces::Workspace;
use reverie_core::id::{PeerName, RepresentationId, Seq};
use reverie_core::message::Message;
use reverie_core::text::estimate_tokens;

use super::representation::Recall;
use crate::app::App;
use crate::call::Call;
use crate::error::Error;
use crate::validate::{Node, Problems};
use crate::wire::{MessageBody, Place, SessionContextBody, SummariesBody, SummaryBody, card_texts};

/// The most tokens of a context, and what it has unless asked otherwise.
const MAX_TOKENS: u32 = 100_000;
/// The share of a context that a summary may have, in percent.
const SUMMARY_SHARE: u64 = 40;
/// How many messages are read at a time.
const MESSAGES: u64 = 100;
/// The most bytes of messages in a context: white space has bytes, and no tokens.
const MESSAGE_BYTES: usize = 4_000_000;
/// What a message has beside its content and metadata, in bytes of JSON, generously.
const ENVELOPE_BYTES: usize = 1_500;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route(
            "/v3/workspaces/{workspace_id}/sessions/{session_id}/summaries",
            get(summaries),
        )
        .route(
            "/v3/workspaces/{workspace_id}/sessions/{session_id}/context",
            get(context),
        )
}

async fn summaries(State(app): State<App>, call: Call) -> Result<Json<SummariesBody>, Error> {
    let workspace = app.workspace(&call).await?;
    let session = app.session(&workspace, &call.session()?).await?;
    let [short, long] = app.table.summaries(&session.uid).await?;
    let shown = |summary: StoredSummary| SummaryBody::of(summary, &session.uid);
    Ok(Json(SummariesBody {
        short_summary: short.map(shown),
        long_summary: long.map(shown),
        id: session.name,
    }))
}

/// Of whom, and in whose eyes, a context is to show a representation.
struct Perspective {
    /// Observer and observed; `None` where no peer can have such a name: then nothing is known.
    pair: Option<(PeerName, PeerName)>,
    within_session: bool,
}

/// What is asked of a context.
struct Wanted {
    tokens: u32,
    summary: bool,
    perspective: Option<Perspective>,
    recall: Recall,
}

impl Wanted {
    fn read(query: &Node, problems: &mut Problems) -> Self {
        let tokens = query.at("tokens").given();
        let tokens = tokens.and_then(|node| node.integer(problems, 0, MAX_TOKENS.into()));
        let flag = |key, default, problems: &mut Problems| {
            let node = query.at(key).given();
            node.and_then(|node| node.flag(problems)).unwrap_or(default)
        };
        let summary = flag("summary", true, problems);
        let within_session = flag("limit_to_session", false, problems);
        let peer = |key, problems: &mut Problems| {
            let node = query.at(key).given();
            node.and_then(|node| node.text(problems, 0, usize::MAX))
        };
        let (target, perspective) = (peer("peer_target", problems), peer("peer_perspective", problems));
        if let (None, Some(_)) = (&target, &perspective) {
            let alone = query.at("peer_perspective");
            alone.refuse(problems, "peer_perspective must be given with peer_target");
        }
        for key in ["scope", "sessions"] {
            if let Some(given) = query.at(key).given() {
                given.refuse(problems, &format!("{key} is not offered"));
            }
        }
        let perspective = target.map(|target| {
            let observer = PeerName::parse(perspective.as_ref().unwrap_or(&target)).ok();
            Perspective {
                pair: observer.zip(PeerName::parse(&target).ok()),
                within_session,
            }
        });
        Self {
            tokens: tokens
                .and_then(|tokens| u32::try_from(tokens).ok())
                .unwrap_or(MAX_TOKENS),
            summary,
            perspective,
            recall: Recall::read(query, problems, false),
        }
    }
}

async fn context(State(app): State<App>, call: Call) -> Result<Json<SessionContextBody>, Error> {
    let mut problems = Problems::default();
    let wanted = Wanted::read(&call.query(), &mut problems);
    problems.finish(Some(()))?;
    let workspace = app.workspace(&call).await?;
    let session = app.session(&workspace, &call.session()?).await?;
    let mut left = wanted.tokens;
    let (peer_representation, peer_card) = match &wanted.perspective {
        Some(perspective) => known(&app, &workspace, &session, &wanted.recall, perspective, &mut left).await?,
        None => (None, None),
    };
    let summary = if wanted.summary {
        let room = u64::from(left) * SUMMARY_SHARE / 100;
        fitting(app.table.summaries(&session.uid).await?, room)
    } else {
        None
    };
    left -= summary.as_ref().map_or(0, |summary| summary.tokens);
    let messages = newest(&app, &session, left).await?;
    let place = Place {
        workspace: &workspace.name,
        session: &session.name,
        uid: &session.uid,
    };
    Ok(Json(SessionContextBody {
        messages: messages
            .into_iter()
            .map(|message| MessageBody::of(message, place))
            .collect(),
        summary: summary.map(|summary| SummaryBody::of(summary, &session.uid)),
        peer_representation,
        peer_card,
        id: session.name.clone(),
    }))
}

/// What is known of a peer, as far as it fits: the card whole or not at all, of the representation what stands first.
/// Inside one session there is no card: its entries do not say in which session they were learnt.
async fn known(
    app: &App,
    workspace: &Workspace,
    session: &Session,
    recall: &Recall,
    perspective: &Perspective,
    left: &mut u32,
) -> Result<(Option<String>, Option<Vec<String>>), Error> {
    let Some((observer, observed)) = &perspective.pair else {
        return Ok((Some(String::new()), None));
    };
    let representation = RepresentationId::of(&workspace.uid, observer, observed);
    let card = if perspective.within_session {
        None
    } else {
        app.table
            .card(&representation)
            .await?
            .map(|card| card_texts(card.entries))
    };
    let tokens = |card: &Vec<String>| card.iter().map(|entry| estimate_tokens(entry)).sum::<u32>();
    let card = card.filter(|card| tokens(card) <= *left);
    *left -= card.as_ref().map_or(0, tokens);
    let inside = perspective
        .within_session
        .then(|| BTreeSet::from([session.name.clone()]));
    let text = recall.text(app, &representation, inside.as_ref()).await?;
    let text = first_lines(&text, *left);
    *left -= estimate_tokens(text);
    Ok((Some(text.to_owned()), card))
}

/// The first lines of a text that together have at most so many tokens.
fn first_lines(text: &str, tokens: u32) -> &str {
    if estimate_tokens(text) <= tokens {
        return text;
    }
    let (mut used, mut end) = (0_u32, 0);
    for line in text.split_inclusive('\n') {
        used = used.saturating_add(estimate_tokens(line));
        if used > tokens {
            break;
        }
        end += line.len();
    }
    text[..end].trim_end()
}

/// The long summary when it fits and says more than the short one, else the short one when that fits.
fn fitting([short, long]: [Option<StoredSummary>; 2], room: u64) -> Option<StoredSummary> {
    let fits = |summary: &StoredSummary| u64::from(summary.tokens) <= room;
    let (short, long) = (short.filter(fits), long.filter(fits));
    match (short, long) {
        (Some(short), Some(long)) if long.tokens <= short.tokens => Some(short),
        (short, long) => long.or(short),
    }
}

/// As many of the newest messages as fit, in the order in which they came.
async fn newest(app: &App, session: &Session, tokens: u32) -> Result<Vec<Message>, Error> {
    let state = app.table.session_state(&session.uid).await?;
    let mut last = state.map_or(Seq(0), |state| state.last_seq);
    let (mut left, mut bytes) = (tokens, MESSAGE_BYTES);
    let mut newest = Vec::new();
    while last > Seq(0) {
        let first = Seq(last.0.saturating_sub(MESSAGES) + 1);
        for message in app.table.messages(&session.uid, first, last).await?.into_iter().rev() {
            let size = message.content.len()
                + message
                    .metadata
                    .values()
                    .map(|value| value.to_string().len())
                    .sum::<usize>();
            let (Some(tokens), Some(size)) = (
                left.checked_sub(message.tokens),
                bytes.checked_sub(size + ENVELOPE_BYTES),
            ) else {
                newest.reverse();
                return Ok(newest);
            };
            (left, bytes) = (tokens, size);
            newest.push(message);
        }
        last = Seq(first.0 - 1);
    }
    newest.reverse();
    Ok(newest)
}

#[cfg(test)]
mod tests {
    use reverie_core::summary::Kind;
    use reverie_core::time::Time;

    use super::*;

    fn summary(kind: Kind, tokens: u32) -> StoredSummary {
        StoredSummary {
            kind,
            content: String::new(),
            end: Seq(20),
            tokens,
            at: Time::from_seconds(0),
        }
    }

    #[test]
    fn the_longer_summary_that_fits_is_chosen() {
        let chosen = |short: Option<u32>, long: Option<u32>, room| {
            let both = [
                short.map(|tokens| summary(Kind::Short, tokens)),
                long.map(|tokens| summary(Kind::Long, tokens)),
            ];
            fitting(both, room).map(|summary| summary.kind)
        };
        assert_eq!(chosen(Some(10), Some(40), 40), Some(Kind::Long));
        assert_eq!(chosen(Some(10), Some(40), 39), Some(Kind::Short));
        assert_eq!(chosen(Some(10), Some(40), 9), None);
        assert_eq!(chosen(Some(50), Some(40), 50), Some(Kind::Short), "it covers more");
        assert_eq!(chosen(None, Some(40), 40), Some(Kind::Long));
        assert_eq!(chosen(None, None, 40), None);
    }

    #[test]
    fn a_representation_is_cut_between_lines() {
        let text = "## Explicit\none two\nthree four\n";
        assert_eq!(first_lines(text, 1000), text);
        let head = estimate_tokens("## Explicit");
        assert_eq!(first_lines(text, head + 2), "## Explicit\none two");
        assert_eq!(first_lines(text, head + 3), "## Explicit\none two");
        assert_eq!(first_lines(text, 0), "");
    }
}
