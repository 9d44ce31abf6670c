//! The arguments of `#[event(..)]` and the type below it, as written. Nothing is judged here but the keys.

use darling::{Error, FromMeta};
use proc_macro2::TokenStream;
use quote::ToTokens as _;
use syn::parse::{Parse, ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::{DeriveInput, LitInt, LitStr, Meta, Path, Token};

use crate::arguments::{self, Read};
use crate::diagnostics::Diagnostics;
use crate::keys::keys;

const KEYS: &str = "`#[event]` takes `name`, `version`, `upcast(1 => from_v1, ..)` and `crate`";

keys! {
    /// `#[event(..)]`.
    pub(crate) struct EventArgs {
        /// The name in logs: `name = "order.placed"`.
        pub(crate) name: Option<LitStr> = text,
        /// The version of the shape as it is: `version = 2`.
        pub(crate) version: Option<LitInt>,
        /// What reads older versions: `upcast(1 => from_v1)`.
        pub(crate) upcast: Option<Upcasts>,
        ..root
    }
}

/// `upcast(1 => from_v1, ..)`.
#[derive(Default)]
pub(crate) struct Upcasts(pub(crate) Vec<Upcast>);

/// `1 => from_v1`.
pub(crate) struct Upcast {
    pub(crate) from: LitInt,
    pub(crate) function: Path,
}

impl Parse for Upcast {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let from = input.parse()?;
        input.parse::<Token![=>]>()?;
        Ok(Self { from, function: input.parse()? })
    }
}

impl FromMeta for Upcasts {
    fn from_meta(item: &Meta) -> Result<Self, Error> {
        let Meta::List(list) = item else {
            return Err(Error::custom("upcasters are listed: `upcast(1 => from_v1)`").with_span(item));
        };
        let upcasts = Punctuated::<Upcast, Token![,]>::parse_terminated.parse2(list.tokens.clone());
        match upcasts {
            Ok(upcasts) => Ok(Self(upcasts.into_iter().collect())),
            Err(error) => {
                let text = format!("an upcaster is written `1 => from_v1`: {error}");
                let at =
                    if list.tokens.is_empty() { list.path.to_token_stream() } else { list.tokens.clone() };
                Err(Error::custom(text).with_span(&at))
            }
        }
    }
}

/// An event as written.
pub(crate) struct Parsed {
    pub(crate) args: Read<EventArgs>,
    pub(crate) input: DeriveInput,
    /// The item as it came.
    pub(crate) item: TokenStream,
}

/// Parses both halves. An item that is not a type is an error.
pub(crate) fn parse(
    args: TokenStream,
    item: TokenStream,
    diagnostics: &mut Diagnostics,
) -> syn::Result<Parsed> {
    let input = syn::parse2(item.clone())?;
    Ok(Parsed { args: arguments::parse(args, KEYS, diagnostics), input, item })
}
