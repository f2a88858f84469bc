//! Clauses that only keep the talk going: "I agree", "I can imagine", "I'm so happy for her".

use std::sync::LazyLock;

/// What follows "I" and its adverbs in such clauses.
const PHRASES: &str = "
    agree; know; see; understand; hear; heard; bet; mean; guess; suppose; wonder; can imagine; can see; can tell;
    can relate; can understand; can totally; can help; can't agree; cannot agree; can't help; can't believe; can't
    argue; can't complain; can't thank; appreciate; apologize; apologise; promise; am glad; am so glad; am really
    glad; am happy for; am happy to; am so happy for; am proud; am so proud; am really proud; am super proud; am
    sorry; am so sorry; am here; am sure; am wondering; am curious; am afraid; am asking; am off; am listening; am
    impressed; am looking for; am always here; am just; am not sure; am honored; am all ears; was wondering; was
    just wondering; will let; will be here; will be sure; will check; will keep; will make sure; will do; will
    definitely; will have to; will try; will give; will send; will take; will see; will look; will look into; have
    to say; have to go; have got to go; have to agree; must say; need help; need advice; need to ask; need some
    help; have a question; want to know; want to ask; want to make sure; want to ensure; want to be sure; look
    forward to hearing; love that; love this; love it; love how; love the way; like that; like this; like how; like
    the sound; forgot to mention; take it; get it; get that; got it; got to go; noticed; hope it; hope that; hope
    this; hope everything; hope all; hope things; hope they; hope he; hope she; think it; think it's; think that;
    think that's; think they; think he; think she; think this; think so; think we; think i; believe it; believe in;
    believe that; did not know; didn't know; don't know; do not know; don't think; don't mind; could; couldn't;
    should; might; may; would; wouldn't; wish; wish i; gotta go; gotta run; swear; say; said; was thinking; never
    knew; knew; had no idea; have no idea; feel like i; feel that; thought; remember when; feel the same; feel you;
    need to go; need to get going; must; am doing; am good; am fine; am
    over the moon; am on fire; am not giving up; am not going to give up; am staying positive; am crossing my; wanted
    to check in; can only imagine; can't wait; cannot wait; am hoping for the best; have something to; am determined; am
    grateful; am thankful; am excited to see; am stoked; am going to keep on; am going to keep going; am going to keep
    pushing; am going to keep chasing; am looking forward to seeing; am up for the; am ready for; am trying to stay; am
    staying; have come so far; feel blessed
";

static TALK: LazyLock<Vec<Vec<&'static str>>> = LazyLock::new(|| {
    PHRASES
        .split(';')
        .map(|phrase| phrase.split_whitespace().collect())
        .collect()
});

/// Whether the words after "I" begin with such a phrase, intensifiers aside.
pub(super) fn is_talk(after: &[&str]) -> bool {
    let bare: Vec<&str> = after
        .iter()
        .enumerate()
        .filter(|(at, w)| {
            *at == 0
                || !matches!(
                    **w,
                    "so" | "really" | "very" | "just" | "totally" | "definitely" | "super"
                )
        })
        .map(|(_, w)| *w)
        .collect();
    TALK.iter().any(|phrase| {
        phrase
            .iter()
            .enumerate()
            .all(|(at, word)| bare.get(at) == Some(word) || after.get(at) == Some(word))
    })
}
