//! What `#[policy]` leaves behind. No rule is applied here: a policy that broke one gets a stub.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;

use crate::diagnostics::Checked;
use crate::location;
use crate::registration;

use super::model::Policy;

/// The expansion of a policy that broke no rule.
pub(crate) fn expand(policy: Checked<Policy>) -> TokenStream {
    let policy = policy.into_inner();
    let (runtime, ident, name, doc) = (&policy.runtime, &policy.ident, &policy.name, policy.doc());
    let location = location::location(ident.span(), runtime);
    let value = policy.value();
    let descriptor = quote_spanned! {Span::mixed_site()=>
        &#runtime::PolicyDescriptor {
            name: #name,
            doc: #doc,
            location: #location,
            value: || -> #runtime::Policy { #value },
        }
    };
    let element = registration::element("POLICIES_V1", "PolicyDescriptor", runtime);
    with_type(&policy, &descriptor, &element)
}

/// The expansion of a policy that broke a rule: flows that list it still compile.
pub(crate) fn stub(policy: &Policy) -> TokenStream {
    if policy.ident == "_" {
        return policy.item.clone();
    }
    let runtime = &policy.runtime;
    let descriptor = quote_spanned!(Span::mixed_site()=> #runtime::stub::POLICY);
    with_type(policy, &descriptor, &TokenStream::new())
}

fn with_type(policy: &Policy, descriptor: &TokenStream, element: &TokenStream) -> TokenStream {
    let Policy { item, runtime, ident, vis, attrs, .. } = policy;
    let cfgs: Vec<_> = policy.cfgs().collect();
    let docs = attrs.iter().filter(|attr| attr.path().is_ident("doc"));
    quote_spanned! {Span::mixed_site()=>
        #item
        #(#cfgs)* #(#docs)*
        #[allow(missing_docs, non_camel_case_types, unreachable_pub)]
        #vis enum #ident {}
        #(#cfgs)*
        const _: () = {
            const __LOOM_DESCRIPTOR: &#runtime::PolicyDescriptor = #descriptor;
            impl #runtime::NamedPolicy for #ident {
                const DESCRIPTOR: &'static #runtime::PolicyDescriptor = __LOOM_DESCRIPTOR;
            }
            #element
        };
    }
}
