//! The attribute macros of Loom: each parses an item, checks its rules and expands it against
//! `::loom::__v1`. They are not a place for behaviour: whatever happens at run time lives in the
//! runtime, and these crates know nothing of each other but the shape of that module.

mod agent;
mod arguments;
mod body;
mod codes;
mod completion;
mod diagnostics;
mod doc;
mod entry;
mod event;
mod failure;
mod fingerprint;
mod flow;
mod item;
mod keys;
mod location;
mod mended;
mod names;
mod policy;
mod printed;
mod projection;
mod registration;
mod runtime_path;
mod schedule;
mod similar;
mod skill;
mod step;
mod surface;
mod test;
#[cfg(test)]
mod tests;
mod tool;
mod upcasts;

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

/// Makes a type a domain event, known to logs by a declared name. Documented at `loom::event`.
#[proc_macro_attribute]
pub fn event(args: TokenStream, item: TokenStream) -> TokenStream {
    event::event(args.into(), item.into()).into()
}

/// Turns an `async fn` into a step that models may ask for. Documented at `loom::tool`.
#[proc_macro_attribute]
pub fn tool(args: TokenStream, item: TokenStream) -> TokenStream {
    tool::tool(args.into(), item.into()).into()
}

/// Makes a unit struct a skill, with a file of instructions. Documented at `loom::skill`.
#[proc_macro_attribute]
pub fn skill(args: TokenStream, item: TokenStream) -> TokenStream {
    skill::skill(args.into(), item.into()).into()
}

/// Turns an `async fn` into a flow that works with a model. Documented at `loom::agent`.
#[proc_macro_attribute]
pub fn agent(args: TokenStream, item: TokenStream) -> TokenStream {
    agent::agent(args.into(), item.into()).into()
}

/// Makes a type a read model, by an `impl` block of folds. Documented at `loom::projection`.
#[proc_macro_attribute]
pub fn projection(args: TokenStream, item: TokenStream) -> TokenStream {
    projection::projection(args.into(), item.into()).into()
}

/// Names a policy, so that flows and agents can refer to it. Documented at `loom::policy`.
#[proc_macro_attribute]
pub fn policy(args: TokenStream, item: TokenStream) -> TokenStream {
    policy::policy(args.into(), item.into()).into()
}

/// Turns an `async fn` into a test of flows. Documented at `loom::test`.
#[proc_macro_attribute]
pub fn test(args: TokenStream, item: TokenStream) -> TokenStream {
    test::test(args.into(), item.into()).into()
}
