//! Conclusions: what is believed about a peer, and what each belief rests on.

use serde::{Deserialize, Serialize};

use crate::id::{ConclusionId, RunId, Seq, SessionName, SessionUid};
use crate::time::Time;

/// How a conclusion was reached (`contracts/honcho-openapi.json`, `Conclusion.level`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Said in a message, or stated through the API.
    Explicit,
    /// Follows from at least one other conclusion.
    Deductive,
    /// A pattern over at least two.
    Inductive,
    /// At least two that cannot both hold.
    Contradiction,
}

impl Level {
    /// All four.
    pub const ALL: [Self; 4] = [Self::Explicit, Self::Deductive, Self::Inductive, Self::Contradiction];

    /// The wire's word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Explicit => "explicit",
            Self::Deductive => "deductive",
            Self::Inductive => "inductive",
            Self::Contradiction => "contradiction",
        }
    }

    /// Reads the wire's word.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == text)
    }

    /// How many distinct sources a conclusion of this level needs (`design.md` section 6).
    pub const fn min_sources(self) -> usize {
        match self {
            Self::Explicit => 0,
            Self::Deductive => 1,
            Self::Inductive | Self::Contradiction => 2,
        }
    }
}

/// How sure a derived conclusion is, computed from the number of its sources, never claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// Two sources or fewer.
    Low,
    /// Three or four.
    Medium,
    /// Five or more.
    High,
}

impl Confidence {
    /// 2 low, 3–4 medium, 5 and more high (`design.md` section 6).
    pub const fn of_sources(count: usize) -> Self {
        match count {
            0..=2 => Self::Low,
            3 | 4 => Self::Medium,
            _ => Self::High,
        }
    }

    /// The word shown in a representation.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// What kind of pattern an inductive conclusion states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// A consistent choice.
    Preference,
    /// Something done again and again.
    Behavior,
    /// A stable trait.
    Personality,
    /// A leaning that shows under some condition.
    Tendency,
    /// Two things that go together.
    Correlation,
}

impl Pattern {
    /// The word shown in a representation.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Preference => "preference",
            Self::Behavior => "behavior",
            Self::Personality => "personality",
            Self::Tendency => "tendency",
            Self::Correlation => "correlation",
        }
    }
}

/// The messages of one session that a conclusion rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Support {
    /// The session.
    pub session: SessionUid,
    /// Its messages, ascending, without repeats; empty for a conclusion made through the API inside a session.
    pub messages: Vec<Seq>,
}

impl Support {
    /// What a conclusion rests on that a client stated for no session: the statement itself, which no session's
    /// deletion takes away.
    pub fn stated() -> Self {
        Self {
            session: SessionUid::trusted("-"),
            messages: Vec::new(),
        }
    }

    /// Whether it is [`Support::stated`].
    pub fn is_stated(&self) -> bool {
        self.session.as_str() == "-"
    }
}

/// Keeps the parts of a support set whose sessions are still there. Whether that took the last of them.
pub fn keep_support(support: &mut Vec<Support>, is_there: impl Fn(&SessionUid) -> bool) -> bool {
    let before = support.len();
    support.retain(|part| part.is_stated() || is_there(&part.session));
    before > 0 && support.is_empty()
}

/// The most messages of one session that a support set names: the newest. That a session supports it is always kept.
const SUPPORT_MESSAGES: usize = 200;

/// Adds one support set to another: per session, the union of the messages, the newest 200.
pub fn merge_support(into: &mut Vec<Support>, other: &[Support]) {
    for theirs in other {
        match into.iter_mut().find(|ours| ours.session == theirs.session) {
            Some(ours) => {
                ours.messages.extend(&theirs.messages);
                ours.messages.sort_unstable();
                ours.messages.dedup();
                let surplus = ours.messages.len().saturating_sub(SUPPORT_MESSAGES);
                ours.messages.drain(..surplus);
            }
            None => into.push(theirs.clone()),
        }
    }
    into.sort_by(|a, b| a.session.cmp(&b.session));
}

/// A unit vector, one signed byte per dimension, with the model that made it. Vectors of different models are never
/// compared (`design.md` section 8).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Embedding {
    /// The model's id.
    pub model: String,
    /// The components, scaled so that 127 is 1.0.
    #[serde(with = "signed_bytes")]
    pub components: Vec<i8>,
}

impl Embedding {
    /// The unit vector of a direction, rounded to signed bytes; zeros stay zeros.
    pub fn of_direction(model: impl Into<String>, direction: &[f64]) -> Self {
        let norm = direction.iter().map(|c| c * c).sum::<f64>().sqrt();
        let scale = if norm == 0.0 { 0.0 } else { 127.0 / norm };
        #[allow(
            clippy::cast_possible_truncation,
            reason = "a component of a unit vector times 127 fits a signed byte"
        )]
        let components = direction.iter().map(|c| (c * scale).round() as i8).collect();
        Self {
            model: model.into(),
            components,
        }
    }

    /// Cosine similarity, −1 to 1; `None` across models or dimensions.
    pub fn cosine(&self, other: &Self) -> Option<f32> {
        (self.model == other.model).then(|| self.cosine_of(&other.components))?
    }

    /// The same to the components of a vector that this one's model made.
    pub fn cosine_of(&self, components: &[i8]) -> Option<f32> {
        if self.components.len() != components.len() {
            return None;
        }
        let (mut dot, mut left, mut right) = (0_i64, 0_i64, 0_i64);
        for (a, b) in self.components.iter().zip(components) {
            let (a, b) = (i64::from(*a), i64::from(*b));
            dot += a * b;
            left += a * a;
            right += b * b;
        }
        #[allow(
            clippy::cast_precision_loss,
            reason = "sums of 127² over a few hundred dimensions are exact in f32's range"
        )]
        let norm = (left as f32).sqrt() * (right as f32).sqrt();
        #[allow(clippy::cast_precision_loss, reason = "as above")]
        Some(if norm == 0.0 { 0.0 } else { dot as f32 / norm })
    }
}

/// Components as bytes, which a table stores as binary.
mod signed_bytes {
    use std::fmt;

    use serde::de::{SeqAccess, Visitor};
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(components: &[i8], serializer: S) -> Result<S::Ok, S::Error> {
        let bytes: Vec<u8> = components.iter().map(|c| c.cast_unsigned()).collect();
        serializer.serialize_bytes(&bytes)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<i8>, D::Error> {
        struct Bytes;
        impl<'de> Visitor<'de> for Bytes {
            type Value = Vec<i8>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Self::Value, E> {
                Ok(bytes.iter().map(|b| b.cast_signed()).collect())
            }

            fn visit_byte_buf<E>(self, bytes: Vec<u8>) -> Result<Self::Value, E> {
                Ok(bytes.into_iter().map(u8::cast_signed).collect())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
                let mut bytes = Vec::new();
                while let Some(byte) = parts.next_element::<u8>()? {
                    bytes.push(byte.cast_signed());
                }
                Ok(bytes)
            }
        }
        deserializer.deserialize_byte_buf(Bytes)
    }
}

/// Who made a conclusion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The deriver, from messages.
    Deriver,
    /// A client, through the API.
    Api,
    /// A dream.
    Dream(RunId),
}

/// One conclusion of a representation. Its content never changes; what supports it does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conclusion {
    /// The id, which also names the representation.
    pub id: ConclusionId,
    /// The statement, with the peer's name as its subject.
    pub content: String,
    /// How it was reached.
    pub level: Level,
    /// The session it was said in, or was stated for; derived conclusions have none.
    pub session: Option<SessionRef>,
    /// When it was stored.
    pub created_at: Time,
    /// When what it states was said: the message's own date, or the latest of its sources' (`design.md` section 6).
    pub event_at: Time,
    /// How often it was derived, from 1.
    pub times_derived: u32,
    /// The conclusions it follows from, in the order given; empty for explicit ones.
    pub sources: Vec<ConclusionId>,
    /// The messages it rests on.
    pub support: Vec<Support>,
    /// The kind of pattern, for inductive ones.
    pub pattern: Option<Pattern>,
    /// Who made it.
    pub origin: Origin,
    /// Its vector, once embedded.
    pub embedding: Option<Embedding>,
}

impl Conclusion {
    /// Whether it has a vector, made by `model`.
    pub fn is_embedded_by(&self, model: &str) -> bool {
        self.embedding
            .as_ref()
            .is_some_and(|embedding| embedding.model == model)
    }

    /// The confidence of a derived conclusion; `None` for explicit ones.
    pub fn confidence(&self) -> Option<Confidence> {
        (self.level != Level::Explicit).then(|| Confidence::of_sources(self.sources.len()))
    }
}

/// A session by uid and name: the uid is the key, the name is what the wire shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRef {
    /// The uid.
    pub uid: SessionUid,
    /// The name.
    pub name: SessionName,
}

/// What kind of fact a peer card's entry holds. The wire form is the word and a colon before the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum CardKind {
    /// Name, age, home, occupation.
    Identity,
    /// A lasting property.
    Attribute,
    /// A tie to another being.
    Relationship,
    /// How the peer wants to be treated.
    Instruction,
}

impl CardKind {
    /// `IDENTITY: ` and so on, exact case, with the space.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Identity => "IDENTITY: ",
            Self::Attribute => "ATTRIBUTE: ",
            Self::Relationship => "RELATIONSHIP: ",
            Self::Instruction => "INSTRUCTION: ",
        }
    }

    /// All four.
    pub const ALL: [Self; 4] = [Self::Identity, Self::Attribute, Self::Relationship, Self::Instruction];
}

/// One entry of a peer card: its whole text, prefix included, and the conclusions it rests on (none for an entry that
/// a client wrote).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardEntry {
    /// The text as the wire shows it.
    pub text: String,
    /// The conclusions it rests on.
    pub conclusions: Vec<ConclusionId>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h6_confidence_follows_the_number_of_sources() {
        let words: Vec<_> = [2, 3, 4, 5, 9].map(|n| Confidence::of_sources(n).as_str()).into();
        assert_eq!(words, ["low", "medium", "medium", "high", "high"]);
    }

    #[test]
    fn a_support_set_loses_what_is_gone_and_says_when_nothing_is_left() {
        let of = |session: &str| Support {
            session: SessionUid::trusted(session),
            messages: Vec::new(),
        };
        let kept = |mut support: Vec<Support>| {
            let lost = keep_support(&mut support, |session| session.as_str() == "there");
            (support, lost)
        };
        assert_eq!(kept(vec![of("there"), of("gone")]), (vec![of("there")], false));
        assert_eq!(kept(vec![of("gone")]), (vec![], true));
        assert_eq!(
            kept(vec![Support::stated(), of("gone")]),
            (vec![Support::stated()], false)
        );
        assert_eq!(kept(vec![]), (vec![], false));
    }

    #[test]
    fn vectors_of_different_models_are_never_compared() {
        let a = Embedding {
            model: "a".into(),
            components: vec![127, 0],
        };
        let b = Embedding {
            model: "b".into(),
            components: vec![127, 0],
        };
        assert_eq!(a.cosine(&b), None);
        assert!(a.cosine(&a).is_some_and(|c| (c - 1.0).abs() < 1e-6));
    }
}
