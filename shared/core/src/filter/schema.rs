//! What can be filtered by: the columns of each resource, their types, and how a row gives its values.

use serde_json::{Map, Value};

use crate::conclusion::Level;
use crate::time::Time;

/// A column, whichever resource has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Column {
    /// The resource's own id: a name, or a conclusion's id.
    Id,
    /// The name of its workspace.
    Workspace,
    /// Who said a message.
    Peer,
    /// The name of the session it belongs to; the only column that may be null, apart from [`Column::Sources`].
    Session,
    /// Whose view a conclusion is.
    Observer,
    /// Of whom.
    Observed,
    /// A conclusion's text.
    Content,
    /// A conclusion's level.
    Level,
    /// How often a conclusion was derived.
    TimesDerived,
    /// The ids of the conclusions that a conclusion follows from; null when there are none.
    Sources,
    /// A message's tokens.
    Tokens,
    /// When it was created.
    CreatedAt,
    /// Whether a session takes messages.
    IsActive,
    /// Users' metadata.
    Metadata,
}

/// What a column holds, and so what it may be compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    /// Text of a closed set of words.
    Word,
    Number,
    Time,
    Flag,
    Metadata,
    /// A value within metadata, of whatever type each row has there.
    Field,
    Ids,
}

impl Column {
    pub(super) const fn kind(self) -> Kind {
        match self {
            Self::Id
            | Self::Workspace
            | Self::Peer
            | Self::Session
            | Self::Observer
            | Self::Observed
            | Self::Content => Kind::Text,
            Self::Level => Kind::Word,
            Self::TimesDerived | Self::Tokens => Kind::Number,
            Self::CreatedAt => Kind::Time,
            Self::IsActive => Kind::Flag,
            Self::Metadata => Kind::Metadata,
            Self::Sources => Kind::Ids,
        }
    }

    /// The words that the column can hold, when they are a closed set.
    pub(super) fn words(self) -> Vec<&'static str> {
        match self {
            Self::Level => Level::ALL.map(Level::as_str).to_vec(),
            _ => Vec::new(),
        }
    }
}

/// The columns of a resource.
#[derive(Clone, Copy, Debug)]
pub struct Schema {
    /// The resource as refusals name it.
    pub(super) model: &'static str,
    columns: &'static [(&'static str, Column)],
}

impl Schema {
    /// Workspaces.
    pub const WORKSPACE: Self = Self {
        model: "Workspace",
        columns: &[
            ("id", Column::Id),
            ("created_at", Column::CreatedAt),
            ("metadata", Column::Metadata),
        ],
    };
    /// Peers.
    pub const PEER: Self = Self {
        model: "Peer",
        columns: &[
            ("id", Column::Id),
            ("workspace_id", Column::Workspace),
            ("created_at", Column::CreatedAt),
            ("metadata", Column::Metadata),
        ],
    };
    /// Sessions.
    pub const SESSION: Self = Self {
        model: "Session",
        columns: &[
            ("id", Column::Id),
            ("workspace_id", Column::Workspace),
            ("is_active", Column::IsActive),
            ("created_at", Column::CreatedAt),
            ("metadata", Column::Metadata),
        ],
    };
    /// Messages.
    pub const MESSAGE: Self = Self {
        model: "Message",
        columns: &[
            ("workspace_id", Column::Workspace),
            ("session_id", Column::Session),
            ("peer_id", Column::Peer),
            ("token_count", Column::Tokens),
            ("created_at", Column::CreatedAt),
            ("metadata", Column::Metadata),
        ],
    };
    /// Conclusions, which Honcho's refusals call documents.
    pub const CONCLUSION: Self = Self {
        model: "Document",
        columns: &[
            ("id", Column::Id),
            ("workspace_id", Column::Workspace),
            ("session_id", Column::Session),
            ("observer_id", Column::Observer),
            ("observer", Column::Observer),
            ("observed_id", Column::Observed),
            ("observed", Column::Observed),
            ("content", Column::Content),
            ("level", Column::Level),
            ("times_derived", Column::TimesDerived),
            ("source_ids", Column::Sources),
            ("created_at", Column::CreatedAt),
            ("metadata", Column::Metadata),
        ],
    };

    pub(super) fn column(&self, name: &str) -> Option<Column> {
        let found = self.columns.iter().find(|(known, _)| *known == name);
        found.map(|(_, column)| *column)
    }

    /// The names by which a client may filter.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.columns.iter().map(|(name, _)| *name)
    }
}

/// A column's value in a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Datum<'a> {
    /// Nothing.
    Null,
    /// Text.
    Text(&'a str),
    /// A count.
    Number(u64),
    /// A point in time.
    Time(Time),
    /// True or false.
    Flag(bool),
    /// Users' metadata.
    Metadata(&'a Map<String, Value>),
    /// Ids, at least one.
    Ids(Vec<&'a str>),
    /// A value within metadata, which may be JSON's null.
    Json(&'a Value),
}

/// Something that a filter decides about.
pub trait Row {
    /// The value of a column; [`Datum::Null`] for a column that it does not have.
    fn value(&self, column: Column) -> Datum<'_>;
}
