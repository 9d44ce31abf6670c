//! The rules of `#[event]`, L0401 to L0405. Nothing is built here.

use syn::Ident;

use crate::arguments;
use crate::codes;
use crate::diagnostics::{Checked, Diagnostics, Faulty};

use super::model::Event;

/// Applies every rule.
pub(crate) fn check(
    event: Event,
    mut diagnostics: Diagnostics,
) -> Result<Checked<Event>, Box<Faulty<Event>>> {
    if let Some(keyword) = event.union {
        diagnostics.report(
            codes::EVENT_ITEM,
            Ident::new("union", keyword),
            "a union is no event: its data has no one shape",
            "use an enum",
        );
    }
    match &event.name {
        Some(name) => arguments::check_name(name, "event", &mut diagnostics),
        None if event.understood => diagnostics.report(
            codes::EVENT_NAME,
            &event.ident,
            format_args!("the event `{}` does not declare its name", event.ident),
            "write `#[event(name = \"order.placed\")]`: logs know it by this name, whatever the type is called",
        ),
        None => {}
    }
    for param in &event.generics.params {
        diagnostics.report(
            codes::EVENT_GENERIC,
            param,
            "an event has no generic parameters: a log names it, and nothing more",
            "write one event for each type",
        );
    }
    upcasts(&event, &mut diagnostics);
    diagnostics.seal(event)
}

/// The upcasters are a chain without gaps that ends at the version of today; it may begin anywhere.
fn upcasts(event: &Event, diagnostics: &mut Diagnostics) {
    let Some(current) = event.version else { return };
    let (mut expected, mut faulty) = (None, false);
    for upcast in &event.upcasts {
        let fault = match (upcast.version(), expected) {
            (None, _) => Some("a version is a whole number from 1".to_owned()),
            (Some(from), _) if from >= current => {
                Some(format!("nothing is older than itself: the version of today is {current}"))
            }
            (Some(from), Some(next)) if from != next => {
                Some(format!("after the upcaster of version {} comes that of version {next}", next - 1))
            }
            (Some(_), _) => None,
        };
        if let Some(fault) = fault {
            diagnostics.report(
                codes::UPCAST,
                &upcast.from,
                fault,
                "write one upcaster for each older version, in order: `upcast(1 => from_v1, 2 => from_v2)`",
            );
            faulty = true;
        }
        expected = upcast.version().map(|from| from + 1).or(expected.map(|from| from + 1));
    }
    if current > 1 && !faulty && event.understood && expected != Some(current) {
        let last = current - 1;
        diagnostics.report(
            codes::UPCAST,
            &event.ident,
            format_args!("nothing reads the events that version {last} of this type has written"),
            format_args!("add `upcast({last} => from_v{last})`, a function from the old data to the new"),
        );
    }
}
