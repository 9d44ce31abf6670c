//! The enum below `#[derive(Failure)]` and its `#[failure(..)]` attributes, as written. Nothing is
//! judged here but the keys.

use darling::util::Flag;
use darling::{FromAttributes, FromDeriveInput as _};
use proc_macro2::Span;
use syn::{Attribute, Data, DeriveInput, Fields, Generics, Ident, Meta, Path};

use crate::arguments::DurationText;
use crate::codes;
use crate::diagnostics::Diagnostics;
use crate::doc::Doc;

const CONTAINER_KEYS: &str = "on the enum, `#[failure(..)]` takes `crate`";
const VARIANT_KEYS: &str =
    "on a variant, `#[failure(..)]` takes `engine`, `permanent` and `retry_after = \"5s\"`";

/// `#[failure(..)]` on the enum.
#[derive(Default, darling::FromDeriveInput)]
#[darling(attributes(failure), default)]
struct ContainerArgs {
    #[darling(rename = "crate")]
    root: Option<Path>,
}

/// `#[failure(..)]` on a variant.
#[derive(Default, darling::FromAttributes)]
#[darling(attributes(failure), default)]
pub(crate) struct VariantArgs {
    /// The variant that receives what the engine reports.
    pub(crate) engine: Flag,
    /// Never retried.
    pub(crate) permanent: Flag,
    /// Retried after this pause, whatever the policy says.
    pub(crate) retry_after: Option<DurationText>,
}

/// A failure as written.
pub(crate) struct Parsed {
    pub(crate) ident: Ident,
    pub(crate) generics: Generics,
    pub(crate) root: Option<Path>,
    /// The variants, or the keyword of an item that is no enum.
    pub(crate) variants: Result<Vec<ParsedVariant>, Span>,
    /// Whether all attributes of variants could be read. If not, one of them may be the engine's.
    pub(crate) understood: bool,
}

/// A variant as written.
pub(crate) struct ParsedVariant {
    pub(crate) ident: Ident,
    pub(crate) doc: String,
    pub(crate) fields: Fields,
    pub(crate) args: VariantArgs,
}

/// Reports an attribute without arguments.
fn says_something(attrs: &[Attribute], keys: &str, diagnostics: &mut Diagnostics) -> bool {
    let says_nothing = |meta: &Meta| match meta {
        Meta::Path(_) => true,
        Meta::List(list) => list.tokens.is_empty(),
        Meta::NameValue(_) => false,
    };
    let of_failures = attrs.iter().filter(|attr| attr.path().is_ident("failure"));
    let empty: Vec<_> = of_failures.filter(|attr| says_nothing(&attr.meta)).collect();
    for attr in &empty {
        diagnostics.report(codes::FAILURE_ARGUMENT, attr, "`#[failure]` by itself says nothing", keys);
    }
    empty.is_empty()
}

/// Reads the attributes. Bad ones are reported and replaced by none.
pub(crate) fn parse(input: DeriveInput, diagnostics: &mut Diagnostics) -> Parsed {
    let container = ContainerArgs::from_derive_input(&input).unwrap_or_else(|error| {
        diagnostics.arguments(codes::FAILURE_ARGUMENT, error, CONTAINER_KEYS);
        ContainerArgs::default()
    });
    let mut understood = says_something(&input.attrs, CONTAINER_KEYS, diagnostics);
    let variants = match input.data {
        Data::Enum(data) => Ok(data
            .variants
            .into_iter()
            .map(|variant| {
                understood &= says_something(&variant.attrs, VARIANT_KEYS, diagnostics);
                let args = VariantArgs::from_attributes(&variant.attrs).unwrap_or_else(|error| {
                    diagnostics.arguments(codes::FAILURE_ARGUMENT, error, VARIANT_KEYS);
                    understood = false;
                    VariantArgs::default()
                });
                let doc = Doc::of(&variant.attrs).text();
                ParsedVariant { ident: variant.ident, doc, fields: variant.fields, args }
            })
            .collect()),
        Data::Struct(data) => Err(data.struct_token.span),
        Data::Union(data) => Err(data.union_token.span),
    };
    Parsed { ident: input.ident, generics: input.generics, root: container.root, variants, understood }
}
