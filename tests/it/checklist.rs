//! The statements of the seeds, through the real router: one test each, named after the row of the checklist. Rules of
//! `design.md` that have no row of their own stand beside the rows they belong to.

mod concurrency;
mod dreaming;
mod erasure;
mod history;
mod packages;
mod repair;
mod scheduling;
mod settings;
mod timing;
mod undo;
mod why_not;

pub(crate) use crate::rig::steps::*;
