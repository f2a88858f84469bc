//! What became of operations, told to the reasoner that asked for them.

use super::{Desk, Operation, Place, Rejection, create};
use crate::id::ConclusionId;

/// What became of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It created this conclusion.
    Created(ConclusionId),
    /// This conclusion said so before, and may have gained sources.
    Known(ConclusionId),
    /// It was carried out, or nothing was left of it to do.
    Done,
    /// The toolbox refused it; nothing was changed.
    Refused(Rejection),
}

/// What became of an operation that was carried out at `place`, as the desk shows it now: the same after a crash.
pub fn outcome(operation: &Operation, desk: &Desk, place: &Place) -> Outcome {
    let Operation::Create { level, content, .. } = operation else {
        return Outcome::Done;
    };
    let own = create::id_at(place);
    if desk.get(&own).is_some() {
        return Outcome::Created(own);
    }
    let known = desk.equals(*level, None, content).next();
    known.map_or(Outcome::Done, |known| Outcome::Known(known.id.clone()))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{LIMITS, carry_out, explicit, id, place};
    use super::*;
    use crate::conclusion::Level;

    #[test]
    fn what_was_created_what_was_known_and_what_is_gone_again() {
        let mut desk = Desk::new([explicit(1, "Maya works at Acme"), explicit(2, "Maya is an engineer")]);
        let create = Operation::Create {
            level: Level::Deductive,
            content: "Maya is employed".into(),
            sources: vec![id(1)],
            pattern: None,
            replaces: Vec::new(),
        };
        carry_out(&mut desk, &create, &LIMITS, &place(1));
        let Outcome::Created(created) = outcome(&create, &desk, &place(1)) else {
            unreachable!("it was created");
        };
        assert!(desk.get(&created).is_some());
        assert_eq!(outcome(&create, &desk, &place(2)), Outcome::Known(created.clone()));
        let merge = Operation::Remove {
            ids: vec![created],
            reason: crate::run::RemovalReason::Other,
            replaced_by: Some(id(1)),
        };
        carry_out(&mut desk, &merge, &LIMITS, &place(3));
        assert_eq!(outcome(&merge, &desk, &place(3)), Outcome::Done);
        assert_eq!(outcome(&create, &desk, &place(1)), Outcome::Done);
    }
}
