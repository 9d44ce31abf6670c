//! What a projection is, once its syntax is out of the way. The model holds faults as well: `check.rs`
//! reports them.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use syn::parse::{ParseStream, Parser as _};
use syn::{Attribute, FnArg, Ident, ImplItem, ImplItemFn, LitStr, Path, ReceiverKind, ReturnType, Type};

use crate::arguments::{self, Read};
use crate::body::{Banned, banned_in};
use crate::diagnostics::Diagnostics;
use crate::doc::Doc;
use crate::names;
use crate::runtime_path::RuntimePath;

use super::parse::{Block, On, Parsed, ProjectionArgs};

/// A projection.
pub(crate) struct Projection {
    /// The block as it came, its inside without the `#[on]`s.
    pub(crate) block: Block,
    pub(crate) runtime: RuntimePath,
    pub(crate) name: String,
    pub(crate) written_name: Option<LitStr>,
    /// `None` for one that is no number from 1.
    pub(crate) version: Option<u32>,
    pub(crate) folds: Vec<Fold>,
    /// What is in the block and no function.
    pub(crate) others: Vec<ImplItem>,
    /// The inside as it came.
    pub(crate) written: Group,
}

/// A function of the block.
pub(crate) struct Fold {
    /// Without its `#[on]`s.
    pub(crate) item: ImplItemFn,
    /// Its `#[on]`s: one, if all is well.
    pub(crate) on: Vec<(Attribute, syn::Result<On>)>,
    /// The paths in its body that reach for the world outside.
    pub(crate) banned: Vec<Banned>,
}

impl Projection {
    pub(crate) fn new(parsed: Parsed, diagnostics: &mut Diagnostics) -> Self {
        let Parsed { args: Read { args, .. }, item: mut block } = parsed;
        let ProjectionArgs { name: written_name, version, root } = args;
        let (mut folds, mut others) = (Vec::new(), Vec::new());
        match items.parse2(block.body.stream()) {
            Ok(found) => {
                for item in found {
                    match item {
                        ImplItem::Fn(function) => folds.push(Fold::new(function)),
                        other => others.push(other),
                    }
                }
            }
            Err(error) => diagnostics.syntax(error, block.impl_token.span),
        }
        let ident = type_ident(&block.ty);
        let name = written_name.as_ref().map(LitStr::value).or_else(|| ident.map(names::kebab));
        let written = block.body.clone();
        let mut inside = Group::new(Delimiter::Brace, without_on(block.body.stream()));
        inside.set_span(block.body.span());
        block.body = inside;
        Self {
            block,
            runtime: RuntimePath::new(root.as_ref()),
            name: name.unwrap_or_default(),
            written_name,
            version: arguments::check_version(version.as_ref(), diagnostics),
            folds,
            others,
            written,
        }
    }

    /// The last name of the type.
    pub(crate) fn ident(&self) -> Option<&Ident> {
        type_ident(&self.block.ty)
    }

    /// The text of the doc comments.
    pub(crate) fn doc(&self) -> Doc {
        Doc::of(&self.block.attrs)
    }

    /// `#[cfg(..)]`.
    pub(crate) fn cfgs(&self) -> impl Iterator<Item = &Attribute> {
        self.block.attrs.iter().filter(|attr| attr.path().is_ident("cfg"))
    }
}

impl Fold {
    fn new(mut item: ImplItemFn) -> Self {
        let (on, rest) = item.attrs.into_iter().partition(|attr| attr.path().is_ident("on"));
        item.attrs = rest;
        let on: Vec<Attribute> = on;
        Self {
            on: on.into_iter().map(|attr| (attr.clone(), attr.parse_args())).collect(),
            banned: banned_in(&item.block),
            item,
        }
    }

    /// What it is on, if that is clear.
    pub(crate) fn fact(&self) -> Option<&On> {
        match self.on.as_slice() {
            [(_, Ok(on))] => Some(on),
            _ => None,
        }
    }

    /// Whether it takes its state and one value, and returns nothing.
    pub(crate) fn is_sound(&self) -> bool {
        let sig = &self.item.sig;
        let named = self.argument().is_some_and(|ty| !matches!(ty, Type::ImplTrait(_)));
        let returns = matches!(sig.output, ReturnType::Type(..));
        self.receives() && named && !returns && sig.asyncness.is_none() && sig.generics.params.is_empty()
    }

    /// Whether it takes `&mut self` and one argument.
    pub(crate) fn receives(&self) -> bool {
        let inputs = &self.item.sig.inputs;
        let state = matches!(
            inputs.first(),
            Some(FnArg::Receiver(receiver)) if matches!(receiver.kind, ReceiverKind::Reference(_, _, Some(_)))
        );
        state && inputs.len() == 2
    }

    /// The type of the fact, as it is taken.
    pub(crate) fn argument(&self) -> Option<&Type> {
        match self.item.sig.inputs.get(1)? {
            FnArg::Typed(typed) => Some(&typed.ty),
            FnArg::Receiver(_) => None,
        }
    }

    /// `#[cfg(..)]`.
    pub(crate) fn cfgs(&self) -> impl Iterator<Item = &Attribute> {
        self.item.attrs.iter().filter(|attr| attr.path().is_ident("cfg"))
    }
}

impl On {
    /// The path that names it, when one does.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Event(path) | Self::Step(path) => Some(path),
            Self::Lifecycle => None,
        }
    }
}

fn type_ident(ty: &Type) -> Option<&Ident> {
    match ty {
        Type::Path(ty) => ty.path.segments.last().map(|segment| &segment.ident),
        Type::Group(group) => type_ident(&group.elem),
        Type::Paren(paren) => type_ident(&paren.elem),
        _ => None,
    }
}

/// What is between the braces of an `impl` block.
fn items(input: ParseStream<'_>) -> syn::Result<Vec<ImplItem>> {
    let mut items = Vec::new();
    while !input.is_empty() {
        items.push(input.parse()?);
    }
    Ok(items)
}

/// The tokens without the attributes `#[on ..]` at this level: nobody else knows them.
fn without_on(tokens: TokenStream) -> TokenStream {
    let is_on = |tree: &TokenTree| match tree {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => {
            matches!(group.stream().into_iter().next(), Some(TokenTree::Ident(ident)) if ident == "on")
        }
        _ => false,
    };
    let mut kept = Vec::<TokenTree>::new();
    for tree in tokens {
        let after_hash = matches!(kept.last(), Some(TokenTree::Punct(punct)) if punct.as_char() == '#');
        if after_hash && is_on(&tree) {
            kept.pop();
        } else {
            kept.push(tree);
        }
    }
    kept.into_iter().collect()
}
