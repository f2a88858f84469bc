//! Relative dates in English made absolute: "last Saturday" becomes "last Saturday (2023-05-20)".

use jiff::civil::{Date, Weekday};
use jiff::{Span, ToSpan as _};

use super::token::{Token, tokens};
use crate::time::Time;

/// Appends the date, month, week or year that each relative expression of `text` means when said at `said`.
///
/// Weeks begin on Monday and are named by it, weekends by their Saturday; "last Saturday" is the latest one before that
/// day, "next Friday" the first one after it. What is not certain ("the other day", "on Monday") stays as it is.
pub(super) fn make_absolute(text: &str, said: Time) -> String {
    let Some(day) = said.to_date().parse::<Date>().ok() else {
        return text.to_owned();
    };
    let found = tokens(text);
    let mut result = String::with_capacity(text.len() + 16);
    let (mut from, mut at) = (0, 0);
    while at < found.len() {
        let Some((length, meaning)) = meaning(&found[at..], day) else {
            at += 1;
            continue;
        };
        let last = &found[at + length - 1];
        at += length;
        let noted = text[last.end()..].trim_start().starts_with('(');
        result.push_str(&text[from..last.end()]);
        if !noted {
            result.push_str(" (");
            result.push_str(&meaning);
            result.push(')');
        }
        from = last.end();
    }
    result.push_str(&text[from..]);
    result
}

/// How many tokens the expression at the beginning takes, and what it means.
fn meaning(found: &[Token<'_>], day: Date) -> Option<(usize, String)> {
    let word = |i: usize| found.get(i).map_or("", |t| t.lower.as_str());
    let plain = |days: i64| shift(day, days.days()).map(|d| d.to_string());
    match word(0) {
        "yesterday" => Some((1, plain(-1)?)),
        "today" | "tonight" => Some((1, plain(0)?)),
        "tomorrow" => Some((1, plain(1)?)),
        "last" if word(1) == "night" => Some((2, plain(-1)?)),
        "this" if matches!(word(1), "morning" | "afternoon" | "evening") => Some((2, plain(0)?)),
        "last" | "past" => relative(word(1), -1, day).map(|text| (2, text)),
        "next" => relative(word(1), 1, day).map(|text| (2, text)),
        "this" => match word(1) {
            "week" | "month" | "year" | "weekend" => relative(word(1), 0, day).map(|text| (2, text)),
            _ => None,
        },
        "in" => {
            let (length, span, unit) = amount(&found[1..], 1)?;
            let over = matches!(word(1 + length), "from" | "of" | "time" | "or" | "to");
            (!over && unit != "hour").then_some(())?;
            Some((1 + length, stretch(day, span, unit)?))
        }
        _ => {
            let (length, span, unit) = amount(found, -1)?;
            (word(length) == "ago").then_some(())?;
            Some((length + 1, stretch(day, span, unit)?))
        }
    }
}

/// "a week", "two weeks", "3 days": tokens, span with the sign, unit.
fn amount<'a>(found: &'a [Token<'_>], sign: i64) -> Option<(usize, Span, &'a str)> {
    let number: i64 = match found.first()?.lower.as_str() {
        "a" | "an" | "one" => 1,
        "two" => 2,
        "three" => 3,
        "four" => 4,
        "five" => 5,
        "six" => 6,
        "seven" => 7,
        "eight" => 8,
        "nine" => 9,
        "ten" => 10,
        digits => digits.parse().ok().filter(|n| (1..=120).contains(n))?,
    };
    let unit = found.get(1)?.lower.as_str();
    let unit = unit.strip_suffix('s').unwrap_or(unit);
    let span = match unit {
        "day" => Span::new().days(sign * number),
        "week" => Span::new().weeks(sign * number),
        "month" => Span::new().months(sign * number),
        "year" => Span::new().years(sign * number),
        _ => return None,
    };
    Some((2, span, unit))
}

/// A point a span away, no more precise than the unit it was given in.
fn stretch(day: Date, span: Span, unit: &str) -> Option<String> {
    let there = shift(day, span)?;
    Some(match unit {
        "month" => there.strftime("%Y-%m").to_string(),
        "year" => there.strftime("%Y").to_string(),
        "week" => format!("about {there}"),
        _ => there.to_string(),
    })
}

/// The last, this or next (−1, 0, 1) week, weekend, month, year or day of the week.
fn relative(unit: &str, step: i64, day: Date) -> Option<String> {
    let since_monday = i64::from(day.weekday().to_monday_zero_offset());
    let monday = shift(day, (step * 7 - since_monday).days())?;
    Some(match unit {
        "week" => format!("week of {monday}"),
        "weekend" => format!("weekend of {}", shift(monday, 5.days())?),
        "month" => {
            let first = Date::new(day.year(), day.month(), 1).ok()?;
            shift(first, step.months())?.strftime("%Y-%m").to_string()
        }
        "year" => (i64::from(day.year()) + step).to_string(),
        name => {
            let weekday = weekday(name)?;
            shift(
                day,
                if step < 0 {
                    days_back(day, weekday)
                } else {
                    days_ahead(day, weekday)
                }
                .days(),
            )?
            .to_string()
        }
    })
}

fn days_back(day: Date, weekday: Weekday) -> i64 {
    let gap = i64::from(day.weekday().since(weekday));
    if gap == 0 { -7 } else { -gap }
}

fn days_ahead(day: Date, weekday: Weekday) -> i64 {
    let gap = i64::from(weekday.since(day.weekday()));
    if gap == 0 { 7 } else { gap }
}

fn weekday(name: &str) -> Option<Weekday> {
    Some(match name {
        "monday" | "mon" => Weekday::Monday,
        "tuesday" | "tues" | "tue" => Weekday::Tuesday,
        "wednesday" | "wed" => Weekday::Wednesday,
        "thursday" | "thurs" | "thu" => Weekday::Thursday,
        "friday" | "fri" => Weekday::Friday,
        "saturday" | "sat" => Weekday::Saturday,
        "sunday" | "sun" => Weekday::Sunday,
        _ => return None,
    })
}

fn shift(day: Date, by: Span) -> Option<Date> {
    day.checked_add(by).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn relative_dates_become_absolute() {
        // A Thursday.
        let said = Time::parse("2023-05-25T13:14:00Z").unwrap();
        for (text, expected) in [
            ("ran yesterday.", "ran yesterday (2023-05-24)."),
            ("ran last Saturday", "ran last Saturday (2023-05-20)"),
            ("last Thursday", "last Thursday (2023-05-18)"),
            ("next Friday", "next Friday (2023-05-26)"),
            ("camping next month", "camping next month (2023-06)"),
            ("last week", "last week (week of 2023-05-15)"),
            ("this weekend", "this weekend (weekend of 2023-05-27)"),
            ("two weeks ago", "two weeks ago (about 2023-05-11)"),
            ("3 days ago", "3 days ago (2023-05-22)"),
            ("a year ago", "a year ago (2022)"),
            ("in two months", "in two months (2023-07)"),
            ("last year", "last year (2022)"),
            ("last night", "last night (2023-05-24)"),
            ("yesterday (2023-05-24)", "yesterday (2023-05-24)"),
            ("at last the day came", "at last the day came"),
            ("the last few years", "the last few years"),
            ("for two weeks", "for two weeks"),
            ("in one of the books", "in one of the books"),
        ] {
            assert_eq!(make_absolute(text, said), expected);
        }
    }
}
