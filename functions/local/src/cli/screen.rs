//! What a person sees: aligned, terse, coloured only on a terminal.

use std::io::{IsTerminal, Write};

/// Writes to standard output.
#[derive(Clone, Copy, Debug)]
pub(super) struct Screen {
    colour: bool,
}

/// Text is wrapped here.
const WIDTH: usize = 100;
/// The width of labels.
const LABEL: usize = 14;

impl Screen {
    pub(super) fn new() -> Self {
        let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Self { colour }
    }

    fn styled(self, code: &str, text: &str) -> String {
        if self.colour {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    pub(super) fn bold(self, text: &str) -> String {
        self.styled("1", text)
    }

    pub(super) fn dim(self, text: &str) -> String {
        self.styled("2", text)
    }

    pub(super) fn green(self, text: &str) -> String {
        self.styled("32", text)
    }

    pub(super) fn red(self, text: &str) -> String {
        self.styled("31", text)
    }

    /// A heading, with a blank line before it.
    pub(super) fn heading(self, text: &str) {
        line("");
        line(&self.bold(text));
    }

    /// A label and what belongs to it, wrapped under itself.
    pub(super) fn row(self, label: &str, text: &str) {
        for (index, part) in wrap(text, WIDTH - LABEL - 3).iter().enumerate() {
            self.raw_row(if index == 0 { label } else { "" }, part);
        }
    }

    /// A label and text that is aligned already.
    pub(super) fn raw_row(self, label: &str, text: &str) {
        line(&format!("  {} {text}", self.dim(&format!("{label:LABEL$}"))));
    }
}

/// A marked item, wrapped under itself.
pub(super) fn item(indent: usize, mark: &str, text: &str) {
    for (index, part) in wrap(text, WIDTH - indent - 2).iter().enumerate() {
        let mark = if index == 0 { mark } else { " " };
        line(&format!("{:indent$}{mark} {part}", ""));
    }
}

/// A line; a reader that has gone away is not our failure.
pub(super) fn line(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Lines of at most `width` characters, broken at spaces.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut length = 0;
    for word in text.split_whitespace() {
        let chars = word.chars().count();
        if length > 0 && length + 1 + chars > width {
            lines.push(String::new());
            length = 0;
        }
        if let Some(line) = lines.last_mut() {
            if length > 0 {
                line.push(' ');
                length += 1;
            }
            line.push_str(word);
            length += chars;
        }
    }
    lines
}

/// `1 message`, `2 messages`, `12,345 messages`.
pub(super) fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", thousands(number))
}

/// `12,345`.
pub(super) fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_wrap_and_long_ones_stay_whole() {
        assert_eq!(wrap("", 10), [""]);
        assert_eq!(wrap("one two  three", 8), ["one two", "three"]);
        assert_eq!(wrap("a verylongwordindeed b", 6), ["a", "verylongwordindeed", "b"]);
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(count(1, "message"), "1 message");
        assert_eq!(count(0, "message"), "0 messages");
        assert_eq!(count(1_234_567, "message"), "1,234,567 messages");
    }
}
