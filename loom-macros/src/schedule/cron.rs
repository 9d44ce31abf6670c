//! Cron expressions of five fields, read strictly. Not an evaluator: nothing here knows what time it is.
//!
//! ```text
//! minute hour day-of-month month day-of-week
//! field = item { "," item }
//! item  = ( "*" | value [ "-" value ] ) [ "/" step ]      a step needs `*` or a range before it
//! ```
//!
//! Months and days of the week may go by their English names of three letters; Sunday is 0, 7 or `SUN`.

use std::ops::RangeInclusive;

/// What is wrong with an expression, and the fix.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) message: String,
    pub(super) help: String,
}

struct Field {
    name: &'static str,
    place: &'static str,
    range: RangeInclusive<u8>,
    names: &'static [&'static str],
}

const MONTHS: &[&str] = &["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const DAYS: &[&str] = &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

const FIELDS: [Field; 5] = [
    Field { name: "minute", place: "first", range: 0..=59, names: &[] },
    Field { name: "hour", place: "second", range: 0..=23, names: &[] },
    Field { name: "day of the month", place: "third", range: 1..=31, names: &[] },
    Field { name: "month", place: "fourth", range: 1..=12, names: MONTHS },
    Field { name: "day of the week", place: "last", range: 0..=7, names: DAYS },
];

/// The longest that each month can be.
const LENGTHS: [u8; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

const ORDER: &str = "write minute, hour, day of the month, month, day of the week: \"0 9 * * MON-FRI\"";

/// What some programs write for common expressions.
const NICKNAMES: [(&[&str], &str); 5] = [
    (&["yearly", "annually"], "0 0 1 1 *"),
    (&["monthly"], "0 0 1 * *"),
    (&["weekly"], "0 0 * * 0"),
    (&["daily", "midnight"], "0 0 * * *"),
    (&["hourly"], "0 * * * *"),
];

/// Reads an expression, and asks whether there is any day on which it is due.
pub(super) fn check(text: &str) -> Result<(), Wrong> {
    let written: Vec<&str> = text.split_whitespace().collect();
    if let Some(nickname) = text.trim().strip_prefix('@') {
        let known = NICKNAMES.iter().find(|(names, _)| names.contains(&nickname));
        return Err(Wrong {
            message: format!("`{}` is a nickname, and a schedule is written out in five fields", text.trim()),
            help: match known {
                Some((_, written_out)) => format!("write \"{written_out}\""),
                None => ORDER.into(),
            },
        });
    }
    if written.len() != FIELDS.len() {
        let (count, noun) = (written.len(), if written.len() == 1 { "field" } else { "fields" });
        return Err(Wrong {
            message: match count {
                0 => "there is nothing in this schedule, and a cron expression has five fields".to_owned(),
                _ => format!("`{text}` has {count} {noun}, and a cron expression has five"),
            },
            help: match count {
                6 | 7 => format!("{ORDER}; there are no seconds and no years"),
                _ => ORDER.into(),
            },
        });
    }
    let mut sets = [0_u64; 5];
    for ((set, field), written) in sets.iter_mut().zip(&FIELDS).zip(&written) {
        *set = field.read(written, text)?;
    }
    let [_, _, days, months, _] = sets;
    // With both given, either day is enough; so only a day of the month alone can be one that never is.
    let longest =
        (1..=12_u8).filter(|month| months >> month & 1 == 1).map(|month| LENGTHS[month as usize - 1]);
    let never = days.trailing_zeros() > u32::from(longest.max().unwrap_or(0));
    if written[4] == "*" && never {
        return Err(Wrong {
            message: format!("`{text}` is never due: no such month has that day"),
            help:
                "name a day that the month has; the last of a month is the first of the next, a step earlier"
                    .into(),
        });
    }
    Ok(())
}

impl Field {
    /// The values that a field stands for, as bits.
    fn read(&self, written: &str, cron: &str) -> Result<u64, Wrong> {
        let mut set = 0;
        for item in written.split(',') {
            set |= self.item(item).map_err(|why| self.wrong(item, &why, cron))?;
        }
        Ok(set)
    }

    /// The values of one of its items, or why it has none.
    fn item(&self, item: &str) -> Result<u64, String> {
        let (values, step) = match item.split_once('/') {
            Some((values, step)) => (values, Some(step)),
            None => (item, None),
        };
        let (first, last) = match values.split_once('-') {
            _ if values == "*" => (*self.range.start(), *self.range.end()),
            Some((first, last)) => (self.value(first)?, self.value(last)?),
            None if step.is_some() => return Err("a step needs `*` or a range before it".into()),
            None => {
                let value = self.value(values)?;
                (value, value)
            }
        };
        if first > last {
            return Err("a range goes upwards".into());
        }
        let step = match step.map(str::parse) {
            None => 1,
            Some(Ok(step)) if step >= 1 && step <= usize::from(*self.range.end()) => step,
            Some(_) => return Err("a step is a whole number from 1, within the field".into()),
        };
        Ok((first..=last).step_by(step).fold(0, |set, value| set | 1 << value))
    }

    fn value(&self, text: &str) -> Result<u8, String> {
        let (from, to) = (*self.range.start(), *self.range.end());
        let named = self.names.iter().zip(from..).find(|(name, _)| name.eq_ignore_ascii_case(text));
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match named.map(|(_, value)| value).or_else(|| text.parse().ok().filter(|_| digits)) {
            Some(value) if self.range.contains(&value) => Ok(value),
            _ => Err(format!("it goes from {from} to {to}")),
        }
    }

    /// Names the field: no span is narrower than the literal.
    fn wrong(&self, item: &str, why: &str, cron: &str) -> Wrong {
        let names = match self.names {
            [first, .., last] => format!(", or the names {first} to {last}"),
            _ => String::new(),
        };
        Wrong {
            message: format!("`{item}` is no {}, the {} field of `{cron}`: {why}", self.name, self.place),
            help: format!(
                "write `*`, a value from {} to {}{names}, a range `a-b`, a step `*/n`, or several with commas",
                self.range.start(),
                self.range.end()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn what_comes_due_is_read() {
        for good in [
            "0 9 * * MON-FRI",
            "*/15 0-6,18-23 * * *",
            "0 0 29 2 *",
            "0 0 1,15 jan,jul *",
            "0 0 31 2 MON",
            "5 4 * * 7",
            "  0   0 1-31/2 * * ",
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
    }

    #[test]
    fn what_does_not_is_refused() {
        for (bad, why) in [
            ("", "nothing"),
            ("5", "1 field,"),
            ("0 9 * *", "4 fields"),
            ("0 0 9 * * *", "6 fields"),
            ("@daily", "nickname"),
            ("@reboot", "nickname"),
            ("60 * * * *", "from 0 to 59"),
            ("* 24 * * *", "hour"),
            ("* * 0 * *", "from 1 to 31"),
            ("* * * 13 *", "month"),
            ("* * * * 8", "from 0 to 7"),
            ("* * * * MONDAY", "day of the week"),
            ("5/10 * * * *", "a step needs"),
            ("*/0 * * * *", "a step is"),
            ("*/60 * * * *", "a step is"),
            ("9-5 * * * *", "upwards"),
            ("1,,2 * * * *", "minute"),
            ("+1 * * * *", "minute"),
            ("L * * * *", "minute"),
            ("0 0 30 2 *", "never due"),
            ("0 0 31 4,6,9,11 *", "never due"),
        ] {
            let wrong = check(bad).expect_err(bad);
            assert!(wrong.message.contains(why), "{bad}: {}", wrong.message);
        }
    }
}
