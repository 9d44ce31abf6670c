//! What an event is, once its syntax is out of the way. The model holds faults as well: `check.rs` reports
//! them.

use proc_macro2::{Span, TokenStream};
use syn::{Attribute, Data, Generics, Ident, LitStr};

use crate::arguments::{self, Read};
use crate::diagnostics::Diagnostics;
use crate::doc::Doc;
use crate::runtime_path::RuntimePath;
use crate::upcasts::Upcasts;

use super::parse::{EventArgs, Parsed};

/// An event.
pub(crate) struct Event {
    pub(crate) ident: Ident,
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) generics: Generics,
    pub(crate) runtime: RuntimePath,
    /// The declared name.
    pub(crate) name: Option<LitStr>,
    /// Whether the arguments could be read.
    pub(crate) understood: bool,
    /// `None` for one that is no number from 1.
    pub(crate) version: Option<u32>,
    pub(crate) upcasts: Upcasts,
    /// The keyword of a union.
    pub(crate) union: Option<Span>,
    /// The item as it came.
    pub(crate) item: TokenStream,
}

impl Event {
    pub(crate) fn new(parsed: Parsed, diagnostics: &mut Diagnostics) -> Self {
        let Parsed { args, input, item } = parsed;
        let Read { args, understood } = args;
        let EventArgs { name, version, upcast, root } = args;
        Self {
            ident: input.ident,
            attrs: input.attrs,
            generics: input.generics,
            runtime: RuntimePath::new(root.as_ref()),
            name,
            understood,
            version: arguments::check_version(version.as_ref(), diagnostics),
            upcasts: upcast.unwrap_or_default(),
            union: match input.data {
                Data::Union(data) => Some(data.union_token.span),
                Data::Struct(_) | Data::Enum(_) => None,
            },
            item,
        }
    }

    /// The text of the doc comments.
    pub(crate) fn doc(&self) -> Doc {
        Doc::of(&self.attrs)
    }

    /// `#[cfg(..)]`.
    pub(crate) fn cfgs(&self) -> impl Iterator<Item = &Attribute> {
        self.attrs.iter().filter(|attr| attr.path().is_ident("cfg"))
    }
}
