//! From a message to its sentences: code, quotes and log lines left out, the rest cut where a sentence ends.

use super::lexicon::word_set;
use super::token::is_ideographic;

word_set! {
    /// Words after whose full stop the sentence goes on.
    ABBREVIATION = "mr mrs ms dr prof st vs etc e.g i.e eg ie approx jr sr inc ltd co corp no vol fig dept a.m p.m am pm
        u.s u.k sra srta bzw ca z.b usw"
}

/// A sentence and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sentence<'a> {
    /// Its text without the mark at its end.
    pub(super) text: &'a str,
    /// The mark at its end: `.`, `?`, `!`, or `\n` when there is none.
    pub(super) end: char,
}

/// The longest sentence that can be one statement, in characters; longer ones are dumps.
const MAX_CHARS: usize = 600;

/// The message without fenced code, quoted lines and lines that machines wrote, one block of prose per entry.
pub(super) fn prose(message: &str) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    let mut fence: Option<&str> = None;
    let mut open = false;
    for line in message.lines() {
        let trimmed = line.trim();
        if let Some(mark) = fence {
            if trimmed.starts_with(mark) {
                fence = None;
            }
            open = false;
            continue;
        }
        if let Some(mark) = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark)) {
            if !trimmed[mark.len()..].contains(mark) {
                fence = Some(mark);
            }
            open = false;
            continue;
        }
        let code = line.starts_with("    ") && line.contains(['{', '}', ';', '=', '(']);
        if trimmed.is_empty() || trimmed.starts_with(['>', '|', '#']) || code || is_machine(trimmed) {
            open = false;
            continue;
        }
        let (item, text) = list_item(trimmed);
        let goes_on = open && !item && text.chars().next().is_some_and(char::is_lowercase);
        match blocks.last_mut() {
            Some(block) if goes_on => {
                block.push(' ');
                block.push_str(text);
            }
            _ => blocks.push(text.to_owned()),
        }
        open = true;
    }
    blocks
}

/// Whether a list marker stands before the line's text, and that text.
fn list_item(line: &str) -> (bool, &str) {
    for marker in ["- ", "* ", "• ", "· ", "– ", "+ "] {
        if let Some(rest) = line.strip_prefix(marker) {
            return (true, rest.trim_start());
        }
    }
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if (1..=2).contains(&digits)
        && let Some(rest) = line[digits..]
            .strip_prefix(". ")
            .or_else(|| line[digits..].strip_prefix(") "))
    {
        return (true, rest.trim_start());
    }
    (false, line)
}

/// Whether a machine wrote the line: JSON, a stack trace, a log line, a shell prompt, markup.
fn is_machine(line: &str) -> bool {
    let head: String = line.chars().take(24).collect();
    let first_word = head.split_whitespace().next().unwrap_or("");
    let dated = first_word.len() >= 8
        && first_word.chars().filter(char::is_ascii_digit).count() * 2 >= first_word.len()
        && first_word.contains([':', '-', '/']);
    let json = line.starts_with(['{', '}']) || (line.starts_with('[') && line.contains([':', '"', ']']));
    let level = matches!(
        first_word.trim_matches(['[', ']', ':']),
        "INFO"
            | "WARN"
            | "WARNING"
            | "ERROR"
            | "DEBUG"
            | "TRACE"
            | "FATAL"
            | "Traceback"
            | "$"
            | "%"
            | "Cron"
            | "Heartbeat"
            | "at"
            | "File"
    ) && (first_word.contains([':', '[', '$', '%']) || line.contains([':', '(', '\'', '/']));
    let signs = line
        .chars()
        .filter(|c| matches!(c, '{' | '}' | '=' | ';' | '<' | '>' | '|' | '\\' | '_'))
        .count();
    json || dated || level || signs * 8 > line.chars().count()
}

/// The sentences of a block of prose.
pub(super) fn sentences(block: &str) -> Vec<Sentence<'_>> {
    let mut found = Vec::new();
    let mut begin = 0;
    let mut quote: Option<char> = None;
    let mut chars = block.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let after = chars.peek().map(|(_, c)| *c);
        match quote {
            Some(close) if c == close => quote = None,
            None => quote = closing_quote(c, &block[at + c.len_utf8()..]),
            Some(_) => {}
        }
        if quote.is_some() {
            continue;
        }
        let ends = match c {
            '。' | '！' | '？' | '｡' | '؟' | '।' | '॥' | '۔' | '…' | '‽' => true,
            '.' | '!' | '?' => {
                after.is_none_or(|next| {
                    next.is_whitespace() || is_ideographic(next) || is_closing(next) || is_emoji(next)
                }) && !(c == '.' && is_abbreviated(&block[begin..at], &block[at + 1..]))
            }
            _ => false,
        };
        if !ends {
            continue;
        }
        let mut mark = c;
        let mut stop = at + c.len_utf8();
        while let Some((next_at, next)) = chars.peek().copied() {
            if matches!(next, '.' | '!' | '?' | '！' | '？' | '。' | '…') || is_closing(next) {
                if matches!(next, '?' | '？') {
                    mark = '?';
                }
                stop = next_at + next.len_utf8();
                chars.next();
            } else {
                break;
            }
        }
        push(&mut found, &block[begin..at], mark);
        begin = stop;
    }
    push(&mut found, block.get(begin..).unwrap_or(""), '\n');
    found
}

fn push<'a>(found: &mut Vec<Sentence<'a>>, text: &'a str, mark: char) {
    let text = text.trim_matches(|c: char| c.is_whitespace() || is_emoji(c) || matches!(c, ')' | '—' | '–' | '*'));
    let text = text.trim_end_matches(['.', '!', '?', '…', ' ']);
    if text.is_empty() || text.chars().count() > MAX_CHARS || !text.chars().any(char::is_alphabetic) {
        return;
    }
    let end = match mark {
        '?' | '？' | '؟' | '‽' => '?',
        '!' | '！' => '!',
        '\n' => '\n',
        _ => '.',
    };
    found.push(Sentence { text, end });
}

/// The mark that closes a quotation, when `c` opens one that closes within the block.
fn closing_quote(c: char, rest: &str) -> Option<char> {
    let close = match c {
        '"' => '"',
        '“' | '„' => '”',
        '«' => '»',
        '「' => '」',
        '『' => '』',
        '《' => '》',
        _ => return None,
    };
    rest.chars().take(200).any(|next| next == close).then_some(close)
}

fn is_closing(c: char) -> bool {
    matches!(c, ')' | ']' | '"' | '”' | '»' | '’' | '\'' | '」' | '』' | '）')
}

/// Pictures, and the joiners and selectors that belong to them.
pub(super) fn is_emoji(c: char) -> bool {
    matches!(u32::from(c), 0x2190..=0x21FF | 0x2300..=0x27BF | 0x2B00..=0x2BFF | 0xFE0F | 0x1F000..=0x1FAFF)
}

/// Whether the full stop after `before` belongs to a word: `Dr.`, an initial, `e.g.`.
fn is_abbreviated(before: &str, after: &str) -> bool {
    let word = before
        .rsplit(|c: char| c.is_whitespace() || c == '(')
        .next()
        .unwrap_or("");
    let lower = word.to_lowercase();
    let next = after.trim_start().chars().next();
    if ABBREVIATION.contains(lower.as_str()) {
        let clock = matches!(
            lower.as_str(),
            "a.m" | "p.m" | "am" | "pm" | "etc" | "u.s" | "u.k" | "no" | "co"
        );
        return !clock || next.is_some_and(char::is_lowercase);
    }
    word.chars().count() == 1 && word != "I" && word.chars().all(char::is_uppercase) && next.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<String> {
        sentences(text).iter().map(|s| format!("{}{}", s.text, s.end)).collect()
    }

    #[test]
    fn sentences_end_where_readers_end_them() {
        assert_eq!(
            cut("I met Dr. Ito at 3 p.m. on Friday. She's e.g. kind! Right?? I use v1.2"),
            [
                "I met Dr. Ito at 3 p.m. on Friday.",
                "She's e.g. kind!",
                "Right?",
                "I use v1.2\n"
            ]
        );
        assert_eq!(
            cut("我住在北京。你呢？我喜欢画画！"),
            ["我住在北京.", "你呢?", "我喜欢画画!"]
        );
        assert_eq!(cut("मैं दिल्ली में रहता हूँ। ठीक"), ["मैं दिल्ली में रहता हूँ.", "ठीक\n"]);
        assert_eq!(
            cut("He said \"I quit. Today.\" and left."),
            ["He said \"I quit. Today.\" and left."]
        );
        assert_eq!(cut("Hi 😀 I ran. 🎉🎉"), ["Hi 😀 I ran."]);
    }

    #[test]
    fn code_quotes_and_logs_are_not_prose() {
        let message = "I use Rust.\n```rust\nI am code\n```\n> I am quoted\n{\"i\": 1}\nERROR: I failed\n\
            2026-01-01T10:00:00Z I am a log\n- I like tea\n2. I like\n   long walks";
        assert_eq!(prose(message), ["I use Rust.", "I like tea", "I like long walks"]);
    }
}
