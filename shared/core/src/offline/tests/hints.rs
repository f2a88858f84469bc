use super::*;
use crate::offline::{Hint, HintKind, hints};

fn found(world: &World, phase: Phase, last_dream_at: Option<Time>) -> Vec<(HintKind, Vec<String>)> {
    let request = ThinkRequest {
        phase,
        turn: 0,
        observer: &world.peer,
        observed: &world.peer,
        conclusions: &world.conclusions,
        card: None,
        card_allowed: true,
        instructions: None,
        card_instructions: None,
        last_dream_at,
        nothing_new: false,
        earlier: &[],
        outcomes: &[],
        messages: &NoSources,
    };
    let text = |id: &ConclusionId| world.find(id).content.clone();
    hints(&request, 10)
        .into_iter()
        .map(|Hint { kind, ids }| (kind, ids.iter().map(text).collect()))
        .collect()
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn duplicates_updates_and_look_alikes_are_told_apart() {
    let world = World::stating(&[
        (1, "maya works at Intel."),
        (2, "maya has 2 cats called Tom and Kim."),
        (3, "maya works at Qualcomm."),
        (4, "maya plays the violin on Sundays."),
        (5, "maya has 3 cats called Tom, Kim and Ada."),
        (6, "Maya plays the violin on Sundays"),
        (7, "maya went to Peru in 2019."),
    ]);
    let hints = found(&world, Phase::Deduction, None);
    let expect = |kind, of: &[&str]| assert!(hints.contains(&(kind, texts(of))), "{kind:?} {of:?}: {hints:#?}");
    expect(HintKind::Update, &["maya works at Intel.", "maya works at Qualcomm."]);
    expect(
        HintKind::Same,
        &["maya plays the violin on Sundays.", "Maya plays the violin on Sundays"],
    );
    let cats = hints.iter().find(|(_, of)| of[0].contains("2 cats"));
    assert!(
        matches!(cats, Some((HintKind::Differ | HintKind::Alike, of)) if of[1].contains("3 cats")),
        "{hints:#?}"
    );
    assert!(!hints.iter().any(|(_, of)| of.iter().any(|text| text.contains("Peru"))));
}

#[test]
fn what_is_new_comes_first_and_the_rest_is_cut() {
    let mut statements = Vec::new();
    let lines: Vec<String> = (0..30)
        .map(|n| format!("maya owns the book called volume{n} of {n}."))
        .collect();
    for (n, line) in lines.iter().enumerate() {
        statements.push((n as u64 + 1, line.as_str()));
    }
    statements.push((40, "maya lives in Oslo."));
    statements.push((41, "maya lives in Bergen."));
    let world = World::stating(&statements);
    let last = world.conclusions[29].created_at;
    let hints = found(&world, Phase::Deduction, Some(last));
    assert!(hints.len() <= 10);
    assert_eq!(
        hints[0],
        (
            HintKind::Update,
            texts(&["maya lives in Oslo.", "maya lives in Bergen."])
        )
    );
}

#[test]
fn patterns_and_the_card_have_hints_of_their_own() {
    let world = World::stating(&[
        (1, "maya went climbing on Saturday."),
        (8, "maya went climbing with Omar."),
        (15, "maya lives in Porto."),
    ]);
    let patterns = found(&world, Phase::Induction, None);
    assert!(
        patterns.iter().all(|(kind, _)| *kind == HintKind::Recurring) && patterns.len() == 1,
        "{patterns:?}"
    );
    let card = found(&world, Phase::Card, None);
    assert!(
        card.contains(&(HintKind::Identity, texts(&["maya lives in Porto."]))),
        "{card:?}"
    );
}
