//! The ceiling of effect classes of a flow or part: which calls are held against it, L0223. The
//! comparison is the compiler's, when it evaluates the constants made here.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::Path;

use crate::body::Target;
use crate::codes;
use crate::diagnostics::Diagnostics;

use super::model::Flow;

/// Reports calls whose step or part cannot be read: nobody could hold them against the ceiling.
pub(crate) fn check(flow: &Flow, diagnostics: &mut Diagnostics) {
    let noun = flow.kind.noun();
    let name = &flow.item.sig.ident;
    for call in flow.calls() {
        match &call.target {
            Target::Opaque(argument) if !call.ids.is_empty() => diagnostics.report(
                codes::CEILING,
                argument,
                format_args!("the {noun} `{name}` has a ceiling, and the step of this call cannot be read"),
                "call the step in place: `ctx.run(step(x))`",
            ),
            Target::Part { name: Some(_), path: None } => diagnostics.report(
                codes::CEILING,
                &call.method,
                format_args!("the {noun} `{name}` has a ceiling, and the part of this call cannot be read"),
                "call the part in place: `ctx.part(\"pay\", pay(..))`",
            ),
            _ => {}
        }
    }
}

/// One constant a call, whose evaluation holds the callee's classes against the ceiling.
pub(crate) fn checks(flow: &Flow) -> Option<TokenStream> {
    let (runtime, classes) = (&flow.runtime, flow.effects.as_ref()?);
    let mixed = Span::mixed_site();
    let checks: Vec<_> = flow
        .calls()
        .iter()
        .filter_map(|call| {
            let (method, path, held) = match &call.target {
                Target::Step(path) => {
                    ("holds_step", path, quote_spanned!(mixed=> <#path as #runtime::Step>::EFFECTS))
                }
                Target::Part { path: Some(path), .. } => {
                    ("holds_part", path, quote_spanned!(mixed=> <#path as #runtime::Part>::CEILING))
                }
                _ => return None,
            };
            let (method, written) = (Ident::new(method, mixed), written(path));
            let check = on(
                path,
                quote_spanned!(mixed=> __LOOM_CEILING.#method),
                quote_spanned!(mixed=> #written, #held),
            );
            Some(quote_spanned!(mixed=> const _: () = #check;))
        })
        .collect();
    if checks.is_empty() {
        return None;
    }
    let (code, noun, name) = (codes::CEILING.to_string(), flow.kind.noun(), &flow.name);
    Some(quote_spanned! {mixed=>
        const __LOOM_CEILING: #runtime::Ceiling =
            #runtime::Ceiling { code: #code, noun: #noun, name: #name, classes: #classes };
        #(#checks)*
    })
}

/// The path as the user wrote it.
fn written(path: &Path) -> String {
    path.to_token_stream().to_string().split_whitespace().collect()
}

/// `callee(args)` with its ends on the user's path, so that the compiler points there.
fn on(path: &Path, callee: TokenStream, args: TokenStream) -> TokenStream {
    let (first, last) = match (path.segments.first(), path.segments.last()) {
        (Some(first), Some(last)) => (first.ident.span(), last.ident.span()),
        _ => return quote_spanned!(Span::mixed_site()=> #callee(#args)),
    };
    let at = |span: Span| Span::mixed_site().located_at(span);
    let callee = callee.into_iter().map(|mut tree| {
        tree.set_span(at(first));
        tree
    });
    let mut args = Group::new(Delimiter::Parenthesis, args);
    args.set_span(at(last));
    callee.chain([TokenTree::Group(args)]).collect()
}
