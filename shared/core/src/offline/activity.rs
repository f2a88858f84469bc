//! Activities that people do again and again, and what doing several of one kind says about them.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::lexicon::stem;

/// What kind of activity it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Trait {
    /// Makes things of one's own.
    Creative,
    /// Moves the body.
    Active,
    /// Helps others.
    Caring,
    /// None that says anything.
    Plain,
}

/// One activity.
pub(super) struct Activity {
    /// After the name: "paints".
    pub(super) does: &'static str,
    /// As a noun: "painting".
    pub(super) doing: &'static str,
    /// Its kind.
    pub(super) of: Trait,
}

/// "paints", "painting", kind, and the words that mention it.
const TABLE: &[(&str, &str, Trait, &str)] = &[
    (
        "paints",
        "painting",
        Trait::Creative,
        "paint paints painted painting paintings watercolor watercolour",
    ),
    (
        "draws",
        "drawing",
        Trait::Creative,
        "drew drawing drawings sketch sketches sketched sketching",
    ),
    ("makes pottery", "pottery", Trait::Creative, "pottery ceramics"),
    (
        "writes",
        "writing",
        Trait::Creative,
        "writes writing wrote poem poems poetry screenplay screenplays novel",
    ),
    (
        "takes photographs",
        "photography",
        Trait::Creative,
        "photography photographs",
    ),
    ("plays the guitar", "playing the guitar", Trait::Creative, "guitar"),
    ("plays the piano", "playing the piano", Trait::Creative, "piano"),
    ("plays the violin", "playing the violin", Trait::Creative, "violin"),
    ("sings", "singing", Trait::Creative, "sings singing sang choir"),
    (
        "knits",
        "knitting",
        Trait::Creative,
        "knit knits knitted knitting crochet crocheting",
    ),
    ("sews", "sewing", Trait::Creative, "sews sewing sewed"),
    ("dances", "dancing", Trait::Active, "dance dances danced dancing"),
    (
        "runs",
        "running",
        Trait::Active,
        "runs ran running jog jogs jogging jogged marathon marathons",
    ),
    ("hikes", "hiking", Trait::Active, "hike hikes hiked hiking"),
    ("swims", "swimming", Trait::Active, "swim swims swam swimming"),
    (
        "cycles",
        "cycling",
        Trait::Active,
        "cycles cycling cycled bike bikes biking biked bicycle",
    ),
    ("does yoga", "yoga", Trait::Active, "yoga"),
    (
        "works out",
        "working out",
        Trait::Active,
        "gym workout workouts weightlifting",
    ),
    ("climbs", "climbing", Trait::Active, "climbing bouldering"),
    ("skis", "skiing", Trait::Active, "ski skis skied skiing snowboarding"),
    ("surfs", "surfing", Trait::Active, "surf surfs surfed surfing"),
    ("plays tennis", "playing tennis", Trait::Active, "tennis"),
    ("plays football", "playing football", Trait::Active, "football"),
    ("plays soccer", "playing soccer", Trait::Active, "soccer"),
    ("plays basketball", "playing basketball", Trait::Active, "basketball"),
    (
        "does martial arts",
        "martial arts",
        Trait::Active,
        "karate judo taekwondo kickboxing aikido",
    ),
    ("goes camping", "camping", Trait::Plain, "camping camped campsite"),
    ("reads", "reading", Trait::Plain, "reads reading"),
    ("cooks", "cooking", Trait::Plain, "cook cooks cooked cooking"),
    ("bakes", "baking", Trait::Plain, "bake bakes baked baking"),
    ("gardens", "gardening", Trait::Plain, "gardening gardened"),
    (
        "meditates",
        "meditation",
        Trait::Plain,
        "meditate meditates meditated meditating meditation",
    ),
    (
        "travels",
        "travelling",
        Trait::Plain,
        "travels traveled travelled traveling travelling roadtrip",
    ),
    ("plays chess", "playing chess", Trait::Plain, "chess"),
    (
        "plays video games",
        "playing video games",
        Trait::Plain,
        "videogames gaming",
    ),
    ("goes fishing", "fishing", Trait::Plain, "fishing"),
    (
        "volunteers",
        "volunteering",
        Trait::Caring,
        "volunteer volunteers volunteered volunteering",
    ),
    ("mentors others", "mentoring", Trait::Caring, "mentored mentoring"),
    (
        "donates",
        "donating",
        Trait::Caring,
        "donate donates donated donating donation donations",
    ),
    (
        "raises funds",
        "fundraising",
        Trait::Caring,
        "fundraiser fundraisers fundraising",
    ),
];

/// The activities, in the order of their table.
pub(super) static ACTIVITIES: LazyLock<Vec<Activity>> = LazyLock::new(|| {
    TABLE
        .iter()
        .map(|(does, doing, of, _)| Activity { does, doing, of: *of })
        .collect()
});

static BY_WORD: LazyLock<HashMap<&'static str, usize>> = LazyLock::new(|| {
    TABLE
        .iter()
        .enumerate()
        .flat_map(|(place, (_, _, _, words))| words.split_whitespace().map(move |word| (word, place)))
        .collect()
});

/// The activities that lower-case words mention as something done, as places in [`ACTIVITIES`].
pub(super) fn mentioned(words: &[&str]) -> Vec<usize> {
    let mut found: Vec<usize> = words
        .iter()
        .enumerate()
        .filter(|(at, _)| !is_figure(words, *at))
        .filter_map(|(_, word)| BY_WORD.get(word).copied())
        .collect();
    if words
        .windows(2)
        .any(|pair| pair[0] == "video" && matches!(pair[1], "game" | "games"))
    {
        found.extend(BY_WORD.get("gaming").copied());
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Words that mention an activity without doing it: "runs a shop", "running late", "ran into", "book a flight".
fn is_figure(words: &[&str], at: usize) -> bool {
    let next = words.get(at + 1).copied().unwrap_or("");
    let after = words.get(at + 2).copied().unwrap_or("");
    let before = at.checked_sub(1).and_then(|at| words.get(at)).copied().unwrap_or("");
    match words[at] {
        "runs" | "ran" | "running" => {
            matches!(
                next,
                "into"
                    | "out"
                    | "late"
                    | "low"
                    | "across"
                    | "away"
                    | "my"
                    | "their"
                    | "its"
                    | "his"
                    | "her"
                    | "for"
                    | "tests"
            ) || matches!(next, "a" | "an" | "the" | "own")
                && !matches!(after, "marathon" | "race" | "half" | "charity" | "10k" | "5k")
                || matches!(before, "up" | "is" | "keep" | "it") && !matches!(next, "every" | "in" | "a")
        }
        "writing" | "writes" | "wrote" => matches!(next, "down" | "off" | "to" | "code" | "tests" | "back"),
        "cook" | "paint" | "volunteer" | "volunteers" | "surf" => {
            matches!(
                before,
                "a" | "the" | "good" | "wet" | "their" | "other" | "fellow" | "of" | "our"
            )
        }
        "climbing" => matches!(next, "the" | "stairs"),
        "drawing" | "drew" => matches!(next, "attention" | "on" | "from" | "near"),
        _ => false,
    }
}

/// Whether the word belongs to an activity, so that it is no topic of its own.
pub(super) fn is_activity(word: &str) -> bool {
    BY_WORD.contains_key(word) || BY_WORD.keys().any(|known| stem(known) == stem(word))
}
