//! What `#[test]` leaves behind. No rule is applied here: a test that broke one is left as it came.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};

use crate::diagnostics::Checked;

use super::model::Test;

/// The expansion of a test that broke no rule.
pub(crate) fn expand(test: Checked<Test>) -> TokenStream {
    let test = test.into_inner();
    let (testing, sig, block) = (&test.testing, &test.item.sig, &test.item.body);
    let (attrs, vis, name, inputs) = (&test.item.attrs, &test.item.vis, &sig.ident, &sig.inputs);
    // Without a return type, `?` works nevertheless.
    let (output, body) = match test.item.output() {
        Some(ty) => (quote!(#ty), quote!(#block)),
        None => (
            quote_spanned!(Span::mixed_site()=> #testing::Result<()>),
            quote_spanned!(Span::mixed_site()=> { #block ::core::result::Result::Ok(()) }),
        ),
    };
    let (crash, replay) = (test.crash.is_some(), test.replay.is_some());
    let faults = match test.faults().flatten() {
        Some((seed, runs)) => {
            quote_spanned!(Span::mixed_site()=> ::core::option::Option::Some((#seed, #runs)))
        }
        None => quote_spanned!(Span::mixed_site()=> ::core::option::Option::None),
    };
    quote_spanned! {Span::mixed_site()=>
        #(#attrs)*
        #[::core::prelude::v1::test]
        #vis fn #name() {
            #[allow(clippy::unused_async, unreachable_code)]
            async fn __loom_body(#inputs) -> #output #body
            #testing::run(
                &#testing::Plan {
                    name: ::core::concat!(::core::module_path!(), "::", ::core::stringify!(#name)),
                    folder: ::core::env!("CARGO_MANIFEST_DIR"),
                    crash: #crash,
                    replay: #replay,
                    faults: #faults,
                },
                |__loom_test| ::std::boxed::Box::pin(async move {
                    #testing::Ends::ended(__loom_body(__loom_test).await)
                }),
            );
        }
    }
}

/// The expansion of a test that broke a rule: the function, to look at in an editor, and no test.
pub(crate) fn stub(test: &Test) -> TokenStream {
    let item = test.item.raw();
    quote_spanned!(Span::mixed_site()=> #[allow(dead_code, unused_mut, unused_variables)] #item)
}
