//! Verb agreement: what follows "I" made to follow a name.

use super::lexicon::word_set;

word_set! {
    /// Past forms without `-ed`, and modals: the same in every person.
    UNCHANGING = "arose ate awoke beat became began bent bit bled blew bought bound bred broke brought built burnt came
        can caught chose clung could crept dealt did dove drank dreamt drew drove dug dwelt fed fell felt flew fled
        forgave forgot fought found froze gave got grew ground had heard held hid hung kept knelt knew laid leapt learnt
        led left lent lit lost made may meant met might misunderstood must ought overcame overheard paid quit ran rang
        rebuilt redid rode rose said sang sank sat saw sent shall shook shot should shrank slept slid sold sought spent
        split spoke spun stank stole stood stuck strove struck stung swam swept swore swung taught thought threw told
        took tore understood undid was went will withdrew woke won wore would wound wove wrote put set hurt cut hit let
        shut cost spread upset bet"
}

word_set! {
    /// Base forms that end in `-ed`.
    BASE_IN_ED = "need feed speed breed bleed heed exceed proceed succeed seed embed weed wed shed bed shred"
}

word_set! {
    /// Base forms that may follow "and" as a second verb of the same subject.
    BASE = "act adore argue attend avoid bake bike build buy call care climb clean code collect commute compete cook
        create cycle dance design develop discuss draw drink drive eat edit enjoy exercise explore feed fix garden give
        go grow hate have help hike hope jog keep knit know learn like listen live love make manage meditate mentor need
        own paint plan play practice practise prefer read ride run sail sell sew sing skate sketch ski sleep speak
        spend study surf swim take talk teach tend think train travel try use visit volunteer walk want watch wear work
        worry write"
}

/// The third person singular of what stands after "I" or "we": `have` → `has`, `don't` → `does not`, `went` → `went`.
/// `past` says that something else in the sentence sets it in the past, which decides for `read`.
pub(super) fn third_person(verb: &str, past: bool) -> String {
    match verb {
        "am" | "are" => "is".into(),
        "were" => "was".into(),
        "have" => "has".into(),
        "do" => "does".into(),
        "don't" | "dont" => "does not".into(),
        "haven't" | "havent" => "has not".into(),
        "ain't" | "aren't" => "is not".into(),
        "can't" | "cant" | "cannot" => "cannot".into(),
        "didn't" | "didnt" => "did not".into(),
        "wasn't" | "weren't" => "was not".into(),
        "won't" | "wont" => "will not".into(),
        "couldn't" => "could not".into(),
        "hadn't" => "had not".into(),
        "read" if past => "read".into(),
        _ if is_unchanging(verb) => verb.to_owned(),
        _ => inflect(verb),
    }
}

/// What stands after "I" made to follow "they".
pub(super) fn plural(verb: &str) -> Option<&'static str> {
    match verb {
        "am" => Some("are"),
        "was" => Some("were"),
        "wasn't" => Some("weren't"),
        _ => None,
    }
}

/// Whether the word is a base form that can be the second of two coordinated verbs.
pub(super) fn is_base(word: &str) -> bool {
    BASE.contains(word)
}

/// Whether the form is a past tense or a modal.
pub(super) fn is_unchanging(verb: &str) -> bool {
    let stem = ["re", "over", "under", "mis", "out", "un"]
        .iter()
        .find_map(|front| verb.strip_prefix(front));
    UNCHANGING.contains(verb)
        || stem
            .is_some_and(|stem| stem.len() > 2 && UNCHANGING.contains(stem) && !matches!(stem, "fed" | "lay" | "set"))
        || (verb.ends_with("ed") && !BASE_IN_ED.contains(verb))
        || verb.ends_with("n't")
        || !verb.is_ascii()
}

fn inflect(verb: &str) -> String {
    let consonant_y = verb.ends_with('y') && !["ay", "ey", "oy", "uy"].iter().any(|tail| verb.ends_with(tail));
    if consonant_y {
        format!("{}ies", &verb[..verb.len() - 1])
    } else if ["s", "x", "z", "ch", "sh", "o"].iter().any(|tail| verb.ends_with(tail)) {
        format!("{verb}es")
    } else {
        format!("{verb}s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_agree_with_a_name() {
        for (verb, expected) in [
            ("am", "is"),
            ("have", "has"),
            ("don't", "does not"),
            ("go", "goes"),
            ("try", "tries"),
            ("play", "plays"),
            ("teach", "teaches"),
            ("need", "needs"),
            ("went", "went"),
            ("painted", "painted"),
            ("can", "can"),
            ("work", "works"),
            ("used", "used"),
            ("read", "reads"),
        ] {
            assert_eq!(third_person(verb, false), expected);
        }
        assert_eq!(third_person("read", true), "read");
    }
}
