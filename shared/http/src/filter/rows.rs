//! The resources as filters see them.

use reverie_aws::table::peers::Peer;
use reverie_aws::table::representations::Representation;
use reverie_aws::table::sessions::Session;
use reverie_aws::table::workspaces::Workspace;
use reverie_core::conclusion::Conclusion;
use reverie_core::filter::{Column, Datum, Row};
use reverie_core::id::{PeerName, WorkspaceName};
use reverie_core::message::Message;

use crate::wire::Place;

/// A workspace.
pub(crate) struct WorkspaceRow<'a>(pub(crate) &'a Workspace);

impl Row for WorkspaceRow<'_> {
    fn value(&self, column: Column) -> Datum<'_> {
        match column {
            Column::Id => Datum::Text(self.0.name.as_str()),
            Column::CreatedAt => Datum::Time(self.0.created_at),
            Column::Metadata => Datum::Metadata(&self.0.metadata),
            _ => Datum::Null,
        }
    }
}

/// A peer of a workspace.
pub(crate) struct PeerRow<'a>(pub(crate) &'a Peer, pub(crate) &'a WorkspaceName);

impl Row for PeerRow<'_> {
    fn value(&self, column: Column) -> Datum<'_> {
        match column {
            Column::Id => Datum::Text(self.0.name.as_str()),
            Column::Workspace => Datum::Text(self.1.as_str()),
            Column::CreatedAt => Datum::Time(self.0.created_at),
            Column::Metadata => Datum::Metadata(&self.0.metadata),
            _ => Datum::Null,
        }
    }
}

/// A session of a workspace.
pub(crate) struct SessionRow<'a>(pub(crate) &'a Session, pub(crate) &'a WorkspaceName);

impl Row for SessionRow<'_> {
    fn value(&self, column: Column) -> Datum<'_> {
        match column {
            Column::Id => Datum::Text(self.0.name.as_str()),
            Column::Workspace => Datum::Text(self.1.as_str()),
            Column::IsActive => Datum::Flag(self.0.is_active),
            Column::CreatedAt => Datum::Time(self.0.created_at),
            Column::Metadata => Datum::Metadata(&self.0.metadata),
            _ => Datum::Null,
        }
    }
}

/// A message of a session.
pub(crate) struct MessageRow<'a>(pub(crate) &'a Message, pub(crate) Place<'a>);

impl Row for MessageRow<'_> {
    fn value(&self, column: Column) -> Datum<'_> {
        match column {
            Column::Workspace => Datum::Text(self.1.workspace.as_str()),
            Column::Session => Datum::Text(self.1.session.as_str()),
            Column::Peer => Datum::Text(self.0.peer.as_str()),
            Column::Tokens => Datum::Number(self.0.tokens.into()),
            Column::CreatedAt => Datum::Time(self.0.created_at),
            Column::Metadata => Datum::Metadata(&self.0.metadata),
            _ => Datum::Null,
        }
    }
}

/// The columns that all conclusions of a representation share.
pub(crate) const SHARED: &[Column] = &[Column::Workspace, Column::Observer, Column::Observed];

/// What all conclusions of a representation have in common.
#[derive(Clone, Copy)]
pub(crate) struct Pair<'a> {
    pub(crate) workspace: &'a WorkspaceName,
    pub(crate) observer: &'a PeerName,
    pub(crate) observed: &'a PeerName,
}

impl<'a> Pair<'a> {
    pub(crate) fn of(representation: &'a Representation) -> Self {
        Self {
            workspace: &representation.workspace,
            observer: &representation.observer,
            observed: &representation.observed,
        }
    }
}

impl Row for Pair<'_> {
    fn value(&self, column: Column) -> Datum<'_> {
        match column {
            Column::Workspace => Datum::Text(self.workspace.as_str()),
            Column::Observer => Datum::Text(self.observer.as_str()),
            Column::Observed => Datum::Text(self.observed.as_str()),
            _ => Datum::Null,
        }
    }
}

/// A conclusion of a representation. It has no metadata.
pub(crate) struct ConclusionRow<'a>(pub(crate) &'a Conclusion, pub(crate) Pair<'a>);

impl Row for ConclusionRow<'_> {
    fn value(&self, column: Column) -> Datum<'_> {
        let conclusion = self.0;
        match column {
            Column::Id => Datum::Text(conclusion.id.as_str()),
            Column::Session => {
                let session = conclusion.session.as_ref();
                session.map_or(Datum::Null, |session| Datum::Text(session.name.as_str()))
            }
            Column::Content => Datum::Text(&conclusion.content),
            Column::Level => Datum::Text(conclusion.level.as_str()),
            Column::TimesDerived => Datum::Number(conclusion.times_derived.into()),
            Column::Sources if conclusion.sources.is_empty() => Datum::Null,
            Column::Sources => Datum::Ids(conclusion.sources.iter().map(AsRef::as_ref).collect()),
            Column::CreatedAt => Datum::Time(conclusion.created_at),
            shared => self.1.value(shared),
        }
    }
}
