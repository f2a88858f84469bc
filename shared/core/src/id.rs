//! Ids: what users name, what we generate, and how a key carries them.
//!
//! Users' names may have 512 characters, so keys never hold them: they hold [`Digest`]s and random uids.
//! Ids that we hand out use the alphabet of the contract's ids (`[A-Za-z0-9_-]`), in ASCII order, so that ids of
//! one representation sort by the time at which they were made.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::time::Time;

/// The 64 characters of the contract's ids in ASCII order: encoding with them keeps the order of what is encoded.
const ALPHABET: &[u8; 64] = b"-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";

/// Encodes the lowest `chars * 6` bits of `value`, most significant first.
pub(crate) fn encode(value: u128, chars: usize) -> String {
    (0..chars)
        .rev()
        .map(|place| {
            let index = u8::try_from((value >> (6 * place)) & 63).unwrap_or(0);
            char::from(ALPHABET[usize::from(index)])
        })
        .collect()
}

/// The inverse of [`encode`]; `None` for a character outside the alphabet or more than 21 characters.
pub(crate) fn decode(text: &str) -> Option<u128> {
    if text.len() > 21 {
        return None;
    }
    text.bytes().try_fold(0_u128, |value, byte| {
        let place = ALPHABET.binary_search(&byte).ok()?;
        Some((value << 6) | place as u128)
    })
}

/// The first 126 bits of SHA-256 over `parts`, each preceded by its length, so that no two lists of parts collide by
/// concatenation.
fn hash(parts: &[&str]) -> u128 {
    let mut sha = Sha256::new();
    for part in parts {
        sha.update((part.len() as u64).to_be_bytes());
        sha.update(part.as_bytes());
    }
    let bytes = sha.finalize();
    bytes
        .iter()
        .take(16)
        .fold(0_u128, |value, byte| (value << 8) | u128::from(*byte))
        >> 2
}

/// 120 bits of SHA-256 as 20 characters of the id alphabet: what keys and deterministic ids hold of users' text.
pub fn digest(parts: &[&str]) -> String {
    encode(hash(parts), 20)
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Wraps text that is already known to be such an id: read from the table, or generated.
            pub fn trusted(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// The id's text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }
    };
}

/// Why a name was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// It has no character.
    #[error("name is empty")]
    Empty,
    /// It has more than 512 characters.
    #[error("name has more than {} characters", MAX_NAME_CHARS)]
    TooLong,
    /// It has a character outside `[a-zA-Z0-9_-]`.
    #[error("name has a character outside {}", NAME_PATTERN)]
    Pattern,
}

/// The longest name of a workspace, peer or session, in characters (`contracts/honcho.md` section 1).
pub const MAX_NAME_CHARS: usize = 512;
/// The pattern of names, as the contract's errors quote it.
pub const NAME_PATTERN: &str = "^[a-zA-Z0-9_-]+$";

/// Checks a name that a user chose, in the contract's order: length, then pattern.
pub fn check_name(text: &str) -> Result<(), NameError> {
    if text.is_empty() {
        Err(NameError::Empty)
    } else if text.chars().count() > MAX_NAME_CHARS {
        Err(NameError::TooLong)
    } else if text
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
    {
        Ok(())
    } else {
        Err(NameError::Pattern)
    }
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        text_id! { $(#[$doc])* $name }

        impl $name {
            /// Checks a name at the edge.
            pub fn parse(text: &str) -> Result<Self, NameError> {
                check_name(text).map(|()| Self(text.to_owned()))
            }
        }
    };
}

name! {
    /// A workspace as users name it.
    WorkspaceName
}
name! {
    /// A peer as users name it, unique in its workspace.
    PeerName
}
name! {
    /// A session as users name it, unique in its workspace.
    SessionName
}
text_id! {
    /// A workspace's random uid: a re-created name gets a new one and inherits nothing.
    WorkspaceUid
}
text_id! {
    /// A session's random uid.
    SessionUid
}
text_id! {
    /// A representation: the digest of (workspace uid, observer, observed), 20 characters.
    RepresentationId
}
text_id! {
    /// A conclusion: its representation, when it was made, and 48 more bits; 36 characters.
    ConclusionId
}
text_id! {
    /// A dream run: its representation, when it was made, and 48 more bits; 36 characters.
    RunId
}
text_id! {
    /// A message of a session: its sequence number and check characters; 21 characters.
    MessageId
}

impl RepresentationId {
    /// The representation of `observed` as `observer` sees it.
    pub fn of(workspace: &WorkspaceUid, observer: &PeerName, observed: &PeerName) -> Self {
        Self(digest(&[
            "representation",
            workspace.as_str(),
            observer.as_str(),
            observed.as_str(),
        ]))
    }
}

/// Characters of an id's representation part.
const REPRESENTATION_CHARS: usize = 20;
/// Characters of an id made inside a representation.
const MEMBER_CHARS: usize = 36;

/// Makes an id inside a representation: the representation's 20 characters, 8 of the time in milliseconds, and 8 of a
/// digest of `seed`. The same arguments give the same id, which makes a replay harmless.
fn member(representation: &RepresentationId, at: Time, seed: &[&str]) -> String {
    let millis = u128::try_from(at.micros().max(0) / 1000).unwrap_or(0);
    format!("{representation}{}{}", encode(millis, 8), encode(hash(seed), 8))
}

/// The representation part of an id made by [`member`]; `None` when the text cannot be such an id.
fn representation_of(id: &str) -> Option<RepresentationId> {
    let ours = id.len() == MEMBER_CHARS && id.bytes().all(|b| ALPHABET.contains(&b));
    ours.then(|| RepresentationId(id[..REPRESENTATION_CHARS].to_owned()))
}

impl ConclusionId {
    /// An id inside `representation` whose ids of the same millisecond sort by `place`, modulo 4,096.
    pub fn placed(representation: &RepresentationId, at: Time, place: usize, seed: &[&str]) -> Self {
        let mut id = member(representation, at, seed);
        id.truncate(MEMBER_CHARS - 8);
        let place = (place % 4096) as u128;
        Self(format!("{id}{}{}", encode(place, 2), encode(hash(seed), 6)))
    }

    /// An id inside `representation`, determined by the time (milliseconds) and the seed.
    pub fn new(representation: &RepresentationId, at: Time, seed: &[&str]) -> Self {
        Self(member(representation, at, seed))
    }

    /// A bound: no id inside `representation` that was made at `at` (milliseconds) or later sorts before it.
    pub fn first_of(representation: &RepresentationId, at: Time) -> Self {
        let mut id = member(representation, at, &[]);
        id.truncate(MEMBER_CHARS - 8);
        Self(format!("{id}{}", encode(0, 8)))
    }

    /// Reads an id that a client sent; `None` when it cannot be one of ours.
    pub fn parse(text: &str) -> Option<Self> {
        representation_of(text).map(|_| Self(text.to_owned()))
    }

    /// The representation that the id names.
    pub fn representation(&self) -> RepresentationId {
        representation_of(&self.0).unwrap_or_else(|| RepresentationId(String::new()))
    }
}

impl RunId {
    /// An id inside `representation`, determined by the time (milliseconds) and the seed.
    pub fn new(representation: &RepresentationId, at: Time, seed: &[&str]) -> Self {
        Self(member(representation, at, seed))
    }

    /// Reads an id that a client sent; `None` when it cannot be one of ours.
    pub fn parse(text: &str) -> Option<Self> {
        representation_of(text).map(|_| Self(text.to_owned()))
    }

    /// The representation that the id names.
    pub fn representation(&self) -> RepresentationId {
        representation_of(&self.0).unwrap_or_else(|| RepresentationId(String::new()))
    }
}

/// A message's place in its session, from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl Seq {
    /// The next place.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl MessageId {
    /// The id of message `seq` of a session: 8 characters of the number, 13 of a digest with the session's uid, so
    /// that a lookup is a key read and a made-up id is recognised.
    pub fn of(session: &SessionUid, seq: Seq) -> Self {
        let check = hash(&["message", session.as_str(), &seq.to_string()]);
        Self(format!("{}{}", encode(u128::from(seq.0), 8), encode(check, 13)))
    }

    /// The sequence number, when the text is the id of a message that `session` could have.
    pub fn seq_in(session: &SessionUid, text: &str) -> Option<Seq> {
        let number = text.get(..8).and_then(decode)?;
        let seq = Seq(u64::try_from(number).ok()?);
        (Self::of(session, seq).0 == text).then_some(seq)
    }
}

/// Makes fresh, unguessable ids; tests fix it.
pub trait IdSource: Send + Sync {
    /// 126 random bits.
    fn random(&self) -> u128;

    /// A fresh uid of 21 characters.
    fn uid(&self) -> String {
        encode(self.random(), 21)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoding_keeps_the_order_and_reads_back() {
        for (low, high) in [(0_u128, 1), (63, 64), (4095, 4096), (1 << 40, (1 << 40) + 1)] {
            assert!(encode(low, 10) < encode(high, 10));
            assert_eq!(decode(&encode(high, 10)), Some(high));
        }
        assert_eq!(decode("no!"), None);
    }

    #[test]
    fn parts_never_collide_by_concatenation() {
        assert_ne!(digest(&["ab", "c"]), digest(&["a", "bc"]));
        assert_ne!(digest(&["a"]), digest(&["a", ""]));
    }

    #[test]
    fn a_message_id_is_read_back_only_in_its_session() {
        let (one, two) = (SessionUid::trusted("one"), SessionUid::trusted("two"));
        let id = MessageId::of(&one, Seq(77));
        assert_eq!(id.as_str().len(), 21);
        assert_eq!(MessageId::seq_in(&one, id.as_str()), Some(Seq(77)));
        assert_eq!(MessageId::seq_in(&two, id.as_str()), None);
        assert_eq!(MessageId::seq_in(&one, "aé"), None);
    }

    #[test]
    fn a_conclusion_id_names_its_representation_and_sorts_by_time() {
        let workspace = WorkspaceUid::trusted("w");
        let peer = PeerName::trusted("p".repeat(512));
        let representation = RepresentationId::of(&workspace, &peer, &peer);
        let early = ConclusionId::new(&representation, Time::from_seconds(10), &["z"]);
        let late = ConclusionId::new(&representation, Time::from_seconds(11), &["a"]);
        assert!(early < late);
        let placed = |place| ConclusionId::placed(&representation, Time::from_seconds(10), place, &["s"]);
        assert!(placed(1) < placed(2) && placed(2) < placed(70));
        assert_eq!(ConclusionId::parse(placed(5).as_str()), Some(placed(5)));
        assert_eq!(
            ConclusionId::parse(early.as_str()).map(|id| id.representation()),
            Some(representation)
        );
        assert_eq!(ConclusionId::parse("short"), None);
        assert_eq!(ConclusionId::parse(&"é".repeat(18)), None);
    }

    #[test]
    fn names_follow_the_contract() {
        assert!(PeerName::parse(&"a".repeat(512)).is_ok());
        assert_eq!(PeerName::parse(&"a".repeat(513)), Err(NameError::TooLong));
        assert_eq!(PeerName::parse(""), Err(NameError::Empty));
        assert_eq!(PeerName::parse("a b"), Err(NameError::Pattern));
        assert!(PeerName::parse("vt-firmware_01").is_ok());
    }
}
