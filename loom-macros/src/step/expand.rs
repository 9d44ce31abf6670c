//! What `#[step]` leaves behind. No rule is applied here: a step that broke one gets a stub.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Attribute, Ident, LitInt};

use crate::arguments::{DurationText, duration};
use crate::diagnostics::Checked;
use crate::fingerprint;
use crate::item::{self, Param};
use crate::location;
use crate::registration;
use crate::surface::Surface;

use super::model::{Delivery, Step, StepParam};
use super::parse::RetryArgs;

/// The expansion of a step that broke no rule.
pub(crate) fn expand(step: Checked<Step>) -> TokenStream {
    let step = step.into_inner();
    let surface = surface(&step);
    let (items, constructor) = (surface.tokens(), surface.constructor(&construct(&step)));
    let (input, implementation, body, element) =
        (input(&step), implementation(&step), body(&step), element(&step));
    let (cfgs, others) = (step.item.cfgs(), step.runtime.others());
    quote_spanned! {Span::mixed_site()=>
        #items
        #(#cfgs)*
        #[allow(missing_docs, unreachable_pub)]
        const _: () = {
            #others
            #input
            #constructor
            #implementation
            #body
            #element
        };
    }
}

/// The expansion of a step that broke a rule: the same names, the same body to look at in an
/// editor, and nothing that could run.
pub(crate) fn stub(step: &Step) -> TokenStream {
    if step.item.of_a_type().is_some() {
        // In an `impl` nothing but the method may stand.
        return step.item.raw();
    }
    let (items, cfgs) = (surface(step).stub(), step.item.cfgs());
    let (runtime, name) = (&step.runtime, &step.item.sig.ident);
    let result = step.item.known_result();
    let (output, error) = match result {
        Some(ty) => (quote!(<#ty as #runtime::StepResult>::Ok), quote!(<#ty as #runtime::StepResult>::Err)),
        None => (quote!(()), quote!(#runtime::Error)),
    };
    let usable = step.params.iter().all(|param| !matches!(param, StepParam::Unusable(_)));
    let body = (usable && item::named_again(step.named()).is_empty()).then(|| body(step));
    quote_spanned! {Span::mixed_site()=>
        #items
        #(#cfgs)*
        #[allow(missing_docs, unused, clippy::all)]
        const _: () = {
            impl #runtime::Step for #name {
                type Input = ();
                const INPUT: #runtime::Codec<()> = #runtime::Codec::json();
                type Output = #output;
                type Error = #error;
                const DESCRIPTOR: &'static #runtime::StepDescriptor = #runtime::stub::STEP;
                const EFFECTS: &'static [&'static ::core::primitive::str] = &[];
                fn body(
                    _: Self::Input,
                    _: &#runtime::StepEnv,
                ) -> ::core::result::Result<
                    #runtime::BoxFuture<'static, ::core::result::Result<Self::Output, Self::Error>>,
                    #runtime::MissingResource,
                > {
                    ::core::panic!("this step did not compile")
                }
            }
            #body
        };
    }
}

fn surface(step: &Step) -> Surface<'_> {
    let (runtime, name) = (&step.runtime, &step.item.sig.ident);
    Surface {
        item: &step.item,
        inputs: step.inputs().collect(),
        call: quote_spanned!(Span::mixed_site()=> #runtime::StepCall<#name>),
    }
}

/// The body of the constructor: the call with its input.
fn construct(step: &Step) -> TokenStream {
    let (runtime, name) = (&step.runtime, &step.item.sig.ident);
    let fields = step.inputs().map(|param| &param.ident);
    quote_spanned! {Span::mixed_site()=>
        #runtime::StepCall::<#name>::new(__LoomInput { #(#fields),* })
    }
}

/// The struct that is recorded as the step's input. It goes by the step's name in schemas and in
/// the messages of serde.
///
/// What a parameter lacks is said once, at its type: by `recorded`, and not by the derives, whose bounds nobody checks
/// where they stand. That is what the lifetimes are for; and the constant, since schemars overlooks the bounds of what
/// is not generic. Of a parameter with attributes only those know what it needs.
fn input(step: &Step) -> TokenStream {
    let (runtime, name) = (&step.runtime, &step.name);
    let (serde, schemars) = (runtime.text_of("serde"), runtime.text_of("schemars"));
    let (mut types, mut fields, mut asked) = (Vec::new(), Vec::new(), Vec::new());
    for param in step.inputs() {
        let (attrs, ident, ty): (&[Attribute], _, _) = (&param.attrs, &param.ident, &param.ty);
        if attrs.iter().all(|attr| attr.path().is_ident("doc")) {
            let alias = format_ident!("__LoomT{}", types.len(), span = Span::mixed_site());
            // On the user's tokens, so that the error is there.
            let at = ty.span().resolved_at(Span::mixed_site());
            asked.push(quote_spanned!(at=> #runtime::recorded::<#ty>();));
            fields.push(quote_spanned!(Span::mixed_site()=> #(#attrs)* #ident: #alias));
            types.push((alias, ty));
        } else {
            fields.push(quote_spanned!(Span::mixed_site()=> #(#attrs)* #ident: #ty));
        }
    }
    let bounds = |of: &str| {
        let bounds = types.iter().map(|(alias, _)| format!("for<'loom> {alias}: {of}"));
        bounds.collect::<Vec<_>>().join(", ")
    };
    let (to, from) = (bounds(&format!("{serde}::Serialize")), bounds(&format!("{serde}::Deserialize<'de>")));
    let described = bounds(&format!("{schemars}::JsonSchema"));
    let types = types.iter().map(|(alias, ty)| quote_spanned!(Span::mixed_site()=> type #alias = #ty;));
    quote_spanned! {Span::mixed_site()=>
        #(#types)*
        #[derive(#runtime::serde::Serialize, #runtime::serde::Deserialize, #runtime::schemars::JsonSchema)]
        #[serde(crate = #serde, rename = #name, deny_unknown_fields, bound(serialize = #to, deserialize = #from))]
        #[schemars(crate = #schemars, bound = #described)]
        pub struct __LoomInput<const GENERIC: ::core::primitive::bool> { #(#fields),* }
        const _: fn() = || { #(#asked)* };
    }
}

fn implementation(step: &Step) -> TokenStream {
    let (runtime, name) = (&step.runtime, &step.item.sig.ident);
    let [ok, err] = step.item.results(runtime);
    let written = step.item.output().map(ToTokens::to_token_stream).unwrap_or_default();
    let [output_type, error_type] =
        [("Output", ok), ("Error", err)].map(|(name, ty)| item::associated(name, &written, &ty));
    let descriptor = descriptor(step);
    let resources = step.params.iter().filter_map(|param| match param {
        StepParam::Resource(param, ty) => {
            let ident = &param.ident;
            Some(quote_spanned!(Span::mixed_site()=> let #ident = __loom_env.resource::<#ty>()?;))
        }
        _ => None,
    });
    let args = step.params.iter().filter_map(|param| match param {
        StepParam::Resource(param, _) => {
            let ident = &param.ident;
            Some(quote_spanned!(Span::mixed_site()=> #ident))
        }
        StepParam::Context(_) => Some(quote_spanned!(Span::mixed_site()=> __loom_env.cx())),
        StepParam::Input(param) => {
            let ident = &param.ident;
            Some(quote_spanned!(Span::mixed_site()=> __loom_input.#ident))
        }
        StepParam::Unusable(_) => None,
    });
    let inputs: Vec<_> = step.inputs().collect();
    let types = inputs.iter().map(|param| &param.ty);
    let types = quote_spanned!(Span::mixed_site()=> (#(#types,)*));
    // Of none, `()` in so many words would be a lint of its user's.
    let fields = inputs.iter().map(|param| &param.ident);
    let arguments =
        (!inputs.is_empty()).then(|| quote_spanned!(Span::mixed_site()=> (#(__loom_input.#fields,)*)));
    // On the user's name, so that a body that is not `Send` is reported there.
    let at_name = name.span().resolved_at(Span::mixed_site());
    let future = quote_spanned!(at_name=> ::std::boxed::Box::pin(__loom_body(#(#args),*)));
    quote_spanned! {Span::mixed_site()=>
        const __LOOM_DESCRIPTOR: &#runtime::StepDescriptor = &#descriptor;
        impl #runtime::Step for #name {
            type Input = __LoomInput<true>;
            const INPUT: #runtime::Codec<Self::Input> = <#runtime::Given<__LoomInput<true>>>::CODEC;
            #output_type
            #error_type
            const DESCRIPTOR: &'static #runtime::StepDescriptor = __LOOM_DESCRIPTOR;
            fn body(
                __loom_input: Self::Input,
                __loom_env: &#runtime::StepEnv,
            ) -> ::core::result::Result<
                #runtime::BoxFuture<'static, ::core::result::Result<Self::Output, Self::Error>>,
                #runtime::MissingResource,
            > {
                #(#resources)*
                ::core::result::Result::Ok(#future)
            }
        }
        impl #runtime::StepArguments<#types> for #name {
            #[allow(clippy::unused_unit)]
            fn arguments(__loom_input: Self::Input) -> #types {
                #arguments
            }
        }
    }
}

fn descriptor(step: &Step) -> TokenStream {
    let (runtime, ident) = (&step.runtime, &step.item.sig.ident);
    let (name, doc) = (&step.name, step.item.doc());
    let location = location::location(ident.span(), runtime);
    let delivery = match step.delivery() {
        Delivery::Pure => quote!(Pure),
        Delivery::AtLeastOnce => quote!(AtLeastOnce),
        Delivery::AtMostOnce => quote!(AtMostOnce),
    };
    let retry = match &step.retry {
        None => quote_spanned!(Span::mixed_site()=> #runtime::RetryPolicy::NONE),
        Some(policy) => retry(policy, step),
    };
    let (timeout, heartbeat) =
        (optional_duration(step.timeout.as_ref()), optional_duration(step.heartbeat.as_ref()));
    let (effects, reads) = (&step.effects, step.reads);
    let resources = step.params.iter().filter_map(|param| match param {
        StepParam::Resource(_, ty) => {
            Some(quote_spanned!(Span::mixed_site()=> #runtime::ResourceDescriptor::of::<#ty>()))
        }
        _ => None,
    });
    let fingerprint = fingerprint::of(
        &step.item.attrs,
        &step.item.sig,
        &proc_macro2::TokenTree::Group(step.item.body.clone()).into(),
    );
    let [input, output, error] = ["Input", "Output", "Error"].map(|of| {
        let of = Ident::new(of, Span::mixed_site());
        quote_spanned!(Span::mixed_site()=> <#ident as #runtime::Step>::#of)
    });
    let [input, output] = [input, output].map(|ty| runtime.data_of(ty));
    let error = runtime.schema_of(error);
    quote_spanned! {Span::mixed_site()=>
        #runtime::StepDescriptor {
            name: #name,
            doc: #doc,
            location: #location,
            delivery: #runtime::Delivery::#delivery,
            reads: #reads,
            retry: #retry,
            timeout: #timeout,
            heartbeat: #heartbeat,
            effects: #effects,
            resources: &[#(#resources),*],
            input: #input,
            output: #output,
            error: #error,
            fingerprint: #fingerprint,
            invoke: #runtime::invoke::<#ident>,
        }
    }
}

/// `retry(..)` with its defaults: three attempts, from 100 ms, doubled, at most a minute apart.
fn retry(policy: &RetryArgs, step: &Step) -> TokenStream {
    let runtime = &step.runtime;
    let number = |written: &Option<LitInt>, default: u32| {
        written.as_ref().and_then(|n| n.base10_parse().ok()).unwrap_or(default)
    };
    let pause = |written: &Option<DurationText>, default: u64| {
        duration(written.as_ref().and_then(DurationText::millis).unwrap_or(default))
    };
    let (attempts, factor) = (number(&policy.attempts, 3), number(&policy.factor, 2));
    let (initial, max) = (pause(&policy.initial, 100), pause(&policy.max, 60_000));
    quote_spanned! {Span::mixed_site()=>
        #runtime::RetryPolicy { attempts: #attempts, initial: #initial, max: #max, factor: #factor }
    }
}

fn optional_duration(text: Option<&DurationText>) -> TokenStream {
    match text.and_then(DurationText::millis) {
        Some(millis) => {
            let duration = duration(millis);
            quote_spanned!(Span::mixed_site()=> ::core::option::Option::Some(#duration))
        }
        None => quote_spanned!(Span::mixed_site()=> ::core::option::Option::None),
    }
}

/// The function that holds the user's body.
fn body(step: &Step) -> TokenStream {
    let attrs = step.item.body_attrs();
    let params = step.named().map(Param::body_declaration);
    let (generics, output, body) = (&step.item.sig.generics, &step.item.sig.output, &step.item.body);
    let (where_clause, safety) = (generics.where_clause.as_ref(), &step.item.sig.safety);
    quote_spanned! {Span::mixed_site()=>
        #(#attrs)*
        #[allow(clippy::unused_async, clippy::too_many_arguments)]
        async #safety fn __loom_body #generics (#(#params),*) #output #where_clause #body
    }
}

/// The entry in the slice of steps.
fn element(step: &Step) -> TokenStream {
    registration::element("STEPS_V1", "StepDescriptor", &step.runtime)
}
