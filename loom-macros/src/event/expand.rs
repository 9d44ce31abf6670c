//! What `#[event]` leaves behind. No rule is applied here: an event that broke one gets a stub.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, format_ident, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{LitStr, Path};

use crate::diagnostics::Checked;
use crate::location;
use crate::names;
use crate::registration;

use super::model::Event;

/// The expansion of an event that broke no rule.
pub(crate) fn expand(event: Checked<Event>) -> TokenStream {
    let event = event.into_inner();
    let (runtime, ident) = (&event.runtime, &event.ident);
    let (descriptor, upcast) = (descriptor(&event), upcast(&event));
    let element = registration::element("EVENTS_V1", "EventDescriptor", runtime);
    let (item, cfgs) = (&event.item, event.cfgs());
    quote_spanned! {Span::mixed_site()=>
        #item
        #(#cfgs)*
        const _: () = {
            const __LOOM_DESCRIPTOR: &#runtime::EventDescriptor = &#descriptor;
            #[automatically_derived]
            impl #runtime::DomainEvent for #ident {
                const DESCRIPTOR: &'static #runtime::EventDescriptor = __LOOM_DESCRIPTOR;
                #upcast
            }
            #element
        };
    }
}

/// The expansion of an event that broke a rule: enough for those who emit or fold it.
pub(crate) fn stub(event: &Event) -> TokenStream {
    let (item, runtime, ident, cfgs) = (&event.item, &event.runtime, &event.ident, event.cfgs());
    if event.union.is_some() || !event.generics.params.is_empty() {
        return item.clone();
    }
    quote_spanned! {Span::mixed_site()=>
        #item
        #(#cfgs)*
        impl #runtime::DomainEvent for #ident {
            const DESCRIPTOR: &'static #runtime::EventDescriptor = #runtime::stub::EVENT;
        }
    }
}

fn descriptor(event: &Event) -> TokenStream {
    let (runtime, ident) = (&event.runtime, &event.ident);
    let (name, doc) = (event.name.as_ref().map(LitStr::value), event.doc());
    let ty = names::of(ident);
    let (version, oldest) = (event.version, event.oldest());
    let upcasters = event.upcasts.iter().map(|upcast| written(&upcast.function));
    let location = location::location(ident.span(), runtime);
    quote_spanned! {Span::mixed_site()=>
        #runtime::EventDescriptor {
            name: #name,
            ty: #ty,
            version: #version,
            oldest: #oldest,
            upcasters: &[#(#upcasters),*],
            doc: #doc,
            location: #location,
            schema: #runtime::schema_of::<#ident>,
        }
    }
}

/// The upcasters, by the version that each reads; and that each takes what the one before it gives.
fn upcast(event: &Event) -> Option<TokenStream> {
    if event.upcasts.is_empty() {
        return None;
    }
    let (runtime, ident) = (&event.runtime, &event.ident);
    let (mut made, mut links, mut arms) = (Vec::new(), Vec::new(), Vec::new());
    let mut before: Option<Ident> = None;
    for (position, upcast) in event.upcasts.iter().enumerate() {
        let (from, function) = (&upcast.from, &upcast.function);
        // At the function, where a wrong one is reported.
        let at = function.span().resolved_at(Span::mixed_site());
        let this = format_ident!("__loom_u{}", position, span = at);
        made.push(quote_spanned!(at=> let #this = #runtime::Upcaster::new(#function);));
        if let Some(before) = before {
            links.push(quote_spanned!(at=> #before.gives().then(#this.takes()).fits();));
        }
        if position + 1 == event.upcasts.len() {
            links.push(quote_spanned!(at=> #this.gives().becomes::<#ident>().fits();));
        }
        let applied = quote_spanned!(at=> #this.apply(__loom_data));
        arms.push(quote_spanned!(Span::mixed_site()=> #from => #applied,));
        before = Some(this);
    }
    Some(quote_spanned! {Span::mixed_site()=>
        fn upcast(
            __loom_version: ::core::primitive::u32,
            __loom_data: #runtime::serde_json::Value,
        ) -> ::core::result::Result<#runtime::serde_json::Value, #runtime::UpcastError> {
            #[allow(unused_imports)]
            use #runtime::{FromAny as _, Infallible as _, Typed as _, TypedEnd as _};
            #(#made)*
            #(#links)*
            match __loom_version {
                #(#arms)*
                __loom_other => {
                    ::core::result::Result::Err(#runtime::UpcastError::no_upcaster(__loom_other))
                }
            }
        }
    })
}

/// A path as the user wrote it.
fn written(path: &Path) -> String {
    path.to_token_stream().to_string().split_whitespace().collect()
}
