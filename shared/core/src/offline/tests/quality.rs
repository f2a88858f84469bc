//! The bars that the labelled cases of `shared/core/quality` hold; `docs/quality.md` has the figures.

mod host {
    pub(crate) use crate::*;
}
#[allow(dead_code, reason = "the benchmark command uses the rest")]
#[path = "../../../examples/offline_quality/score.rs"]
mod score;

use score::{Score, score};

fn scores() -> [Score; 2] {
    [
        include_str!("../../../quality/cases.jsonl"),
        include_str!("../../../quality/held.jsonl"),
    ]
    .map(|lines| score(lines).expect("the cases are well formed"))
}

#[test]
fn the_bars_of_quality_hold() {
    let [own, held] = scores();
    for score in [&own, &held] {
        assert_eq!(score.wrong_merges, 0, "{:?}", score.failures);
        assert_eq!(score.wrong_supersessions, 0, "{:?}", score.failures);
        assert_eq!(score.second, 0, "{:?}", score.failures);
        assert_eq!(score.evidence.0, score.evidence.1, "{:?}", score.failures);
        assert_eq!(score.false_cards, 0, "{:?}", score.failures);
    }
    let share = |(all, some): (usize, usize)| some * 100 / all;
    assert!(share(own.updates) >= 80, "{:?}", own.failures);
    assert!(share(own.duplicates) >= 90, "{:?}", own.failures);
    assert!(share(own.contradictions) >= 80, "{:?}", own.failures);
    assert!(share(own.statements) >= 95, "{:?}", own.failures);
    assert!(share(own.expected) >= 90, "{:?}", own.failures);
}
