//! What makes rust-analyzer complete the keys of an attribute, and show their docs: a module with a constant for each key,
//! and an import from it at the words that the user has typed. Not seen by the compiler: all of it is under
//! `cfg(rust_analyzer)`. Where an attribute has no arguments there is nothing of it: most have none, and nobody is typing one.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use quote::{format_ident, quote_spanned};
use syn::Ident;

use crate::keys::Key;

/// The hints for an attribute's arguments, however far they have been typed.
pub(crate) fn of(attribute: &str, keys: &[Key], args: &TokenStream) -> TokenStream {
    if args.is_empty() {
        return TokenStream::new();
    }
    let mut modules = Vec::new();
    module(attribute, keys, args, &mut modules);
    quote_spanned! {Span::mixed_site()=>
        #[allow(unexpected_cfgs)]
        const _: () = {
            #[cfg(rust_analyzer)]
            {
                #(#modules)*
            }
        };
    }
}

/// The module of one list of arguments, and those of the lists in it.
fn module(name: &str, keys: &[Key], args: &TokenStream, modules: &mut Vec<TokenStream>) {
    let typed = typed(args);
    let words = typed.iter().map(|argument| &argument.word);
    let constants = keys.iter().map(|key| {
        let (name, doc) = (format_ident!("{}", key.name), key.doc);
        quote_spanned!(Span::mixed_site()=> #[doc = #doc] pub const #name: () = ();)
    });
    let of = format_ident!("__loom_{name}");
    modules.push(quote_spanned! {Span::mixed_site()=>
        #[allow(non_upper_case_globals, unused_imports)]
        mod #of {
            #(#constants)*
            use self::{#(#words as _,)*};
        }
    });
    for Argument { word, inner } in &typed {
        let key = keys.iter().find(|key| !key.inner.is_empty() && word == key.name);
        if let (Some(key), Some(inner)) = (key, inner) {
            module(&format!("{name}_{}", key.name), key.inner, inner, modules);
        }
    }
}

/// One argument, as far as it can be told.
struct Argument {
    word: Ident,
    /// What stands in parentheses right behind the word.
    inner: Option<TokenStream>,
}

/// The words with which the arguments begin. Whatever else stands there is passed over.
fn typed(args: &TokenStream) -> Vec<Argument> {
    let mut typed = Vec::new();
    let mut trees = args.clone().into_iter().peekable();
    let mut at_start = true;
    while let Some(tree) = trees.next() {
        match tree {
            // A keyword is no name to import.
            TokenTree::Ident(word)
                if at_start && syn::parse2::<Ident>(TokenTree::from(word.clone()).into()).is_ok() =>
            {
                let inner = match trees.peek() {
                    Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => {
                        Some(group.stream())
                    }
                    _ => None,
                };
                typed.push(Argument { word, inner });
                at_start = false;
            }
            TokenTree::Punct(comma) => at_start = comma.as_char() == ',',
            _ => at_start = false,
        }
    }
    typed
}

#[cfg(test)]
mod tests {
    use crate::agent::parse::AgentArgs;

    use super::of;

    fn hints(args: &str) -> String {
        of("agent", AgentArgs::KEYS, &args.parse().expect("tokens")).to_string()
    }

    #[test]
    fn what_was_typed_is_imported_from_where_the_keys_are() {
        let text = hints("mod, tools = [a, b], budget(to, usd = 5), crate = ::weft");
        let top = text.split("mod __loom_agent_budget").next().expect("a part");
        assert!(top.contains("pub const max_turns : () = ()"), "{text}");
        assert!(top.contains("use self :: { tools as _ , budget as _ , }"), "{text}");
        let inner = text.split("mod __loom_agent_budget").nth(1).expect("a list in the list");
        assert!(inner.contains("pub const tokens : () = ()") && !inner.contains("max_turns"), "{text}");
        assert!(inner.contains("use self :: { to as _ , usd as _ , }"), "{text}");
    }

    #[test]
    fn half_of_a_key_is_enough() {
        assert!(hints("max").contains("use self :: { max as _ , }"));
        assert!(hints("model = , x y, (z), , w").contains("use self :: { model as _ , x as _ , w as _ , }"));
        assert!(hints("budget()").contains("mod __loom_agent_budget"));
        assert!(!hints("budget").contains("mod __loom_agent_budget"));
        assert_eq!(hints(""), "");
    }
}
