//! What the answers hold: exactly the contract's keys.

use reverie_aws::table::lists::Page;
use reverie_aws::table::members::MemberConfig;
use reverie_aws::table::peers::Peer;
use reverie_aws::table::sessions::Session;
use reverie_aws::table::summaries::StoredSummary;
use reverie_aws::table::workspaces::Workspace;
use reverie_core::conclusion::{CardEntry, Conclusion};
use reverie_core::id::{MessageId, PeerName, SessionName, SessionUid, WorkspaceName};
use reverie_core::message::Message;
use reverie_core::time::Time;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::given;

/// A time in the wire's form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At(pub(crate) Time);

impl Serialize for At {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct WorkspaceBody {
    id: WorkspaceName,
    metadata: Map<String, Value>,
    configuration: Map<String, Value>,
    created_at: At,
}

impl From<Workspace> for WorkspaceBody {
    fn from(workspace: Workspace) -> Self {
        Self {
            id: workspace.name,
            metadata: workspace.metadata,
            configuration: given::shown(&workspace.configuration),
            created_at: At(workspace.created_at),
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct PeerBody {
    id: PeerName,
    workspace_id: WorkspaceName,
    created_at: At,
    metadata: Map<String, Value>,
    configuration: Map<String, Value>,
}

impl PeerBody {
    pub(crate) fn of(peer: Peer, workspace: &WorkspaceName) -> Self {
        Self {
            id: peer.name,
            workspace_id: workspace.clone(),
            created_at: At(peer.created_at),
            metadata: peer.metadata,
            configuration: peer.configuration,
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct SessionBody {
    id: SessionName,
    is_active: bool,
    workspace_id: WorkspaceName,
    metadata: Map<String, Value>,
    configuration: Map<String, Value>,
    created_at: At,
}

impl SessionBody {
    pub(crate) fn of(session: Session, workspace: &WorkspaceName) -> Self {
        Self {
            id: session.name,
            is_active: session.is_active,
            workspace_id: workspace.clone(),
            metadata: session.metadata,
            configuration: given::shown(&session.configuration),
            created_at: At(session.created_at),
        }
    }

    pub(crate) fn page(sessions: Page<Session>, workspace: &WorkspaceName) -> Page<Self> {
        sessions.map(|session| Self::of(session, workspace))
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct MemberConfigBody {
    observe_me: Option<bool>,
    observe_others: Option<bool>,
}

impl From<MemberConfig> for MemberConfigBody {
    fn from(config: MemberConfig) -> Self {
        Self {
            observe_me: config.observe_me,
            observe_others: config.observe_others,
        }
    }
}

/// A session as its messages name it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub(crate) workspace: &'a WorkspaceName,
    pub(crate) session: &'a SessionName,
    pub(crate) uid: &'a SessionUid,
}

#[derive(Debug, Serialize)]
pub(crate) struct MessageBody {
    id: MessageId,
    content: String,
    peer_id: PeerName,
    session_id: SessionName,
    metadata: Map<String, Value>,
    created_at: At,
    workspace_id: WorkspaceName,
    token_count: u32,
}

impl MessageBody {
    pub(crate) fn of(message: Message, place: Place) -> Self {
        Self {
            id: MessageId::of(place.uid, message.seq),
            content: message.content,
            peer_id: message.peer,
            session_id: place.session.clone(),
            metadata: message.metadata,
            created_at: At(message.created_at),
            workspace_id: place.workspace.clone(),
            token_count: message.tokens,
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct SummaryBody {
    content: String,
    message_id: MessageId,
    summary_type: &'static str,
    created_at: At,
    token_count: u32,
}

impl SummaryBody {
    pub(crate) fn of(summary: StoredSummary, session: &SessionUid) -> Self {
        Self {
            content: summary.content,
            message_id: MessageId::of(session, summary.end),
            summary_type: summary.kind.as_str(),
            created_at: At(summary.at),
            token_count: summary.tokens,
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct SummariesBody {
    pub(crate) id: SessionName,
    pub(crate) short_summary: Option<SummaryBody>,
    pub(crate) long_summary: Option<SummaryBody>,
}

#[derive(Debug, Serialize)]
pub(crate) struct SessionContextBody {
    pub(crate) id: SessionName,
    pub(crate) messages: Vec<MessageBody>,
    pub(crate) summary: Option<SummaryBody>,
    pub(crate) peer_representation: Option<String>,
    pub(crate) peer_card: Option<Vec<String>>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ConclusionBody {
    id: String,
    content: String,
    observer_id: PeerName,
    observed_id: PeerName,
    session_id: Option<SessionName>,
    level: &'static str,
    created_at: At,
    source_ids: Option<Vec<String>>,
    times_derived: u32,
}

impl ConclusionBody {
    pub(crate) fn of(conclusion: Conclusion, observer: &PeerName, observed: &PeerName) -> Self {
        let sources: Vec<_> = conclusion.sources.iter().map(ToString::to_string).collect();
        Self {
            id: conclusion.id.to_string(),
            content: conclusion.content,
            observer_id: observer.clone(),
            observed_id: observed.clone(),
            session_id: conclusion.session.map(|session| session.name),
            level: conclusion.level.as_str(),
            created_at: At(conclusion.created_at),
            source_ids: (!sources.is_empty()).then_some(sources),
            times_derived: conclusion.times_derived,
        }
    }
}

/// A peer card's texts, as far as there is a card.
#[derive(Debug, Serialize)]
pub(crate) struct CardBody {
    peer_card: Option<Vec<String>>,
}

impl CardBody {
    pub(crate) fn of(entries: Option<Vec<CardEntry>>) -> Self {
        Self {
            peer_card: entries.map(card_texts),
        }
    }
}

pub(crate) fn card_texts(entries: Vec<CardEntry>) -> Vec<String> {
    entries.into_iter().map(|entry| entry.text).collect()
}

#[derive(Debug, Serialize)]
pub(crate) struct RepresentationBody {
    pub(crate) representation: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct PeerContextBody {
    pub(crate) peer_id: PeerName,
    pub(crate) target_id: PeerName,
    pub(crate) representation: String,
    pub(crate) peer_card: Option<Vec<String>>,
}
