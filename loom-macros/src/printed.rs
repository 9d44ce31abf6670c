//! Prints one expansion when `LOOM_MACROS_DEBUG` names the item. Not a log: the compiler's standard
//! error is the only place where a macro may say something that is not code.

use proc_macro2::TokenStream;
use syn::Ident;

/// Prints the expansion of `item` if the environment asks for it.
pub(crate) fn expansion(item: &Ident, tokens: &TokenStream) {
    if std::env::var("LOOM_MACROS_DEBUG").is_ok_and(|wanted| item == &wanted) {
        print(&pretty(tokens));
    }
}

/// The tokens as formatted Rust, or as they are when they are not a file of items.
pub(crate) fn pretty(tokens: &TokenStream) -> String {
    match syn::parse2(tokens.clone()) {
        Ok(file) => prettyplease::unparse(&file),
        Err(_) => tokens.to_string(),
    }
}

#[expect(clippy::print_stderr, reason = "asked for by an environment variable")]
fn print(text: &str) {
    eprintln!("{text}");
}
