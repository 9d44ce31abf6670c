//! Tests that call the macros as functions on token streams. Not those of single modules, which
//! are beside them, nor those that need the compiler, which are in `ui-tests`.

mod graphs;
mod half_typed;
mod identities;
mod keys;
mod rules;
mod snapshots;

use proc_macro2::TokenStream;
use quote::ToTokens as _;
use syn::parse::{ParseStream, Parser as _};
use syn::{Attribute, Meta};

use crate::{agent, event, failure, flow, policy, projection, skill, step, test, tool};

type Macro = fn(TokenStream, TokenStream) -> TokenStream;

/// The attributes, by their names.
const ATTRIBUTES: [(&str, Macro); 9] = [
    ("step", step::step),
    ("flow", flow::flow),
    ("event", event::event),
    ("tool", tool::tool),
    ("skill", skill::skill),
    ("agent", agent::agent),
    ("projection", projection::projection),
    ("policy", policy::policy),
    ("test", test::test),
];

/// The expansion of one item that carries its attribute.
fn expand(source: &str) -> TokenStream {
    let file: syn::File = syn::parse_str(source).expect("the sample parses");
    file.items.into_iter().map(|item| expand_item(item.into_token_stream())).collect()
}

/// The same for the tokens of an item; one without an attribute of ours is left alone.
fn expand_item(item: TokenStream) -> TokenStream {
    let (mut attrs, rest) = parts.parse2(item.clone()).expect("attributes, and an item");
    let of = |attr: &Attribute| ATTRIBUTES.iter().find(|(name, _)| attr.path().is_ident(name));
    let Some((at, (_, expand))) = attrs.iter().enumerate().find_map(|(at, attr)| Some((at, of(attr)?)))
    else {
        let is_failure = rest.to_string().starts_with("enum");
        return if is_failure { failure::failure(item) } else { item };
    };
    let args = match attrs.remove(at).meta {
        Meta::List(list) => list.tokens,
        _ => TokenStream::new(),
    };
    expand(args, quote::quote!(#(#attrs)* #rest))
}

fn parts(input: ParseStream<'_>) -> syn::Result<(Vec<Attribute>, TokenStream)> {
    Ok((input.call(Attribute::parse_outer)?, input.parse()?))
}

/// The numbers of the errors in the expansion of an item, in order, and then what the compiler is asked there: `clock?`.
fn codes(source: &str) -> Vec<String> {
    let text = expand(source).to_string();
    let told = text.split("\"[").skip(1).filter_map(|rest| Some(rest.split_once(']')?.0.to_owned()));
    let words: String = text.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { ' ' }).collect();
    let words: Vec<&str> = words.split_whitespace().collect();
    let asks = |words: &[&str]| (words[1..] == ["loom", "__v1", "Named"]).then(|| format!("{}?", words[0]));
    told.chain(words.windows(4).filter_map(asks)).collect()
}
