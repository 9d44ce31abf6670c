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
    if let Some(current) = event.version {
        event.upcasts.check(current, &event.ident, "events", event.understood, &mut diagnostics);
    }
    diagnostics.seal(event)
}
