//! Dreams: requested, claimed, run, cancelled, undone, read.

use reverie_aws::table::runs::Run;
use reverie_core::dreaming::Event;
use reverie_core::id::{RepresentationId, RunId};
use reverie_core::run::Status;

use crate::letters::{DreamLetter, parse};
use crate::machine::{Advance, Caller};
use crate::{Engine, EngineError, Result};

pub(crate) mod read;
mod recall;
pub(crate) mod request;
mod run;
mod undo;

pub(crate) use run::phases;

impl Engine {
    /// Handles one message of the dream queue. An error leaves everything in place for the next delivery.
    pub async fn handle_dream(&self, body: &str) -> Result<()> {
        match parse(body)? {
            DreamLetter::Look {
                representation,
                generation,
            } => self.look(&representation, Some(generation)).await,
            DreamLetter::Start { run } | DreamLetter::Resume { run } => self.start_or_resume(&run).await,
        }
    }

    /// Looks at a representation: claims and runs a dream that is due, goes on with one that was left, or does nothing.
    pub(crate) async fn look(&self, id: &RepresentationId, generation: Option<u64>) -> Result<()> {
        let fresh_run = RunId::new(id, self.now(), &[&self.ids.uid()]);
        let event = Event::Look { generation, fresh_run };
        let Advance::Done(advanced) = self.advance(id, &event, &[], Caller::Handler).await? else {
            return Ok(());
        };
        if let Some(claimed) = advanced.claimed {
            return Box::pin(self.execute(claimed)).await;
        }
        match &advanced.representation.state.running {
            Some(running) => self.resume(&running.run).await,
            None => Ok(()),
        }
    }

    async fn start_or_resume(&self, id: &RunId) -> Result<()> {
        let Some(run) = self.table.run(id).await? else {
            return Ok(());
        };
        match run.status {
            Status::Pending => {
                let event = Event::Start { run: id.clone() };
                match self
                    .advance(&run.representation(), &event, &[], Caller::Handler)
                    .await?
                {
                    Advance::Done(advanced) => match advanced.claimed {
                        Some(claimed) => Box::pin(self.execute(claimed)).await,
                        None => Ok(()),
                    },
                    Advance::Lost | Advance::Gone => Ok(()),
                }
            }
            Status::Running => self.resume(id).await,
            Status::Completed | Status::Failed | Status::Cancelled => Ok(()),
        }
    }

    /// Goes on with a run whose executor is gone. While its lease holds, somebody else may be at it: the message waits.
    pub(crate) async fn resume(&self, id: &RunId) -> Result<()> {
        let Some(run) = self.table.run(id).await? else {
            return Ok(());
        };
        if run.status != Status::Running {
            return Ok(());
        }
        let now = self.now();
        if let Some(until) = run.lease_until.filter(|until| *until > now) {
            return Err(EngineError::Later(until.since(now)));
        }
        match self.table.take_over(&run, now).await? {
            Some(taken) => Box::pin(self.execute(taken)).await,
            None => Ok(()),
        }
    }

    /// Sends again what must have got lost: the message of a pending run, or one to go on with a running one.
    pub(crate) async fn nudge(&self, run: &Run, again: &str) -> Result<()> {
        match run.status {
            Status::Pending => self.send_start(&run.id, run.fence, Some(again)).await,
            Status::Running => self.send_resume(run, Some(again)).await,
            Status::Completed | Status::Failed | Status::Cancelled => Ok(()),
        }
    }
}
