//! `version` and `upcast(1 => from_v1, ..)`: what brings recorded data of older versions to the version of today.
//! Not what the data is: an event's, or a flow's input.

use darling::{Error, FromMeta};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote_spanned};
use syn::parse::{Parse, ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{LitInt, Meta, Path, Token};

use crate::codes;
use crate::diagnostics::Diagnostics;
use crate::runtime_path::RuntimePath;

/// `upcast(1 => from_v1, ..)`.
#[derive(Default)]
pub(crate) struct Upcasts(pub(crate) Vec<Upcast>);

/// `1 => from_v1`.
pub(crate) struct Upcast {
    pub(crate) from: LitInt,
    pub(crate) function: Path,
}

impl Upcast {
    /// The version that it reads, if it is one.
    fn version(&self) -> Option<u32> {
        self.from.base10_parse().ok().filter(|version| *version >= 1)
    }
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

impl Upcasts {
    /// The oldest version that can be read, when `current` is that of today.
    pub(crate) fn oldest(&self, current: u32) -> u32 {
        self.0.iter().filter_map(Upcast::version).min().unwrap_or(current)
    }

    /// The functions, as the user wrote them.
    pub(crate) fn written(&self) -> impl Iterator<Item = String> {
        let text = |path: &Path| path.to_token_stream().to_string().split_whitespace().collect();
        self.0.iter().map(move |upcast| text(&upcast.function))
    }

    /// They are a chain without gaps that ends at the version of today; it may begin anywhere. `written` says what
    /// an older version has written, `of` whose it is. None is missing unless all arguments were `understood`: it may
    /// be among those that could not be read.
    pub(crate) fn check(
        &self,
        current: u32,
        of: &Ident,
        written: &str,
        understood: bool,
        diagnostics: &mut Diagnostics,
    ) {
        let (mut expected, mut faulty) = (None, false);
        for upcast in &self.0 {
            let fault = match (upcast.version(), expected) {
                (None, _) => Some("a version is a whole number from 1".to_owned()),
                // What could not be read may be the version of today.
                (Some(from), _) if from >= current && understood => {
                    Some(format!("nothing is older than itself: the version of today is {current}"))
                }
                (Some(from), Some(next)) if from != next => {
                    Some(format!("after the upcaster of version {} comes that of version {next}", next - 1))
                }
                (Some(_), _) => None,
            };
            if let Some(fault) = fault {
                diagnostics.report(
                    codes::UPCAST,
                    &upcast.from,
                    fault,
                    "write one upcaster for each older version, in order: `upcast(1 => from_v1, 2 => from_v2)`",
                );
                faulty = true;
            }
            expected = upcast.version().map(|from| from + 1).or(expected.map(|from| from + 1));
        }
        if current > 1 && !faulty && understood && expected != Some(current) {
            let last = current - 1;
            diagnostics.report(
                codes::UPCAST,
                of,
                format_args!("nothing reads the {written} that version {last} of `{of}` has written"),
                format_args!("add `upcast({last} => from_v{last})`, a function from the old data to the new"),
            );
        }
    }

    /// The method `name`: the upcasters, by the version that each reads; and that each takes what the one before it
    /// gives, and the last one gives a `target`. Nothing when there are none.
    pub(crate) fn method(
        &self,
        name: &str,
        target: &impl ToTokens,
        runtime: &RuntimePath,
    ) -> Option<TokenStream> {
        if self.0.is_empty() {
            return None;
        }
        let name = Ident::new(name, Span::mixed_site());
        let (mut made, mut links, mut arms) = (Vec::new(), Vec::new(), Vec::new());
        let mut before: Option<Ident> = None;
        for (position, upcast) in self.0.iter().enumerate() {
            let (from, function) = (&upcast.from, &upcast.function);
            // At the function, where a wrong one is reported.
            let at = function.span().resolved_at(Span::mixed_site());
            let this = format_ident!("__loom_u{}", position, span = at);
            made.push(quote_spanned!(at=> let #this = #runtime::Upcaster::new(#function);));
            if let Some(before) = before {
                links.push(quote_spanned!(at=> #before.gives().then(#this.takes()).fits();));
            }
            if position + 1 == self.0.len() {
                links.push(quote_spanned!(at=> #this.gives().becomes::<#target>().fits();));
            }
            let applied = quote_spanned!(at=> #this.apply(__loom_data));
            arms.push(quote_spanned!(Span::mixed_site()=> #from => #applied,));
            before = Some(this);
        }
        Some(quote_spanned! {Span::mixed_site()=>
            fn #name(
                __loom_version: ::core::primitive::u32,
                __loom_data: #runtime::serde_json::Value,
            ) -> ::core::result::Result<#runtime::serde_json::Value, #runtime::UpcastError> {
                #[allow(unused_imports)]
                use #runtime::{FromAny as _, Infallible as _, Typed as _, TypedEnd as _};
                #(#made)*
                #(#links)*
                match __loom_version {
                    #(#arms)*
                    __loom_other => {
                        ::core::result::Result::Err(#runtime::UpcastError::no_upcaster(__loom_other))
                    }
                }
            }
        })
    }
}
