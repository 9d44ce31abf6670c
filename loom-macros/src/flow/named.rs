//! What the calls of a body name for the descriptor: the types of gates and messages, the steps, children
//! and parts. Said in the body, beside the call, since only there do names mean what they mean in it: below a `use`, or beside a type of the body's own. Not what
//! the calls do.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{quote, quote_spanned};

use crate::arguments::optional;
use crate::body::{Call, Callee, Target};
use crate::location;
use crate::runtime_path::RuntimePath;

use super::ceiling;
use super::model::Flow;

/// The type that stands for one body.
const BODY: &str = "__LoomBody";

/// The item that says it, for the block of one call.
pub(crate) fn beside(call: &Call, site: usize, runtime: &RuntimePath) -> Option<TokenStream> {
    let (body, site) = (Ident::new(BODY, Span::mixed_site()), Literal::usize_unsuffixed(site));
    let said = |kind: TokenStream, it: TokenStream| {
        quote_spanned! {Span::mixed_site()=>
            #[allow(non_local_definitions)]
            impl #runtime::NamedAt<#site, #kind> for #body { const IT: #kind = #it; }
        }
    };
    let data = quote_spanned!(Span::mixed_site()=> #runtime::DataType);
    match &call.target {
        Target::Gate { name: Some(_), ty: Some(ty) } => Some(said(data, runtime.data_of(ty))),
        Target::Message { name: Some(_), ty: Some(ty), reply } => {
            let message = said(data, runtime.data_of(ty));
            let reply = reply.as_ref().and_then(|reply| reply.ty.as_ref()).map(|ty| {
                let schema = quote_spanned!(Span::mixed_site()=> #runtime::SchemaFn);
                said(schema, runtime.schema_of(ty))
            });
            Some(quote!(#message #reply))
        }
        _ => match call.callee()? {
            Callee::Part(path) => {
                let part = quote_spanned!(Span::mixed_site()=> #runtime::PartFn);
                Some(said(part, ceiling::part(path, call, runtime)))
            }
            _ if !ceiling::is_readable(call) => None,
            Callee::Step(path) => {
                let step = quote_spanned!(Span::mixed_site()=> #runtime::StepFn);
                let given = ceiling::given(path, call, runtime);
                Some(said(step, quote_spanned!(Span::mixed_site()=> || #given.step())))
            }
            Callee::Flow(path) => {
                let flow = quote_spanned!(Span::mixed_site()=> #runtime::FlowFn);
                let given = ceiling::given(path, call, runtime);
                Some(said(flow, quote_spanned!(Span::mixed_site()=> || #given.flow())))
            }
        },
    }
}

/// The type that stands for the body, if anything is said there.
pub(crate) fn body(flow: &Flow) -> Option<TokenStream> {
    let is_said =
        flow.calls().iter().enumerate().any(|(site, call)| beside(call, site, &flow.runtime).is_some());
    let body = Ident::new(BODY, Span::mixed_site());
    is_said.then(|| quote_spanned!(Span::mixed_site()=> #[allow(dead_code)] struct #body;))
}

/// The descriptors of gates.
pub(crate) fn gates(flow: &Flow) -> Vec<TokenStream> {
    let runtime = &flow.runtime;
    let gate = |(site, call): (usize, &Call)| {
        let Target::Gate { name: Some(name), ty: Some(_) } = &call.target else { return None };
        let (id, line) = (&call.id, location::line(call.method.span()));
        let answer = said(site, &quote_spanned!(Span::mixed_site()=> #runtime::DataType), runtime);
        let cfgs = &call.cfgs;
        Some(quote_spanned! {Span::mixed_site()=>
            #(#cfgs)* #runtime::GateDescriptor { name: #name, id: #id, answer: #answer, line: #line }
        })
    };
    flow.calls().iter().enumerate().filter_map(gate).collect()
}

/// The descriptors of messages.
pub(crate) fn messages(flow: &Flow) -> Vec<TokenStream> {
    let runtime = &flow.runtime;
    let message = |(site, call): (usize, &Call)| {
        let Target::Message { name: Some(name), ty: Some(_), reply } = &call.target else { return None };
        let line = location::line(call.method.span());
        let reply = optional(
            reply
                .as_ref()
                .filter(|reply| reply.ty.is_some())
                .map(|_| said(site, &quote_spanned!(Span::mixed_site()=> #runtime::SchemaFn), runtime)),
        );
        let body = said(site, &quote_spanned!(Span::mixed_site()=> #runtime::DataType), runtime);
        let cfgs = &call.cfgs;
        Some(quote_spanned! {Span::mixed_site()=>
            #(#cfgs)* #runtime::MessageDescriptor { name: #name, body: #body, reply: #reply, line: #line }
        })
    };
    flow.calls().iter().enumerate().filter_map(message).collect()
}

/// The steps, each with the id of the call that runs it.
pub(crate) fn steps(flow: &Flow) -> Vec<TokenStream> {
    callees(flow, "StepFn", |call, callee| matches!(callee, Callee::Step(_)) && ceiling::is_readable(call))
}

/// The flows that are run as children, in the same way.
pub(crate) fn children(flow: &Flow) -> Vec<TokenStream> {
    callees(flow, "FlowFn", |call, callee| matches!(callee, Callee::Flow(_)) && ceiling::is_readable(call))
}

/// The parts, in the same way.
pub(crate) fn parts(flow: &Flow) -> Vec<TokenStream> {
    callees(flow, "PartFn", |_, callee| matches!(callee, Callee::Part(_)))
}

fn callees(flow: &Flow, kind: &str, is: impl Fn(&Call, &Callee<'_>) -> bool) -> Vec<TokenStream> {
    let (runtime, kind) = (&flow.runtime, Ident::new(kind, Span::mixed_site()));
    let kind = quote_spanned!(Span::mixed_site()=> #runtime::#kind);
    let callee = |(site, call): (usize, &Call)| {
        let (id, it, cfgs) = (&call.id, said(site, &kind, runtime), &call.cfgs);
        quote_spanned!(Span::mixed_site()=> #(#cfgs)* #runtime::Callee { id: #id, it: #it })
    };
    let calls = flow.calls().iter().enumerate();
    calls.filter(|(_, call)| call.callee().is_some_and(|callee| is(call, &callee))).map(callee).collect()
}

/// What was said beside a call.
fn said(site: usize, kind: &TokenStream, runtime: &RuntimePath) -> TokenStream {
    let (body, site) = (Ident::new(BODY, Span::mixed_site()), Literal::usize_unsuffixed(site));
    quote_spanned!(Span::mixed_site()=> <#body as #runtime::NamedAt<#site, #kind>>::IT)
}
