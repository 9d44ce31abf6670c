//! What `#[event]` leaves behind. No rule is applied here: an event that broke one gets a stub.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::LitStr;

use crate::diagnostics::Checked;
use crate::location;
use crate::names;
use crate::registration;

use super::model::Event;

/// The expansion of an event that broke no rule.
pub(crate) fn expand(event: Checked<Event>) -> TokenStream {
    let event = event.into_inner();
    let (runtime, ident) = (&event.runtime, &event.ident);
    let (descriptor, upcast) = (descriptor(&event), event.upcasts.method("upcast", ident, runtime));
    let element = registration::element("EVENTS_V1", "EventDescriptor", runtime);
    let (item, cfgs, others) = (&event.item, event.cfgs(), runtime.others());
    quote_spanned! {Span::mixed_site()=>
        #item
        #(#cfgs)*
        const _: () = {
            #others
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
    let (version, oldest) = (event.version, event.upcasts.oldest(event.version.unwrap_or(1)));
    let upcasters = event.upcasts.written();
    let (location, schema) = (location::location(ident.span(), runtime), runtime.schema_of(ident));
    quote_spanned! {Span::mixed_site()=>
        #runtime::EventDescriptor {
            name: #name,
            ty: #ty,
            version: #version,
            oldest: #oldest,
            upcasters: &[#(#upcasters),*],
            doc: #doc,
            location: #location,
            schema: #schema,
        }
    }
}
