//! Expressions that the compiler fills with a place in the user's source. Not spans of errors:
//! those are the tokens themselves.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;

use crate::runtime_path::RuntimePath;

/// `line!()` at a token of the user.
pub(crate) fn line(at: Span) -> TokenStream {
    quote_spanned!(at=> ::core::line!())
}

/// The line and column of a token of the user, as the tail of `Node`.
pub(crate) fn place(at: Span) -> TokenStream {
    quote_spanned!(at=> line: ::core::line!(), column: ::core::column!())
}

/// The whole place, as `Location`.
pub(crate) fn location(at: Span, runtime: &RuntimePath) -> TokenStream {
    let place = quote_spanned! {at=>
        file: ::core::file!(), line: ::core::line!(), column: ::core::column!(), module: ::core::module_path!()
    };
    quote_spanned!(Span::mixed_site()=> #runtime::Location { #place })
}

/// The place of a durable call, as the tail of `Site`.
pub(crate) fn site(at: Span) -> TokenStream {
    quote_spanned!(at=> line: ::core::line!(), column: ::core::column!(), file: ::core::file!())
}
