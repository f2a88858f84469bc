//! Which values a slot can have: what only looks like one is refused here.

use super::pattern::Captures;
use super::{Slot, place, trade};
use crate::offline::token::{Kind, Token, tokens};

const STATUSES: &str = "single|married|engaged|divorced|widowed|separated|dating";
const PARTNERS: &str = "wife|husband|partner|girlfriend|boyfriend|spouse|fiancé|fiancée|fiance|fiancee";

/// What happens at a time of its own.
const EVENTS: &str = "meeting|standup|interview|appointment|call|review|demo|sync|retro|retrospective|party|exam|class|lesson|practice|rehearsal|\
    flight|launch|release|kickoff|workshop|session|dinner|wedding|game|match|concert|training|lecture|talk|presentation|webinar|club|\
    check-in|planning|seminar|course|hearing|surgery|checkup";

/// Those whose age may be told beside the peer's.
const KIN: &str = "son|daughter|husband|wife|partner|mother|mom|mum|father|dad|brother|sister|nephew|niece|grandmother|grandfather|\
    grandma|grandpa|dog|cat|puppy|kitten";

/// What a school is called by.
const SCHOOL: &str = "university|college|school|uni|academy|institute|polytechnic|high";

fn is_one_of(list: &str, word: &str) -> bool {
    list.split('|').any(|known| known == word)
}

/// A number of years, in digits or words.
fn years(word: &str) -> Option<u32> {
    const SMALL: &str = "zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|\
        seventeen|eighteen|nineteen|twenty";
    let spelt = SMALL.split('|').position(|w| w == word);
    word.parse()
        .ok()
        .or_else(|| u32::try_from(spelt?).ok())
        .filter(|n| *n <= 120)
}

/// The value if the slot can have it, tidied; `None` for what only looks like one.
pub(super) fn acceptable(slot: &Slot, value: &str, found: &[Token<'_>], captures: &Captures) -> Option<String> {
    let words = tokens(value);
    let first = words.first()?;
    let proper = words
        .iter()
        .filter(|t| !matches!(t.lower.as_str(), "the" | "of" | "&" | "de" | "la" | "st"))
        .all(|t| t.is_capitalised() || !t.text.is_ascii() || t.kind != Kind::Word || t.text.len() < 3);
    let starts_proper =
        first.is_capitalised() || !first.text.is_ascii() || (first.lower == "the" && words.len() > 1 && proper);
    let name = proper && starts_proper && words.len() <= 5;
    let ends = |allowed: &[&str]| {
        found
            .get(captures.end)
            .is_none_or(|t| !t.is_word() || allowed.contains(&t.lower.as_str()))
    };
    let keep = match slot {
        Slot::Home => name && (is_moving(found) || !trade::is_company(value)),
        Slot::Employer => {
            let school = found.first().is_some_and(|t| t.lower == "started" || t.lower == "has")
                && words.iter().any(|t| is_one_of(SCHOOL, &t.lower));
            let joined = captures
                .start('j')
                .is_none_or(|_| captures.text(found, 'j').is_some_and(|job| trade::is_occupation(&job)));
            name && !school
                && joined
                && !is_weekday(&first.lower)
                && place::relation(value, value) == place::Relation::Unknown
        }
        Slot::School => {
            let goes = found
                .iter()
                .take(2)
                .any(|t| matches!(t.lower.as_str(), "goes" | "go" | "attends" | "attend"));
            name && (!goes || words.iter().any(|t| is_one_of(SCHOOL, &t.lower)))
        }
        Slot::Manager => name,
        Slot::Partner => {
            let partner = captures
                .text(found, 'k')
                .is_none_or(|k| PARTNERS.split('|').any(|word| k == word));
            let single = words.iter().all(|t| t.is_capitalised() || !t.text.is_ascii());
            partner && single && words.len() <= 3 && !value.contains(',') && !is_weekday(&first.lower)
        }
        Slot::Name => name && words.len() <= 4,
        Slot::Major => words.len() <= 4 && !value.contains(','),
        Slot::Address => value.chars().any(|c| c.is_ascii_digit()) && words.len() >= 2,
        Slot::Job => trade::is_occupation(value) && words.len() <= 4,
        Slot::Status => {
            STATUSES.split('|').any(|status| status == first.lower)
                && words.len() == 1
                && ends(&[
                    "to",
                    "now",
                    "with",
                    "for",
                    "since",
                    "and",
                    "but",
                    "again",
                    "last",
                    "this",
                    "yesterday",
                    "today",
                    "in",
                    "on",
                ])
                && !found
                    .get(captures.end + 1)
                    .is_some_and(|t| matches!(t.lower.as_str(), "a" | "the" | "my" | "their"))
        }
        Slot::Diet => matches!(first.lower.as_str(), "vegan" | "vegetarian" | "pescatarian") && words.len() == 1,
        Slot::Age | Slot::KinAge(_) => {
            let kin = match slot {
                Slot::KinAge(about) => is_one_of(KIN, about.split(' ').next().unwrap_or("")),
                _ => years(&first.lower).is_some_and(|n| n >= 3),
            };
            let next = words.get(1).or_else(|| found.get(captures.end));
            let plain = next.is_none_or(|t| {
                !t.is_word()
                    || matches!(
                        t.lower.as_str(),
                        "years"
                            | "now"
                            | "today"
                            | "and"
                            | "but"
                            | "last"
                            | "this"
                            | "yesterday"
                            | "in"
                            | "already"
                            | "soon"
                    )
            });
            return years(&first.lower).filter(|_| kin && plain).map(|n| n.to_string());
        }
        Slot::Phone(_) => value.chars().filter(char::is_ascii_digit).count() >= 5,
        Slot::Email(_) => value.contains('@'),
        Slot::Favourite(_) => {
            words.len() <= 6 && !matches!(first.lower.as_str(), "when" | "how" | "to" | "that" | "so" | "not")
        }
        Slot::Due(about) => is_when(&words) && about.len() > 1 && !is_vague(about),
        Slot::Meeting(about) => {
            let topic = captures.text(found, 'k').unwrap_or_default().to_lowercase();
            let event = topic
                .split(' ')
                .any(|word| is_one_of(EVENTS, word) || word == "lessons" || word == "classes");
            let with = found.iter().take(2).any(|t| t.lower == "with");
            let hour = |t: &Token<'_>| t.text.parse::<u32>().is_ok_and(|n| n <= 24);
            let at = captures
                .start('v')
                .and_then(|v| v.checked_sub(1))
                .and_then(|v| found.get(v));
            let hour = words.len() == 1 && hour(first) && at.is_some_and(|t| t.lower == "at");
            (is_clock(&words) || hour) && (event || with) && about.len() > 1 && !is_vague(about)
        }
        Slot::Lead(about) => name && !is_vague(about) && words.len() <= 3,
    };
    keep.then(|| match slot {
        Slot::Job | Slot::Status | Slot::Diet => value.to_owned(),
        _ => value.trim_end_matches(['.', ',']).to_owned(),
    })
}

/// "moved to" may name a company: the caller decides with all that is known.
fn is_moving(found: &[Token<'_>]) -> bool {
    found.iter().take(3).any(|t| t.lower == "moved")
}

fn is_vague(about: &str) -> bool {
    matches!(
        about,
        "it" | "that" | "thi" | "what" | "he" | "she" | "they" | "thing" | "one" | "everything" | "i" | "we" | "here"
    )
}

fn is_weekday(word: &str) -> bool {
    word.ends_with("day")
}

/// A day or a time of day: "Thursday at 11am", "9:30", "14 March", but no bare number.
fn is_clock(words: &[Token<'_>]) -> bool {
    let bare = |t: &Token<'_>| t.text.chars().all(|c| c.is_ascii_digit());
    let timed = |t: &&Token<'_>| !bare(t) && is_when(std::slice::from_ref(*t));
    let plural = |t: &Token<'_>| {
        t.lower
            .strip_suffix('s')
            .is_some_and(|day| day.len() >= 6 && is_weekday(day))
    };
    words.iter().any(|t| timed(&t) || plural(t))
}

/// A date, a day or a time.
fn is_when(words: &[Token<'_>]) -> bool {
    const MONTHS: &[&str] = &[
        "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "oct", "nov", "dec", "may", "noon", "midnight",
        "tomorrow", "tonight", "today", "eod",
    ];
    words.iter().any(|t| {
        t.lower.chars().any(|c| c.is_ascii_digit())
            || (t.is_capitalised() && MONTHS.iter().any(|month| t.lower.starts_with(month)))
            || matches!(t.lower.as_str(), "noon" | "midnight" | "tomorrow" | "tonight" | "today")
            || (t.lower.len() >= 6 && is_weekday(&t.lower))
    })
}
