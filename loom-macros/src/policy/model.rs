//! What a policy is, once its syntax is out of the way. The model holds faults as well: `check.rs` reports
//! them.

use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote};
use syn::{Attribute, Ident, Item, LitStr, Signature, Visibility};

use crate::doc::Doc;
use crate::names;
use crate::runtime_path::RuntimePath;

use super::parse::{Parsed, PolicyArgs};

/// A policy.
pub(crate) struct Policy {
    pub(crate) ident: Ident,
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) runtime: RuntimePath,
    pub(crate) name: String,
    pub(crate) written_name: Option<LitStr>,
    /// The signature of a function.
    pub(crate) sig: Option<Signature>,
    /// The item as it came.
    pub(crate) item: TokenStream,
}

impl Policy {
    pub(crate) fn new(parsed: Parsed) -> Self {
        let Parsed { args: PolicyArgs { name: written_name, root }, item } = parsed;
        let tokens = item.to_token_stream();
        let (ident, attrs, vis, sig) = match item {
            Item::Const(item) => (item.ident, item.attrs, item.vis, None),
            Item::Static(item) => (item.ident, item.attrs, item.vis, None),
            Item::Fn(item) => (item.sig.ident.clone(), item.attrs, item.vis, Some(item.sig)),
            _ => unreachable!("the parser lets no other item through"),
        };
        Self {
            runtime: RuntimePath::new(root.as_ref()),
            name: written_name.as_ref().map_or_else(|| names::kebab(&ident), LitStr::value),
            written_name,
            ident,
            attrs,
            vis,
            sig,
            item: tokens,
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

    /// The expression of the value.
    pub(crate) fn value(&self) -> TokenStream {
        let ident = &self.ident;
        if self.sig.is_some() { quote!(#ident()) } else { quote!(#ident) }
    }
}
