//! Instants and durations for people: UTC, and how far away that is.
//! Not a calendar: days have 24 hours here.

use std::time::Duration;

use loom_runtime::Timestamp;

/// `2026-11-30 02:20:50Z`.
pub(crate) fn instant(at: Timestamp) -> String {
    let text = at.to_string();
    match text.split_once('.') {
        Some((seconds, _)) => format!("{}Z", seconds.replacen('T', " ", 1)),
        None => text,
    }
}

/// `2026-11-30 02:20:50.123Z`.
pub(crate) fn precise(at: Timestamp) -> String {
    let millis = at.as_micros().rem_euclid(1_000_000) / 1_000;
    format!("{}.{millis:03}Z", instant(at).trim_end_matches('Z'))
}

/// `2026-11-30 02:20:50Z (in 2d 3h)`.
pub(crate) fn with_distance(at: Timestamp, now: Timestamp) -> String {
    format!("{} ({})", instant(at), distance(at, now))
}

/// `in 2d 3h`, `5m ago`; less than a second is `now`.
pub(crate) fn distance(at: Timestamp, now: Timestamp) -> String {
    let (ahead, behind) = (at.since(now), now.since(at));
    match (ahead.as_secs(), behind.as_secs()) {
        (0, 0) => "now".into(),
        (0, _) => format!("{} ago", span(behind)),
        _ => format!("in {}", span(ahead)),
    }
}

/// The two largest units: `2d 3h`, `1m 30s`, `200ms`.
pub(crate) fn span(span: Duration) -> String {
    let seconds = span.as_secs();
    if seconds == 0 {
        return format!("{}ms", span.as_millis());
    }
    let units =
        [(seconds / 86_400, "d"), (seconds / 3_600 % 24, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s")];
    let mut shown: Vec<_> = units.iter().skip_while(|(many, _)| *many == 0).take(2).collect();
    shown.retain(|(many, _)| *many > 0);
    let shown: Vec<_> = shown.iter().map(|(many, unit)| format!("{many}{unit}")).collect();
    shown.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_units_are_enough() {
        assert_eq!(span(Duration::from_secs(2 * 86_400 + 3 * 3_600 + 5)), "2d 3h");
        assert_eq!(span(Duration::from_secs(60)), "1m");
        assert_eq!(span(Duration::from_millis(200)), "200ms");
        let at = Timestamp::from_micros(90_123_456);
        assert_eq!(distance(at, Timestamp::EPOCH), "in 1m 30s");
        assert_eq!(distance(Timestamp::EPOCH, at), "1m 30s ago");
        assert_eq!(distance(at, at.plus(Duration::from_millis(999))), "now");
        assert_eq!(instant(at), "1970-01-01 00:01:30Z");
        assert_eq!(precise(at), "1970-01-01 00:01:30.123Z");
    }
}
