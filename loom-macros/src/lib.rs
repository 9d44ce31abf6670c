//! The attribute macros of Loom: each parses an item, checks its rules and expands it against
//! `::loom::__v1`. They are not a place for behaviour: whatever happens at run time lives in the
//! runtime, and these crates know nothing of each other but the shape of that module.

mod arguments;
mod body;
mod codes;
mod diagnostics;
mod failure;
mod fingerprint;
mod flow;
mod item;
mod location;
mod names;
mod printed;
mod runtime_path;
mod step;
mod surface;
#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

/// Turns an `async fn` into a durable step. Documented at `loom::step`.
#[proc_macro_attribute]
pub fn step(args: TokenStream, item: TokenStream) -> TokenStream {
    step::step(args.into(), item.into()).into()
}

/// Turns an `async fn` into a durable flow, or a part of one. Documented at `loom::flow`.
#[proc_macro_attribute]
pub fn flow(args: TokenStream, item: TokenStream) -> TokenStream {
    flow::flow(args.into(), item.into()).into()
}

/// Makes an enum the failure channel of steps and flows. Documented at `loom::Failure`.
#[proc_macro_derive(Failure, attributes(failure))]
pub fn failure(item: TokenStream) -> TokenStream {
    failure::failure(item.into()).into()
}
