//! Queue messages: what a hint says, its group, and the state that its deduplication id names (`design.md` section 2).

use std::time::Duration;

use reverie_aws::table::erasure::Erasure;
use reverie_aws::table::runs::{Progress, Run};
use reverie_core::id::{RepresentationId, RunId, Seq, SessionName, SessionUid, WorkspaceName, WorkspaceUid};
use reverie_core::ports::{Letter, QueueName, Schedule};
use reverie_core::time::Time;
use serde::{Deserialize, Serialize};

use crate::{Engine, EngineError, Result};

/// How long a letter may take before the answer to a request goes out without it; the due index makes it good.
pub(crate) const WAKE_LIMIT: Duration = Duration::from_secs(2);

/// A message of the ingest queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum IngestLetter {
    /// A session has messages past its cursor.
    Session {
        workspace: WorkspaceName,
        session: SessionName,
        uid: SessionUid,
    },
    /// A representation's timer is to be set.
    Representation { id: RepresentationId },
    /// A session, or a whole workspace, is to be deleted.
    Erase {
        workspace: WorkspaceUid,
        session: Option<SessionUid>,
    },
}

/// A message of the dream queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DreamLetter {
    /// A timer fired, or should have: look. The body of a schedule, so it names nothing but the state.
    Look {
        representation: RepresentationId,
        generation: u64,
    },
    /// A pending run is to be started.
    Start { run: RunId },
    /// A running run is to be gone on with.
    Resume { run: RunId },
}

pub(crate) fn parse<'a, T: Deserialize<'a>>(body: &'a str) -> Result<T> {
    serde_json::from_str(body).map_err(EngineError::Letter)
}

fn body(letter: &impl Serialize) -> Result<String> {
    serde_json::to_string(letter).map_err(EngineError::Letter)
}

/// A schedule's name: the representation and the generation.
pub(crate) fn schedule_name(representation: &RepresentationId, generation: u64) -> String {
    format!("{representation}.{generation}")
}

impl Engine {
    /// Wakes ingest for a session that has messages up to `last`. `again` tells re-sends apart, in a group of their own.
    pub(crate) async fn wake(
        &self,
        workspace: &WorkspaceName,
        session: &SessionName,
        uid: &SessionUid,
        last: Seq,
        again: Option<&str>,
    ) -> Result<()> {
        let letter = IngestLetter::Session {
            workspace: workspace.clone(),
            session: session.clone(),
            uid: uid.clone(),
        };
        self.send(
            QueueName::Ingest,
            uid.as_str(),
            &format!("{uid}.{last}"),
            again,
            &letter,
        )
        .await
    }

    /// Wakes ingest to set a representation's timer, as its state of this revision says.
    pub(crate) async fn wake_timer(&self, id: &RepresentationId, revision: u64) -> Result<()> {
        let letter = IngestLetter::Representation { id: id.clone() };
        self.send(
            QueueName::Ingest,
            id.as_str(),
            &format!("{id}.{revision}"),
            None,
            &letter,
        )
        .await
    }

    /// Asks ingest to go on with a deletion, as its job stands.
    pub(crate) async fn send_erasure(&self, erasure: &Erasure, again: Option<&str>) -> Result<()> {
        let letter = IngestLetter::Erase {
            workspace: erasure.workspace.clone(),
            session: erasure.session.as_ref().map(|session| session.uid.clone()),
        };
        let of = erasure
            .session
            .as_ref()
            .map_or(erasure.workspace.as_str(), |session| session.uid.as_str());
        let state = format!("{of}.erase.{}", erasure.handed_on);
        self.send(QueueName::Ingest, of, &state, again, &letter).await
    }

    /// Asks the executor to look at a representation now.
    pub(crate) async fn send_look(&self, id: &RepresentationId, generation: u64, again: Option<&str>) -> Result<()> {
        let letter = DreamLetter::Look {
            representation: id.clone(),
            generation,
        };
        self.send(
            QueueName::Dreams,
            id.as_str(),
            &format!("{id}.{generation}"),
            again,
            &letter,
        )
        .await
    }

    /// Asks the executor to start a pending run, as the representation's state of this revision says.
    pub(crate) async fn send_start(&self, run: &RunId, revision: u64, again: Option<&str>) -> Result<()> {
        let letter = DreamLetter::Start { run: run.clone() };
        self.send(
            QueueName::Dreams,
            run.representation().as_str(),
            &format!("{run}.{revision}"),
            again,
            &letter,
        )
        .await
    }

    /// Asks the executor to go on with a run from where it stands.
    pub(crate) async fn send_resume(&self, run: &Run, again: Option<&str>) -> Result<()> {
        let letter = DreamLetter::Resume { run: run.id.clone() };
        let Progress {
            turn, operation, step, ..
        } = run.progress;
        let state = format!("{}.{}.{turn}.{operation}.{step}", run.id, run.fence);
        self.send(QueueName::Dreams, run.representation().as_str(), &state, again, &letter)
            .await
    }

    /// Has ingest go on with a session whose slice is over, from where it `stands`: in the same group, so that it is one
    /// at a time.
    pub(crate) async fn wake_on(
        &self,
        workspace: &WorkspaceName,
        session: &SessionName,
        uid: &SessionUid,
        stands: &str,
    ) -> Result<()> {
        let letter = IngestLetter::Session {
            workspace: workspace.clone(),
            session: session.clone(),
            uid: uid.clone(),
        };
        self.send(
            QueueName::Ingest,
            uid.as_str(),
            &format!("{uid}.c{stands}"),
            None,
            &letter,
        )
        .await
    }

    /// A re-send has a fresh group, so that a stuck group never blocks the repair, and its own deduplication id.
    async fn send(
        &self,
        queue: QueueName,
        group: &str,
        deduplication: &str,
        again: Option<&str>,
        letter: &impl Serialize,
    ) -> Result<()> {
        let suffixed = |text: &str| again.map_or_else(|| text.to_owned(), |again| format!("{text}.{again}"));
        let letter = Letter {
            group: suffixed(group),
            deduplication: suffixed(deduplication),
            body: body(letter)?,
        };
        Ok(self.queues.send(queue, letter).await?)
    }

    /// Creates the schedule of a representation's timer.
    pub(crate) async fn schedule(&self, id: &RepresentationId, generation: u64, at: Time) -> Result<()> {
        let schedule = Schedule {
            name: schedule_name(id, generation),
            at,
            queue: QueueName::Dreams,
            group: id.to_string(),
            body: body(&DreamLetter::Look {
                representation: id.clone(),
                generation,
            })?,
        };
        Ok(self.schedules.create(schedule).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_canonical_and_carry_only_ids() {
        let look = DreamLetter::Look {
            representation: RepresentationId::trusted("r"),
            generation: 7,
        };
        assert_eq!(
            serde_json::to_string(&look).ok().as_deref(),
            Some(r#"{"look":{"representation":"r","generation":7}}"#)
        );
        assert_eq!(
            parse::<DreamLetter>(r#"{"look":{"representation":"r","generation":7}}"#).ok(),
            Some(look)
        );
        assert!(parse::<DreamLetter>("{}").is_err());
    }

    #[test]
    fn schedule_names_fit_the_service() {
        let name = schedule_name(&RepresentationId::trusted("x".repeat(20)), u64::MAX);
        assert!(name.len() <= 64, "{name}");
        assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b)));
    }
}
