//! Errors with their causes.

use std::error::Error;

/// An error and its causes on one line, outermost first.
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| (*error).source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("the item cannot be read")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn every_cause_is_named_once() {
        let error = Outer(std::io::Error::other("bad number"));
        assert_eq!(chain(&error), "the item cannot be read: bad number");
        assert_eq!(chain(&std::io::Error::other("alone")), "alone");
    }
}
