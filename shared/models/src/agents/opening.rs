//! The first message of a phase: who it is about, instructions, the card, hints, and as much of the memory as fits.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use reverie_core::conclusion::{Conclusion, Level};
use reverie_core::id::ConclusionId;
use reverie_core::offline::{Hint, HintKind, hints};
use reverie_core::reasoner::ThinkRequest;
use reverie_core::run::Phase;

use super::shown::{Shelf, instructions, section};

/// The most conclusions of one group that are shown.
const GROUPED: usize = 6;
/// The most of the others of a group that are named.
const NAMED: usize = 40;
/// The most of the latest conclusions that are shown.
const LATEST: usize = 60;
/// Characters of a conclusion's text that are shown.
const SHOWN: usize = 300;
/// Characters for groups, and as many for the latest: the prompt is bounded, however large the memory is.
const ROOM: usize = 16_000;

/// Writes the message.
pub(super) fn write(request: &ThinkRequest<'_>, shelf: &Shelf<'_>, groups: usize) -> String {
    let mut text = String::new();
    introduce(&mut text, request);
    instruct(&mut text, request);
    if let Some(card) = request.card.filter(|_| request.phase != Phase::Induction) {
        let entries: Vec<_> = card.iter().map(|entry| shelf.entry(entry)).collect();
        text.push_str(&section("card", &entries.join("\n")));
    }
    let mut shown = BTreeSet::new();
    let hinted = grouped(request, shelf, groups, &mut shown);
    if !hinted.is_empty() {
        text.push_str(&section("hints", &hinted));
    }
    if request.phase == Phase::Induction {
        let known = conclusions(request, shelf, &mut shown, |c| c.level == Level::Inductive);
        if !known.is_empty() {
            text.push_str(&section("patterns", &known));
        }
    }
    let latest = conclusions(request, shelf, &mut shown, |_| true);
    if !latest.is_empty() {
        text.push_str(&section("conclusions", &latest));
    }
    let total = request.conclusions.len();
    if shown.len() == total {
        let _ = writeln!(text, "All {total} conclusions of the memory are shown.");
    } else {
        let _ = writeln!(
            text,
            "{} of the {total} conclusions of the memory are shown; the others are found with search and list.",
            shown.len()
        );
    }
    text
}

fn introduce(text: &mut String, request: &ThinkRequest<'_>) {
    let _ = writeln!(text, "The peer is {}.", request.observed);
    if request.observer != request.observed {
        let _ = writeln!(
            text,
            "This is the memory that {} has of {}: what {} has heard.",
            request.observer, request.observed, request.observer
        );
    }
    if let Some(last) = request.last_dream_at {
        let new = request.conclusions.iter().filter(|c| c.created_at > last).count();
        let _ = writeln!(
            text,
            "The memory was last tidied on {}; {new} of its conclusions are newer.",
            last.to_date()
        );
    }
}

/// Instructions of those who run the memory come after our rules and say themselves what they cannot do.
fn instruct(text: &mut String, request: &ThinkRequest<'_>) {
    let card = request
        .card_instructions
        .filter(|_| request.phase != Phase::Induction && request.card_allowed);
    for (tag, about, given) in [
        ("instructions", "what matters in this memory", request.instructions),
        ("card_instructions", "the card", card),
    ] {
        if let Some(given) = given {
            text.push_str(&instructions(tag, about, given));
        }
    }
}

/// The groups that a cheap search has found, each with its conclusions.
fn grouped(request: &ThinkRequest<'_>, shelf: &Shelf<'_>, groups: usize, shown: &mut BTreeSet<ConclusionId>) -> String {
    let mut text = String::new();
    if groups == 0 {
        return text;
    }
    for (place, Hint { kind, ids }) in hints(request, groups).into_iter().enumerate() {
        let mut group = String::new();
        // What is for the card is one list.
        if kind != HintKind::Identity || place == 0 {
            let _ = writeln!(group, "{}", meaning(kind));
        }
        // The latest evidence is what a group is about.
        let surplus = ids.len().saturating_sub(GROUPED);
        let members: Vec<&Conclusion> = ids.iter().skip(surplus).filter_map(|id| shelf.get(id)).collect();
        for conclusion in &members {
            let _ = writeln!(group, "{}", shelf.line(conclusion, SHOWN));
        }
        if surplus > 0 {
            let names: Vec<_> = ids.iter().take(surplus.min(NAMED)).map(|id| shelf.short(id)).collect();
            let _ = writeln!(group, "and [{}]", names.join("] ["));
        }
        if text.len() + group.len() > ROOM {
            break;
        }
        shown.extend(members.iter().map(|conclusion| conclusion.id.clone()));
        text.push_str(&group);
    }
    text
}

const fn meaning(kind: HintKind) -> &'static str {
    match kind {
        HintKind::Update => "Perhaps an update, the latest last:",
        HintKind::Same => "Perhaps the same:",
        HintKind::Conflict => "Perhaps at odds:",
        HintKind::Differ => "Much alike, but a number, a name or a negation differs: an update, or two facts?",
        HintKind::Alike => "About the same: duplicates, an update, or two facts?",
        HintKind::Recurring => "Perhaps a pattern:",
        HintKind::Identity => "Perhaps something for the card:",
    }
}

/// The latest conclusions of a kind that were not shown yet, as many as fit.
fn conclusions(
    request: &ThinkRequest<'_>,
    shelf: &Shelf<'_>,
    shown: &mut BTreeSet<ConclusionId>,
    wanted: impl Fn(&Conclusion) -> bool,
) -> String {
    let mut left: Vec<_> = request
        .conclusions
        .iter()
        .filter(|conclusion| wanted(conclusion) && !shown.contains(&conclusion.id))
        .collect();
    // What is new since the last dream first, then by the date of the evidence.
    left.sort_by_key(|c| {
        let is_new = request.last_dream_at.is_some_and(|last| c.created_at > last);
        std::cmp::Reverse((is_new, c.event_at, &c.id))
    });
    let mut lines = Vec::new();
    let mut size = 0;
    for conclusion in left.into_iter().take(LATEST) {
        let line = shelf.line(conclusion, SHOWN);
        size += line.len();
        if size > ROOM {
            break;
        }
        shown.insert(conclusion.id.clone());
        lines.push(line);
    }
    lines.join("\n")
}
