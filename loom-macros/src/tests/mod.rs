//! Tests that call the macros as functions on token streams. Not those of single modules, which
//! are beside them, nor those that need the compiler, which are in `ui-tests`.

mod graphs;
mod half_typed;
mod identities;
mod rules;
mod snapshots;

use proc_macro2::TokenStream;

use crate::{failure, flow, step};

/// The expansion of one item that carries its attribute.
fn expand(source: &str) -> TokenStream {
    let file: syn::File = syn::parse_str(source).expect("the sample parses");
    file.items.into_iter().map(expand_item).collect()
}

/// The same for a parsed item; one without an attribute of ours is left alone.
fn expand_item(item: syn::Item) -> TokenStream {
    use quote::ToTokens as _;

    let args = |attr: &syn::Attribute| match &attr.meta {
        syn::Meta::List(list) => list.tokens.clone(),
        _ => TokenStream::new(),
    };
    match item {
        syn::Item::Fn(mut item) => {
            let Some(at) = item
                .attrs
                .iter()
                .position(|attr| attr.path().is_ident("step") || attr.path().is_ident("flow"))
            else {
                return item.into_token_stream();
            };
            let attr = item.attrs.remove(at);
            if attr.path().is_ident("step") {
                step::step(args(&attr), item.into_token_stream())
            } else {
                flow::flow(args(&attr), item.into_token_stream())
            }
        }
        syn::Item::Enum(item) => failure::failure(item.into_token_stream()),
        other => other.into_token_stream(),
    }
}

/// The numbers of the errors in the expansion of an item, in order.
fn codes(source: &str) -> Vec<String> {
    let text = expand(source).to_string();
    text.split("\"[").skip(1).filter_map(|rest| Some(rest.split_once(']')?.0.to_owned())).collect()
}
