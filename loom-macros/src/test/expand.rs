//! What `#[test]` leaves behind. No rule is applied here: a test that broke one is left as it came.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::Signature;

use crate::diagnostics::Checked;
use crate::item::FnItem;

use super::model::Test;

/// The expansion of a test that broke no rule.
pub(crate) fn expand(test: Checked<Test>) -> TokenStream {
    let test = test.into_inner();
    let (testing, sig) = (&test.testing, &test.item.sig);
    let (attrs, vis, name, inputs) = (&test.item.attrs, &test.item.vis, &sig.ident, &sig.inputs);
    let (output, body) = body(&test);
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

/// What the body returns, and the body: without a return type, `?` works nevertheless.
fn body(test: &Test) -> (TokenStream, TokenStream) {
    let (testing, block) = (&test.testing, &test.item.body);
    match test.item.output() {
        Some(ty) => (quote!(#ty), quote!(#block)),
        None => (
            quote_spanned!(Span::mixed_site()=> #testing::Result<()>),
            quote_spanned!(Span::mixed_site()=> { #block ::core::result::Result::Ok(()) }),
        ),
    }
}

/// The expansion of a test that broke a rule: the function, to look at in an editor, and no test.
pub(crate) fn stub(test: &Test) -> TokenStream {
    let FnItem { attrs, vis, sig, .. } = &test.item;
    if sig.asyncness.is_none() || test.item.bodyless.is_some() {
        let item = test.item.raw();
        return quote_spanned!(Span::mixed_site()=> #[allow(unused)] #item);
    }
    let (output, body) = body(test);
    let sig = Signature { output: syn::parse_quote!(-> #output), ..sig.clone() };
    quote_spanned! {Span::mixed_site()=>
        #(#attrs)*
        #[allow(unused, unreachable_code)]
        #vis #sig #body
    }
}
