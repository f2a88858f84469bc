//! Numbers as filters compare them: whole ones exactly, whatever their size, others as JSON has them.

use std::cmp::Ordering;

use serde_json::Number as JsonNumber;

/// A finite number, with a total order by value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    Whole(i128),
    /// With a fraction, or beyond what `Whole` holds.
    Real(f64),
}

/// 2^126: up to here a float without a fraction is a whole number.
const WHOLE: f64 = 85_070_591_730_234_615_865_843_651_857_942_052_864.0;

impl Number {
    /// From JSON, whose numbers are finite.
    pub(super) fn of(number: &JsonNumber) -> Option<Self> {
        let whole = number
            .as_i64()
            .map(i128::from)
            .or_else(|| number.as_u64().map(i128::from));
        whole.map(Self::Whole).or_else(|| number.as_f64().and_then(Self::real))
    }

    /// From text as SQL casts it: a decimal number, white space around it allowed; no `NaN`, no infinity.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if !text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte))
        {
            return None;
        }
        let whole = text.parse().ok().map(Self::Whole);
        whole.or_else(|| text.parse().ok().and_then(Self::real))
    }

    fn real(float: f64) -> Option<Self> {
        if !float.is_finite() {
            return None;
        }
        #[allow(clippy::cast_possible_truncation, reason = "no fraction, and within the range")]
        Some(if float.fract() == 0.0 && float.abs() <= WHOLE {
            Self::Whole(float as i128)
        } else {
            Self::Real(float)
        })
    }
}

impl From<u64> for Number {
    fn from(count: u64) -> Self {
        Self::Whole(count.into())
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Whole(a), Self::Whole(b)) => a.cmp(b),
            (Self::Real(a), Self::Real(b)) => a.total_cmp(b),
            (Self::Whole(a), Self::Real(b)) => against(*a, *b),
            (Self::Real(a), Self::Whole(b)) => against(*b, *a).reverse(),
        }
    }
}

/// A whole number against a float: one that has a fraction, or lies beyond [`WHOLE`], where floats are spaced so widely
/// that rounding decides nothing but how two huge numbers of almost the same size compare.
fn against(whole: i128, real: f64) -> Ordering {
    if real.abs() > WHOLE {
        return if real > 0.0 { Ordering::Less } else { Ordering::Greater };
    }
    #[allow(clippy::cast_possible_truncation, reason = "within the range")]
    let below = real.floor() as i128;
    whole.cmp(&below).then(Ordering::Less)
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Option<Number> {
        Number::parse(text)
    }

    #[test]
    fn whole_numbers_are_exact_beyond_what_a_float_holds() {
        assert!(parse("9007199254740993") > parse("9007199254740992"));
        assert!(parse("9223372036854775807") < parse("9223372036854775808"));
        assert!(parse("170141183460469231731687303715884105727") < parse("1e39"));
        assert!(parse("-170141183460469231731687303715884105728") > parse("-1e39"));
    }

    #[test]
    fn text_is_cast_as_sql_does() {
        assert_eq!(parse(" 5 "), parse("5.0"));
        assert_eq!(parse("05"), parse("5"));
        assert_eq!(parse("010.50"), parse("10.5"));
        assert_eq!(parse("-0"), parse("0.0"));
        assert_eq!(parse("5e0"), parse("5"));
        for text in ["", " ", "NaN", "infinity", "-inf", "true", "1_000", "0x5", "2.0.1", "e"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_order_is_that_of_the_values(a in any::<i32>(), b in -1e12..1e12_f64) {
            let whole = Number::Whole(a.into());
            let Some(real) = Number::real(b) else { return Err(TestCaseError::fail("finite")) };
            prop_assert_eq!(Some(whole.cmp(&real)), f64::from(a).partial_cmp(&b));
            prop_assert_eq!(whole.cmp(&real), real.cmp(&whole).reverse());
        }
    }
}
