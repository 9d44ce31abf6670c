//! The element by which an item gets into the registry of every program that it is linked into. Not the
//! registry: what is twice or missing is found when a program is put together.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::Ident;

use crate::runtime_path::RuntimePath;

/// The entry of the constant `__LOOM_DESCRIPTOR` in one of the runtime's slices, on platforms that have them.
pub(crate) fn element(slice: &str, of: &str, runtime: &RuntimePath) -> TokenStream {
    let (slice, of) = (Ident::new(slice, Span::mixed_site()), Ident::new(of, Span::mixed_site()));
    quote_spanned! {Span::mixed_site()=>
        #[cfg(not(target_family = "wasm"))]
        #[#runtime::linkme::distributed_slice(#runtime::#slice)]
        #[linkme(crate = #runtime::linkme)]
        static __LOOM_ELEMENT: &#runtime::#of = __LOOM_DESCRIPTOR;
    }
}
