//! The arguments of `#[projection(..)]` and the `impl` block below it, as written; what stands between its
//! braces may be broken. Nothing is judged here but the keys.

use proc_macro2::{Group, TokenStream, TokenTree};
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Generics, LitInt, LitStr, Path, Token, Type, WhereClause};

use crate::arguments;
use crate::diagnostics::Diagnostics;
use crate::keys::keys;
use crate::similar::similar;

const KEYS: &str = "`#[projection]` takes `name`, `version` and `crate`";

keys! {
    /// `#[projection(..)]`.
    pub(crate) struct ProjectionArgs {
        /// The name, when it is not the type's: `name = "totals"`.
        pub(crate) name: Option<LitStr> = text,
        /// The version of the state: `version = 2`. A stored state of another is folded anew.
        pub(crate) version: Option<LitInt>,
        ..root
    }
}

/// An `impl` block whose inside is raw tokens.
pub(crate) struct Block {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) impl_token: Token![impl],
    pub(crate) generics: Generics,
    /// The trait, with its `for`.
    pub(crate) of_trait: Option<(Type, Token![for])>,
    pub(crate) ty: Type,
    pub(crate) where_clause: Option<WhereClause>,
    pub(crate) body: Group,
}

impl Parse for Block {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let (impl_token, generics) = (input.parse()?, input.parse()?);
        let first: Type = input.parse()?;
        let (of_trait, ty) = match input.parse::<Option<Token![for]>>()? {
            Some(word) => (Some((first, word)), input.parse()?),
            None => (None, first),
        };
        let where_clause = input.parse()?;
        let body = input.step(|cursor| match cursor.token_tree() {
            Some((TokenTree::Group(group), rest)) if group.delimiter() == proc_macro2::Delimiter::Brace => {
                Ok((group, rest))
            }
            _ => Err(cursor.error("expected the folds, `{ … }`")),
        })?;
        Ok(Self { attrs, impl_token, generics, of_trait, ty, where_clause, body })
    }
}

/// What a fold is on.
#[derive(Clone)]
pub(crate) enum On {
    /// `#[on(OrderPlaced)]`.
    Event(Path),
    /// `#[on(step = charge)]`.
    Step(Path),
    /// `#[on(lifecycle)]`.
    Lifecycle,
}

impl Parse for On {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let path: Path = input.call(Path::parse_mod_style)?;
        let is = |word: &str| path.is_ident(word);
        let on = if input.peek(Token![=]) && is("step") {
            input.parse::<Token![=]>()?;
            Self::Step(input.call(Path::parse_mod_style)?)
        } else if input.peek(Token![=]) {
            let meant = path.get_ident().and_then(|key| similar(&key.to_string(), ["step"]));
            let fault = if meant.is_some() { "did you mean `step`?" } else { "the one key is `step`" };
            return Err(syn::Error::new_spanned(path, fault));
        } else if is("lifecycle") {
            Self::Lifecycle
        } else if let Some(meant) = misspelt(&path) {
            return Err(syn::Error::new_spanned(path, format!("did you mean `{meant}`?")));
        } else {
            Self::Event(path)
        };
        if input.is_empty() { Ok(on) } else { Err(input.error("one fold is on one fact")) }
    }
}

/// The word that a path is a misspelling of. Types do not begin with a small letter.
fn misspelt(path: &Path) -> Option<&'static str> {
    let written = path.get_ident()?.to_string();
    let small = written.starts_with(|c: char| c.is_lowercase());
    similar(&written, ["lifecycle"]).filter(|_| small)
}

/// A projection as written.
pub(crate) type Parsed = arguments::Parsed<ProjectionArgs, Block>;

/// Parses both halves.
pub(crate) fn parse(
    args: TokenStream,
    item: TokenStream,
    diagnostics: &mut Diagnostics,
) -> syn::Result<Parsed> {
    arguments::with_item(args, item, KEYS, diagnostics)
}
