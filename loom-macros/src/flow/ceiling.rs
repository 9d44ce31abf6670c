//! The ceiling of effect classes of a flow or part: which calls are held against it, L0223. The
//! comparison is the compiler's, when it evaluates the constants made here.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::{ExprPath, Path};

use crate::body::{Call, Syscall, Target};
use crate::codes;
use crate::diagnostics::Diagnostics;
use crate::runtime_path::RuntimePath;

use super::model::Flow;

/// The constant that all checks of one flow refer to.
const CEILING: &str = "__LOOM_CEILING";
/// The longest list of arguments for which `loom-runtime/src/callee.rs` reads what a function gives.
const MOST_ARGUMENTS: usize = 16;

/// Reports calls whose step or part cannot be read: nobody could hold them against the ceiling.
pub(crate) fn check(flow: &Flow, diagnostics: &mut Diagnostics) {
    let flow_name = &flow.item.sig.ident;
    for name in flow.survey.iter().flat_map(|survey| survey.unseen_calls()) {
        let noun = flow.kind.noun();
        diagnostics.report(
            codes::CEILING,
            name,
            format_args!(
                "the {noun} `{flow_name}` has a ceiling, and a call through `{name}` cannot be read"
            ),
            "make the call on the context by its own name",
        );
    }
    for call in flow.calls() {
        let (callee, help) = match call.syscall {
            Syscall::Part => ("part", "call the part in place: `ctx.part(\"pay\", pay(..))`"),
            Syscall::Call | Syscall::Spawn => ("child", "call the flow in place: `ctx.call(audit(x))`"),
            _ => ("step", "call the step in place: `ctx.run(step(x))`"),
        };
        let opening =
            format!("the {} `{flow_name}` has a ceiling, and the {callee} of this call", flow.kind.noun());
        match &call.target {
            Target::Opaque(argument) if !call.ids.is_empty() => {
                diagnostics.report(codes::CEILING, argument, format_args!("{opening} cannot be read"), help);
            }
            Target::Part { name: Some(_), path: None } => {
                diagnostics.report(
                    codes::CEILING,
                    &call.method,
                    format_args!("{opening} cannot be read"),
                    help,
                );
            }
            Target::Step(path) | Target::Flow(path) | Target::Part { path: Some(path), .. }
                if call.calls_variable =>
            {
                let message =
                    format_args!("{opening} cannot be read: `{}` is a variable here", written(path));
                diagnostics.report(codes::CEILING, path, message, help);
            }
            Target::Step(path) | Target::Flow(path) | Target::Part { path: Some(path), .. }
                if call.arguments.len() > MOST_ARGUMENTS =>
            {
                diagnostics.report(
                    codes::CEILING,
                    path,
                    format_args!("{opening} has more than {MOST_ARGUMENTS} arguments, and is not read"),
                    "put the arguments into a struct",
                );
            }
            _ => {}
        }
    }
}

/// The constant of one call, whose evaluation holds the callee's classes against the ceiling. The classes are those of
/// the step or part that the called function gives, whatever else goes by its name.
pub(crate) fn held(call: &Call, runtime: &RuntimePath) -> Option<TokenStream> {
    if !is_readable(call) {
        return None;
    }
    let (method, path, classes) = match &call.target {
        Target::Step(path) => ("holds_step", path, asked(path, "step_of", runtime)),
        Target::Flow(path) => ("holds_flow", path, asked(path, "ceiling_of", runtime)),
        Target::Part { path: Some(path), .. } => {
            let part = asked(path, "part_of", runtime);
            ("holds_part", path, quote_spanned!(Span::mixed_site()=> #part.ceiling()))
        }
        _ => return None,
    };
    Some(check_at(ends(&path.path)?, method, &written(path), &classes))
}

/// The descriptor of a called part, as a function.
pub(crate) fn part(path: &ExprPath, call: &Call, runtime: &RuntimePath) -> TokenStream {
    if call.arguments.len() > MOST_ARGUMENTS {
        return quote_spanned!(Span::mixed_site()=> <#path as #runtime::Part>::descriptor);
    }
    let given = given(path, call, runtime);
    quote_spanned!(Span::mixed_site()=> || #given.part())
}

/// What a called function gives: what is said of it, or else what it says itself.
pub(crate) fn given(path: &ExprPath, call: &Call, runtime: &RuntimePath) -> TokenStream {
    match &call.held_type {
        Some(ty) => quote_spanned!(Span::mixed_site()=> #runtime::given_as::<#ty>()),
        None => asked(path, "given", runtime),
    }
}

/// Whether the function that is called can be asked what it gives.
pub(crate) fn is_readable(call: &Call) -> bool {
    !call.calls_variable && call.arguments.len() <= MOST_ARGUMENTS
}

/// `asks(path)`, on the user's path, where a function that gives no such call is reported.
pub(crate) fn asked(path: &ExprPath, asks: &str, runtime: &RuntimePath) -> TokenStream {
    let at = path
        .path
        .segments
        .last()
        .map_or_else(Span::mixed_site, |last| Span::mixed_site().located_at(last.ident.span()));
    let asks = Ident::new(asks, at);
    let callee = quote_spanned!(at=> #runtime::#asks).into_iter().map(|mut tree| {
        tree.set_span(at); // the path of the runtime as well
        tree
    });
    let mut args = Group::new(Delimiter::Parenthesis, path.to_token_stream());
    args.set_span(at);
    callee.chain([TokenTree::Group(args)]).collect()
}

/// The same for something that is known by its type: one of the tools of an agent.
pub(crate) fn held_tool(path: &Path, runtime: &RuntimePath) -> Option<TokenStream> {
    let classes = quote_spanned!(Span::mixed_site()=> <#path as #runtime::Step>::EFFECTS);
    Some(check_at(ends(path)?, "holds_tool", &written(path), &classes))
}

/// The ceiling itself, if the flow declares one.
pub(crate) fn constant(flow: &Flow) -> Option<TokenStream> {
    let (runtime, classes) = (&flow.runtime, flow.effects.as_ref()?);
    let (code, noun, name) = (codes::CEILING.to_string(), flow.kind.noun(), &flow.name);
    let ceiling = Ident::new(CEILING, Span::mixed_site());
    Some(quote_spanned! {Span::mixed_site()=>
        #[allow(dead_code)]
        const #ceiling: #runtime::Ceiling =
            #runtime::Ceiling { code: #code, noun: #noun, name: #name, classes: #classes };
    })
}

/// The path as the user wrote it.
fn written(path: &impl ToTokens) -> String {
    path.to_token_stream().to_string().split_whitespace().collect()
}

/// The spans of the ends of a path.
fn ends(path: &Path) -> Option<(Span, Span)> {
    Some((path.segments.first()?.ident.span(), path.segments.last()?.ident.span()))
}

/// `const _: () = CEILING.method(name, classes);` with the ends of the call on the user's path, so that the compiler
/// points there.
fn check_at((first, last): (Span, Span), method: &str, name: &str, classes: &TokenStream) -> TokenStream {
    let at = |span: Span| Span::mixed_site().located_at(span);
    let (ceiling, method) = (Ident::new(CEILING, at(first)), Ident::new(method, at(first)));
    let callee = quote_spanned!(at(first)=> #ceiling.#method);
    let mut args = Group::new(Delimiter::Parenthesis, quote_spanned!(Span::mixed_site()=> #name, #classes));
    args.set_span(at(last));
    let args = TokenTree::Group(args);
    quote_spanned!(Span::mixed_site()=> const _: () = #callee #args;)
}
