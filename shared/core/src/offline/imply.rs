//! Simple implications: what surely follows from one statement. The table is small because it must be certain.

use super::fact::{self, Fact, Kind, Slot};
use super::token::tokens;

/// What follows from a statement about `peer`, as statements of their own.
pub(super) fn of(peer: &str, content: &str, facts: &[Fact]) -> Vec<String> {
    let mut found = Vec::new();
    for fact in facts.iter().filter(|f| f.kind != Kind::End && !f.beside) {
        match &fact.slot {
            Slot::Home if fact.moved_from.is_none() || fact::country_of(&fact.value).is_some() => {
                if let Some(country) = fact::country_of(fact.value.split(',').next().unwrap_or("")) {
                    found.push(format!("{peer} lives in {country}."));
                }
            }
            Slot::Job => {
                if let Some(field) = fact::field_of(&fact.value) {
                    found.push(format!("{peer} works in {field}."));
                }
            }
            Slot::Partner
                if content.contains("married to") || content.contains("'s wife") || content.contains("'s husband") =>
            {
                found.push(format!("{peer} is married."));
            }
            Slot::Diet if fact.norm == "vegan" => {
                found.push(format!("{peer} does not eat meat, eggs or dairy."));
            }
            Slot::Diet if fact.norm == "vegetarian" => found.push(format!("{peer} does not eat meat.")),
            _ => {}
        }
    }
    if is_parent(peer, content) {
        found.push(format!("{peer} is a parent."));
    }
    found
}

/// "maya has a daughter", "maya's son Leo …", "maya has two kids". The verb must be present: "had" may be over.
fn is_parent(peer: &str, content: &str) -> bool {
    let Some(rest) = content.strip_prefix(peer) else {
        return false;
    };
    let words: Vec<String> = tokens(rest.strip_prefix("'s").unwrap_or(rest))
        .iter()
        .map(|t| t.lower.clone())
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let child = |w: &str| {
        matches!(
            w,
            "son" | "daughter" | "kids" | "children" | "sons" | "daughters" | "toddler" | "newborn"
        )
    };
    if rest.starts_with("'s") {
        return words.first().is_some_and(|w| child(w)) && words.get(1).is_none_or(|w| *w != "book");
    }
    match words.as_slice() {
        [
            "has",
            "a" | "one" | "two" | "three" | "four" | "five" | "2" | "3" | "4" | "their",
            rest @ ..,
        ] => {
            let adjectives = [
                "young",
                "little",
                "beautiful",
                "wonderful",
                "small",
                "teenage",
                "baby",
                "adult",
            ];
            let noun = rest.iter().find(|w| !adjectives.contains(w));
            noun.is_some_and(|w| child(w)) && rest.iter().take(3).all(|w| !matches!(*w, "book" | "in" | "for"))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h2_only_what_is_certain_follows() {
        let of = |content: &str| of("maya", content, &fact::read("maya", content));
        assert_eq!(
            of("maya works as a nurse at Mercy Hospital."),
            ["maya works in health care."]
        );
        assert_eq!(of("maya lives in Lisbon."), ["maya lives in Portugal."]);
        assert_eq!(of("maya is married to Tom."), ["maya is married."]);
        assert_eq!(of("maya has a daughter."), ["maya is a parent."]);
        assert_eq!(of("maya's son Leo loves trains."), ["maya is a parent."]);
        assert_eq!(of("maya is vegetarian."), ["maya does not eat meat."]);
        for content in [
            "maya lives in Cambridge.",
            "maya no longer lives in Lisbon.",
            "maya wants a daughter.",
            "maya has a children's book.",
            "Bob has a daughter.",
            "maya has a doctor.",
        ] {
            assert_eq!(of(content), Vec::<String>::new(), "{content}");
        }
    }
}
