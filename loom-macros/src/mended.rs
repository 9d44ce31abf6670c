//! A function whose signature somebody is still typing, `async fn f(ctx: Ctx, n: )`: as it might be read, so that its
//! callers are not told of it as well. Not what is wrong with it.

use proc_macro2::{Delimiter, Ident, Spacing, Span, TokenStream, TokenTree};
use quote::{ToTokens as _, format_ident, quote_spanned};
use syn::{FnArg, ReturnType};

use crate::item::mentions;

/// The function with parameters that take anything where its own do not parse, without a result that does not, and with a
/// body that does not run. `None` of what is no free function.
pub(crate) fn mended(item: &TokenStream) -> Option<TokenStream> {
    let method = ["self", "Self"].map(|name| Ident::new(name, Span::call_site()));
    if method.iter().any(|name| mentions(item, name)) {
        return None;
    }
    let trees: Vec<TokenTree> = item.clone().into_iter().collect();
    let is_fn =
        |pair: &[TokenTree]| matches!(pair, [TokenTree::Ident(word), TokenTree::Ident(_)] if word == "fn");
    let named = trees.windows(2).position(is_fn)?;
    let (at, params) = trees.iter().enumerate().skip(named).find_map(|(at, tree)| match tree {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => Some((at, group)),
        _ => None,
    })?;
    let is_body =
        |tree: &&TokenTree| matches!(tree, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
    let result: TokenStream = trees[at + 1..].iter().take_while(|tree| !is_body(tree)).cloned().collect();
    let result = syn::parse2::<ReturnType>(result).map(ReturnType::into_token_stream).unwrap_or_default();
    let params = chunks(params.stream()).into_iter().enumerate().map(|(at, chunk)| param(at, chunk));
    let before = &trees[..at];
    Some(quote_spanned! {Span::mixed_site()=>
        #(#before)* (#(#params),*) #result { ::core::panic!("this item did not compile") }
    })
}

/// A parameter as it is, or one of its name that takes anything: of a type that nobody declares, of which the compiler is
/// silent where an error of ours stands beside it.
fn param(position: usize, chunk: TokenStream) -> TokenStream {
    if syn::parse2::<FnArg>(chunk.clone()).is_ok() {
        return chunk;
    }
    let name = chunk.into_iter().find_map(|tree| match tree {
        TokenTree::Ident(ident) if ident != "mut" && syn::parse_str::<Ident>(&ident.to_string()).is_ok() => {
            Some(ident)
        }
        _ => None,
    });
    let name = name.unwrap_or_else(|| format_ident!("given_{position}", span = Span::mixed_site()));
    quote_spanned!(Span::mixed_site()=> #name: __LoomUnread)
}

/// What stands between the commas that are in no `<..>`.
fn chunks(params: TokenStream) -> Vec<TokenStream> {
    let (mut chunks, mut depth, mut arrow) = (vec![TokenStream::new()], 0_usize, false);
    for tree in params {
        let mut ends = false;
        if let TokenTree::Punct(punct) = &tree {
            match punct.as_char() {
                '<' => depth += 1,
                '>' if !arrow => depth = depth.saturating_sub(1),
                ',' => ends = depth == 0,
                _ => {}
            }
            arrow = matches!(punct.as_char(), '-' | '=') && punct.spacing() == Spacing::Joint;
        }
        match chunks.last_mut() {
            Some(chunk) if !ends => chunk.extend([tree]),
            _ => chunks.push(TokenStream::new()),
        }
    }
    chunks.retain(|chunk| !chunk.is_empty());
    chunks
}
