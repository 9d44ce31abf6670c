//! What `#[flow]` leaves behind. No rule is applied here: a flow that broke one gets a stub.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::LitStr;

use crate::arguments::{duration, optional};
use crate::body::{self, SITES, Survey};
use crate::diagnostics::Checked;
use crate::fingerprint;
use crate::item;
use crate::location;
use crate::registration;
use crate::schedule::{self, CatchUp};
use crate::surface::Surface;

use super::model::{Flow, Kind};
use super::{ceiling, named};

/// The expansion of a flow or part that broke no rule.
pub(crate) fn expand(flow: Checked<Flow>) -> TokenStream {
    let flow = flow.into_inner();
    let surface = surface(&flow);
    let (items, constructor) = (surface.tokens(), surface.constructor(&construct(&flow)));
    let implementation = match flow.kind {
        Kind::Flow | Kind::Agent => implement_flow(&flow),
        Kind::Part => implement_part(&flow),
    };
    let (sites, named) = (sites(&flow), named::body(&flow));
    let (body, ceiling) = (body(&flow), ceiling::constant(&flow));
    let element = (flow.kind != Kind::Part).then(|| element(&flow));
    let (cfgs, others) = (flow.item.cfgs(), flow.runtime.others());
    quote_spanned! {Span::mixed_site()=>
        #items
        #(#cfgs)*
        #[allow(missing_docs, unreachable_pub)]
        const _: () = {
            #others
            #sites
            #named
            #constructor
            #implementation
            #body
            #ceiling
            #element
        };
    }
}

/// The expansion of a flow that broke a rule: the same names, the same body to look at in an
/// editor, and nothing that could run.
pub(crate) fn stub(flow: &Flow) -> TokenStream {
    if flow.item.of_a_type().is_some() {
        // In an `impl` nothing but the method may stand.
        return flow.item.raw();
    }
    let (items, cfgs) = (surface(flow).stub(), flow.item.cfgs());
    let (runtime, name) = (&flow.runtime, &flow.item.sig.ident);
    let panic = quote_spanned!(Span::mixed_site()=> ::core::panic!("this flow did not compile"));
    let implementation = match flow.kind {
        Kind::Flow | Kind::Agent => {
            let (output, error) = match flow.item.known_result() {
                Some(ty) => {
                    (quote!(<#ty as #runtime::StepResult>::Ok), quote!(<#ty as #runtime::StepResult>::Err))
                }
                None => (quote!(()), quote!(#runtime::Error)),
            };
            quote_spanned! {Span::mixed_site()=>
                impl #runtime::Flow for #name {
                    type Input = ();
                    type Output = #output;
                    type Error = #error;
                    const DESCRIPTOR: &'static #runtime::FlowDescriptor = #runtime::stub::FLOW;
                    const CEILING: ::core::option::Option<&'static [&'static ::core::primitive::str]> =
                        ::core::option::Option::Some(&[]);
                    fn run(_: #runtime::Ctx, _: Self::Input)
                        -> #runtime::BoxFuture<'static, ::core::result::Result<Self::Output, Self::Error>>
                    { #panic }
                }
            }
        }
        Kind::Part => quote_spanned! {Span::mixed_site()=>
            impl #runtime::Part for #name {
                const DESCRIPTOR: &'static #runtime::PartDescriptor = #runtime::stub::PART;
                const CEILING: ::core::option::Option<&'static [&'static ::core::primitive::str]> =
                    ::core::option::Option::Some(&[]);
            }
        },
    };
    let asked = flow.survey.as_ref().map(|survey| &survey.asked).filter(|asked| !asked.is_empty());
    let asked = asked.map(|asked| {
        quote_spanned! {Span::mixed_site()=>
            const _: fn() = || { use #runtime::AnyFunction as _; #(#asked;)* };
        }
    });
    let twice = !item::named_again(flow.ctx.iter().chain(&flow.inputs)).is_empty();
    let ctx = flow.ctx.as_ref().filter(|_| flow.unusable.is_empty() && !twice);
    let body = ctx.map(|ctx| {
        let mut body = Group::new(Delimiter::Brace, body::stubbed(&flow.item.body, &ctx.ident));
        body.set_span(flow.item.body.span());
        body_function(flow, &TokenTree::Group(body).into())
    });
    quote_spanned! {Span::mixed_site()=>
        #items
        #(#cfgs)*
        #[allow(missing_docs, unused, clippy::all)]
        const _: () = {
            #implementation
            #body
            #asked
        };
    }
}

fn surface(flow: &Flow) -> Surface<'_> {
    let (runtime, name) = (&flow.runtime, &flow.item.sig.ident);
    let call = match flow.kind {
        Kind::Flow | Kind::Agent => quote_spanned!(Span::mixed_site()=> #runtime::FlowCall<#name>),
        Kind::Part => {
            let output = output(flow);
            quote_spanned!(Span::mixed_site()=> #runtime::PartCall<#output, #name>)
        }
    };
    Surface { item: &flow.item, inputs: flow.inputs.iter().collect(), call }
}

/// The written return type, `()` when there is none.
fn output(flow: &Flow) -> TokenStream {
    flow.item.output().map_or_else(|| quote!(()), ToTokens::to_token_stream)
}

/// The input of a flow: the one parameter, else `()`.
fn input(flow: &Flow) -> (TokenStream, TokenStream) {
    match flow.inputs.first() {
        Some(param) => (param.ty.to_token_stream(), param.ident.to_token_stream()),
        None => (quote!(()), quote!(())),
    }
}

/// The body of the constructor.
fn construct(flow: &Flow) -> TokenStream {
    let (runtime, name) = (&flow.runtime, &flow.item.sig.ident);
    match flow.kind {
        Kind::Flow | Kind::Agent => {
            let (_, value) = input(flow);
            quote_spanned!(Span::mixed_site()=> #runtime::FlowCall::<#name>::new(#value))
        }
        Kind::Part => {
            let args = flow.inputs.iter().map(|param| &param.ident);
            let call = quote_spanned!(Span::mixed_site()=> __loom_body(__loom_ctx, #(#args),*));
            let future = pinned(flow, &call);
            quote_spanned! {Span::mixed_site()=>
                #runtime::PartCall::new(move |__loom_ctx: #runtime::Ctx| #future)
            }
        }
    }
}

/// A boxed future, on the user's name, so that a body that is not `Send` is reported there.
fn pinned(flow: &Flow, future: &TokenStream) -> TokenStream {
    let at_name = flow.item.sig.ident.span().resolved_at(Span::mixed_site());
    quote_spanned!(at_name=> ::std::boxed::Box::pin(#future))
}

fn implement_flow(flow: &Flow) -> TokenStream {
    let (runtime, name) = (&flow.runtime, &flow.item.sig.ident);
    let (input, _) = input(flow);
    let [ok, err] = flow.item.results(runtime);
    let (input_type, written) = (item::associated("Input", &input, &input), output(flow));
    let [output_type, error_type] =
        [("Output", ok), ("Error", err)].map(|(name, ty)| item::associated(name, &written, &ty));
    let argument = flow.inputs.first().map(|_| quote_spanned!(Span::mixed_site()=> __loom_input));
    let future = pinned(flow, &quote_spanned!(Span::mixed_site()=> __loom_body(__loom_ctx, #argument)));
    let (descriptor, upcast) = (descriptor(flow), flow.upcasts.method("upcast_input", &input, runtime));
    quote_spanned! {Span::mixed_site()=>
        const __LOOM_DESCRIPTOR: &#runtime::FlowDescriptor = &#descriptor;
        impl #runtime::Flow for #name {
            #input_type
            #output_type
            #error_type
            const DESCRIPTOR: &'static #runtime::FlowDescriptor = __LOOM_DESCRIPTOR;
            fn run(__loom_ctx: #runtime::Ctx, __loom_input: Self::Input)
                -> #runtime::BoxFuture<'static, ::core::result::Result<Self::Output, Self::Error>>
            { #future }
            #upcast
        }
    }
}

fn implement_part(flow: &Flow) -> TokenStream {
    let (runtime, ident, name) = (&flow.runtime, &flow.item.sig.ident, &flow.name);
    let location = location::location(ident.span(), runtime);
    let (effects, shape) = (optional(flow.effects.as_ref()), shape(flow));
    quote_spanned! {Span::mixed_site()=>
        impl #runtime::Part for #ident {
            const DESCRIPTOR: &'static #runtime::PartDescriptor = &#runtime::PartDescriptor {
                name: #name,
                location: #location,
                effects: #effects,
                #shape
            };
        }
    }
}

fn descriptor(flow: &Flow) -> TokenStream {
    let (runtime, ident) = (&flow.runtime, &flow.item.sig.ident);
    let (name, doc) = (&flow.name, flow.item.doc());
    let location = location::location(ident.span(), runtime);
    let effects = optional(flow.effects.as_ref());
    let policies = flow.policies.descriptors(runtime, "NamedPolicy", "DESCRIPTOR");
    let schedule = optional(scheduled(flow));
    let (shape, versions) = (shape(flow), versions(flow));
    let [input, output, error] = ["Input", "Output", "Error"].map(|of| {
        let of = Ident::new(of, Span::mixed_site());
        quote_spanned!(Span::mixed_site()=> <#ident as #runtime::Flow>::#of)
    });
    let [input, output] = [input, output].map(|ty| runtime.data_of(ty));
    let error = runtime.schema_of(error);
    quote_spanned! {Span::mixed_site()=>
        #runtime::FlowDescriptor {
            name: #name,
            doc: #doc,
            location: #location,
            input: #input,
            output: #output,
            error: #error,
            versions: #versions,
            effects: #effects,
            policies: #policies,
            schedule: #schedule,
            run: #runtime::run_flow::<#ident>,
            #shape
        }
    }
}

/// The versions of the input.
fn versions(flow: &Flow) -> TokenStream {
    let (runtime, current) = (&flow.runtime, flow.version.unwrap_or(1));
    if current == 1 {
        return quote_spanned!(Span::mixed_site()=> #runtime::InputVersions::FIRST);
    }
    let (oldest, upcasters) = (flow.upcasts.oldest(current), flow.upcasts.written());
    quote_spanned! {Span::mixed_site()=>
        #runtime::InputVersions { current: #current, oldest: #oldest, upcasters: &[#(#upcasters),*] }
    }
}

/// The description of the schedule; UTC when no zone is given.
fn scheduled(flow: &Flow) -> Option<TokenStream> {
    let (runtime, cron) = (&flow.runtime, flow.schedule.as_ref()?);
    let zone = flow.time_zone.as_ref().map_or_else(|| "UTC".to_owned(), LitStr::value);
    let overlap = flow.overlap.as_ref().and_then(schedule::overlap).map(|policy| {
        let policy = Ident::new(policy, Span::mixed_site());
        quote_spanned!(Span::mixed_site()=> .overlap(#runtime::Overlap::#policy))
    });
    let catch_up = flow.catch_up.as_ref().and_then(schedule::catch_up).map(|policy| {
        let policy = match policy {
            CatchUp::Skip => quote_spanned!(Span::mixed_site()=> Skip),
            CatchUp::Latest(millis) => {
                let within = duration(millis);
                quote_spanned!(Span::mixed_site()=> Latest { within: #within })
            }
            CatchUp::All(millis) => {
                let within = duration(millis);
                quote_spanned!(Span::mixed_site()=> All { within: #within })
            }
        };
        quote_spanned!(Span::mixed_site()=> .catch_up(#runtime::CatchUp::#policy))
    });
    Some(quote_spanned! {Span::mixed_site()=>
        #runtime::ScheduleDescriptor::new(#cron, #zone) #overlap #catch_up
    })
}

/// The fields that flows and parts share: gates, messages, graph, steps, children, parts and fingerprint.
fn shape(flow: &Flow) -> TokenStream {
    let runtime = &flow.runtime;
    let (gates, messages) = (named::gates(flow), named::messages(flow));
    let (steps, children, parts) = (named::steps(flow), named::children(flow), named::parts(flow));
    let graph = body::slice(flow.survey.as_ref().map_or(&[], |survey| &survey.graph), runtime);
    let fingerprint = fingerprint::of(&flow.item.attrs, &flow.item.sig, &flow.raw_body());
    let fingerprint = fingerprint::with(fingerprint, &flow.settings);
    quote_spanned! {Span::mixed_site()=>
        gates: &[#(#gates),*],
        messages: &[#(#messages),*],
        graph: #graph,
        steps: &[#(#steps),*],
        children: &[#(#children),*],
        parts: &[#(#parts),*],
        fingerprint: #fingerprint,
    }
}

/// The call sites to which the rewritten body refers.
fn sites(flow: &Flow) -> Option<TokenStream> {
    let calls = flow.calls();
    if calls.is_empty() {
        return None;
    }
    let runtime = &flow.runtime;
    let name = Ident::new(SITES, Span::mixed_site());
    let count = proc_macro2::Literal::usize_unsuffixed(calls.len());
    let sites = calls.iter().map(|call| {
        let (id, place) = (&call.id, location::site(call.method.span()));
        quote_spanned!(Span::mixed_site()=> #runtime::Site { id: #id, #place })
    });
    Some(quote_spanned! {Span::mixed_site()=>
        static #name: [#runtime::Site; #count] = [#(#sites),*];
    })
}

/// The function that holds the rewritten body.
fn body(flow: &Flow) -> TokenStream {
    let block = match &flow.survey {
        Some(survey) => with_handle(survey, flow),
        None => flow.raw_body(),
    };
    body_function(flow, &block)
}

/// The rewritten body, after the handle that notes where the flow waits.
fn with_handle(survey: &Survey, flow: &Flow) -> TokenStream {
    let ctx = flow.ctx.as_ref().filter(|_| survey.notes_lines).map(|ctx| &ctx.ident);
    let (attrs, stmts) = (&flow.inner_attrs, &survey.block.stmts);
    let handle = ctx.map(|ctx| {
        let handle = Ident::new(body::NEAR, Span::mixed_site());
        quote_spanned!(Span::mixed_site()=> let #handle = ::core::clone::Clone::clone(&#ctx);)
    });
    let runtime = &flow.runtime;
    let any_function =
        survey.asks.then(|| quote_spanned!(Span::mixed_site()=> use #runtime::AnyFunction as _;));
    let opening = quote_spanned! {Span::mixed_site()=>
        #[allow(unused_imports)]
        use #runtime::Seen as _;
        #any_function
        #handle
    };
    // Between the user's braces, where the compiler looks for a value.
    let mut block = Group::new(Delimiter::Brace, quote!(#(#attrs)* #opening #(#stmts)*));
    block.set_span(flow.item.body.span());
    TokenTree::Group(block).into()
}

fn body_function(flow: &Flow, block: &TokenStream) -> TokenStream {
    let attrs = flow.item.body_attrs();
    let params = flow.ctx.iter().chain(&flow.inputs).map(|param| param.body_declaration());
    let (generics, output) = (&flow.item.sig.generics, &flow.item.sig.output);
    let (where_clause, safety) = (generics.where_clause.as_ref(), &flow.item.sig.safety);
    quote_spanned! {Span::mixed_site()=>
        #(#attrs)*
        #[allow(clippy::explicit_counter_loop, clippy::too_many_arguments, clippy::unused_async)]
        async #safety fn __loom_body #generics (#(#params),*) #output #where_clause #block
    }
}

/// The entry in the slice of flows.
fn element(flow: &Flow) -> TokenStream {
    registration::element("FLOWS_V1", "FlowDescriptor", &flow.runtime)
}
