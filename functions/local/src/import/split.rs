//! Splitting text that is longer than a message may be.

/// The longest content of a message, in characters (`contracts/honcho.md`).
const MAX_CHARS: usize = 25_000;
/// Where text is best cut, in order of preference.
const BREAKS: [&str; 4] = ["\n\n", "\n", ". ", " "];

/// The text in pieces that fit, cut after a paragraph, a line, a sentence or a word where there is one in the second
/// half of a piece. NUL characters, which no message keeps, go first, so that what is stored equals what is sent.
pub(super) fn pieces(text: &str) -> Vec<String> {
    let clean = text.replace('\0', "");
    let mut rest = clean.as_str();
    let mut pieces = Vec::new();
    while let Some((end, _)) = rest.char_indices().nth(MAX_CHARS) {
        let window = &rest[..end];
        let middle = window.char_indices().nth(MAX_CHARS / 2).map_or(0, |(at, _)| at);
        let cut = BREAKS
            .iter()
            .find_map(|at| {
                window
                    .rfind(at)
                    .map(|start| start + at.len())
                    .filter(|cut| *cut > middle)
            })
            .unwrap_or(end);
        pieces.push(rest[..cut].to_owned());
        rest = &rest[cut..];
    }
    pieces.push(rest.to_owned());
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_text_is_one_piece_even_when_empty() {
        assert_eq!(pieces(""), [""]);
        assert_eq!(pieces("a\0b"), ["ab"]);
        assert_eq!(pieces(&"é".repeat(MAX_CHARS)).len(), 1);
    }

    #[test]
    fn long_text_is_cut_at_the_best_place_and_nothing_is_lost() {
        let sentence = "The quick brown fox jumps over the lazy dog. ";
        for (text, ending) in [
            (format!("{}\n\n{}", sentence.repeat(400), sentence.repeat(400)), "\n\n"),
            (format!("{}\n{}", sentence.repeat(400), sentence.repeat(400)), "\n"),
            (sentence.repeat(800), ". "),
            ("word ".repeat(9_000), " "),
            ("é".repeat(60_000), "é"),
        ] {
            let pieces = pieces(&text);
            assert!(pieces.len() > 1);
            assert_eq!(pieces.concat(), text);
            assert!(pieces.iter().all(|piece| piece.chars().count() <= MAX_CHARS));
            assert!(pieces[0].ends_with(ending), "{ending:?}");
        }
    }
}
