//! A function item whose body may be broken, and what its attributes and parameters say. Not the
//! meaning of either: the models of `step` and `flow` give them one.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::visit::Visit;
use syn::{
    Attribute, GenericArgument, Ident, Lifetime, Pat, PathArguments, ReturnType, Signature, Type,
    TypeReference, Visibility,
};

use crate::codes::{self, Code};
use crate::diagnostics::Diagnostics;
use crate::doc::Doc;
use crate::runtime_path::RuntimePath;

/// A function with its signature parsed and its body as raw tokens.
#[derive(Clone)]
pub(crate) struct FnItem {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    /// The braces and all between them; without a body, one that does not run, so that callers compile.
    pub(crate) body: Group,
    /// The semicolon in place of a body.
    pub(crate) bodyless: Option<syn::Token![;]>,
    /// Attributes that would make it something else as well: they are left out.
    pub(crate) rivals: Vec<Attribute>,
}

impl Parse for FnItem {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let (attrs, vis, sig) = (input.call(Attribute::parse_outer)?, input.parse()?, input.parse()?);
        let (rivals, attrs) = attrs.into_iter().partition(is_rival);
        if let Some(semi) = input.parse()? {
            let nothing = quote_spanned!(Span::mixed_site()=> ::core::panic!("this item did not compile"));
            let body = Group::new(Delimiter::Brace, nothing);
            return Ok(Self { attrs, vis, sig, body, bodyless: Some(semi), rivals });
        }
        let body = input.step(|cursor| match cursor.token_tree() {
            Some((TokenTree::Group(group), rest)) => match braces(group) {
                Some(body) => Ok((body, rest)),
                None => Err(cursor.error("expected the body of the function, `{ … }`")),
            },
            _ => Err(cursor.error("expected the body of the function, `{ … }`")),
        })?;
        Ok(Self { attrs, vis, sig, body, bodyless: None, rivals })
    }
}

/// Whether an attribute makes a step or flow of a function.
fn is_rival(attr: &Attribute) -> bool {
    const KINDS: &[&str] = &["step", "tool", "flow", "agent"];
    let segments = &attr.path().segments;
    let is_ours = segments.len() == 1 || segments.len() == 2 && segments[0].ident == "loom";
    is_ours && segments.last().is_some_and(|last| KINDS.iter().any(|kind| last.ident == kind))
}

/// The braces of a body; a macro that was given them as `$body:block` wraps them.
fn braces(group: Group) -> Option<Group> {
    match group.delimiter() {
        Delimiter::Brace => Some(group),
        Delimiter::None => {
            let mut inner = group.stream().into_iter();
            match (inner.next(), inner.next()) {
                (Some(TokenTree::Group(body)), None) => braces(body),
                _ => None,
            }
        }
        _ => None,
    }
}

impl FnItem {
    /// Reports attributes that would make it something else beside what `attribute` makes it.
    pub(crate) fn check_rivals(&self, attribute: &str, diagnostics: &mut Diagnostics) {
        for rival in &self.rivals {
            let path = rival.path();
            let other = path.segments.last().map_or_else(String::new, |last| last.ident.to_string());
            diagnostics.report(
                codes::RIVALS,
                path,
                format_args!("`{}` is made by `#[{attribute}]` already", self.sig.ident),
                match (attribute, &*other) {
                    ("tool", "step") | ("step", "tool") => {
                        "a tool is a step: keep `#[tool]` alone".to_owned()
                    }
                    ("agent", "flow") | ("flow", "agent") => {
                        "an agent is a flow: keep `#[agent]` alone".to_owned()
                    }
                    _ => format!("keep one of `#[{attribute}]` and `#[{other}]`"),
                },
            );
        }
    }

    /// Reports what would be lost: the function that callers see is a plain one.
    pub(crate) fn check_qualifiers(&self, noun: &str, code: Code, diagnostics: &mut Diagnostics) {
        let Signature { constness, safety, abi, ident, .. } = &self.sig;
        let found = [
            (constness.to_token_stream(), ""),
            (safety.to_token_stream(), "; what is unsafe goes into an `unsafe { .. }` block of the body"),
            (abi.to_token_stream(), ""),
        ];
        for (tokens, hint) in found.iter().filter(|(tokens, _)| !tokens.is_empty()) {
            let message = format_args!("the {noun} `{ident}` is not a plain `async fn`: it is `{tokens}`");
            diagnostics.report(code, tokens, message, format_args!("leave out `{tokens}`{hint}"));
        }
    }

    /// The written return type.
    pub(crate) fn output(&self) -> Option<&Type> {
        match &self.sig.output {
            ReturnType::Default => None,
            ReturnType::Type(_, ty) => Some(ty),
        }
    }

    /// The written return type, if it stands for a `Result` outside of the function as well.
    pub(crate) fn known_result(&self) -> Option<&Type> {
        self.output().filter(|ty| may_be_result(ty) && self.sig.generics.params.is_empty())
    }

    /// The two types of the written result, on its tokens, where one that cannot be recorded is reported.
    pub(crate) fn results(&self, runtime: &RuntimePath) -> [TokenStream; 2] {
        let result = self.output().map_or_else(|| quote!(()), ToTokens::to_token_stream);
        let [first, last] = ends(&result);
        ["Ok", "Err"].map(|of| {
            let (open, of) = (quote_spanned!(first=> <), Ident::new(of, last));
            let close = quote_spanned!(last=> >::#of);
            quote_spanned!(Span::mixed_site()=> #open #result as #runtime::StepResult #close)
        })
    }

    /// What shows that it stands in an `impl` or a trait, which a macro does not see: `self`, or a `Self` that no item of
    /// its own body can mean.
    pub(crate) fn of_a_type(&self) -> Option<TokenStream> {
        if let Some(receiver) = self.sig.receiver() {
            return Some(receiver.to_token_stream());
        }
        let signature = self.sig.to_token_stream();
        let body = self.body.stream();
        let says = |keyword| mentions(&body, &Ident::new(keyword, Span::call_site()));
        let own_items = ["impl", "trait", "struct", "enum", "union"].into_iter().any(says);
        let named = find(&signature, "Self").or_else(|| find(&body, "Self").filter(|_| !own_items));
        named.map(|named| named.to_token_stream())
    }

    /// The item as it came.
    pub(crate) fn raw(&self) -> TokenStream {
        let Self { attrs, vis, sig, body, bodyless, rivals: _ } = self;
        match bodyless {
            Some(semi) => quote!(#(#attrs)* #vis #sig #semi),
            None => quote!(#(#attrs)* #vis #sig #body),
        }
    }

    /// The attributes that every generated item repeats: `#[cfg(..)]`.
    pub(crate) fn cfgs(&self) -> impl Iterator<Item = &Attribute> {
        self.attrs.iter().filter(|attr| attr.path().is_ident("cfg"))
    }

    /// The doc comments, for the items that the user names.
    pub(crate) fn docs(&self) -> impl Iterator<Item = &Attribute> {
        self.attrs.iter().filter(|attr| attr.path().is_ident("doc"))
    }

    /// The attributes that speak to callers, beside docs.
    pub(crate) fn caller_attrs(&self) -> impl Iterator<Item = &Attribute> {
        let speaks =
            |attr: &&Attribute| ["allow", "deprecated"].iter().any(|name| attr.path().is_ident(name));
        self.attrs.iter().filter(speaks)
    }

    /// The attributes that stay with the body: lints, `#[instrument]` and the like.
    pub(crate) fn body_attrs(&self) -> impl Iterator<Item = &Attribute> {
        let elsewhere = ["cfg", "doc", "deprecated", "must_use"];
        self.attrs.iter().filter(move |attr| !elsewhere.iter().any(|name| attr.path().is_ident(name)))
    }

    /// What the docs say.
    pub(crate) fn doc(&self) -> Doc {
        Doc::of(&self.attrs)
    }
}

/// A parameter with a plain name.
#[derive(Clone)]
pub(crate) struct Param {
    pub(crate) attrs: Vec<Attribute>,
    /// `mut`, if the body wants it.
    pub(crate) mutability: Option<syn::Token![mut]>,
    pub(crate) ident: Ident,
    pub(crate) ty: Type,
}

impl Param {
    /// The parameter, unless its pattern is more than a name.
    pub(crate) fn new(typed: &syn::PatType) -> Option<Self> {
        match &*typed.pat {
            Pat::Ident(pat) if pat.by_ref.is_none() && pat.subpat.is_none() => Some(Self {
                attrs: typed.attrs.clone(),
                mutability: pat.mutability,
                ident: pat.ident.clone(),
                ty: (*typed.ty).clone(),
            }),
            _ => None,
        }
    }

    /// `name: Type`, and on what condition, which only one has that broke a rule.
    pub(crate) fn declaration(&self) -> TokenStream {
        let (Self { ident, ty, .. }, cfgs) = (self, self.cfgs());
        quote_spanned!(Span::mixed_site()=> #(#cfgs)* #ident: #ty)
    }

    /// The conditions on it.
    pub(crate) fn cfgs(&self) -> impl Iterator<Item = &Attribute> {
        self.attrs.iter().filter(|attr| attr.path().is_ident("cfg"))
    }

    /// `mut name: Type`, for the function that holds the body.
    pub(crate) fn body_declaration(&self) -> TokenStream {
        let Self { mutability, ident, ty, .. } = self;
        quote_spanned!(Span::mixed_site()=> #mutability #ident: #ty)
    }
}

/// The parameters whose name another one has before them.
pub(crate) fn named_again<'p>(params: impl IntoIterator<Item = &'p Param>) -> Vec<&'p Param> {
    let mut names = Vec::new();
    let mut again = Vec::new();
    for param in params {
        if names.contains(&&param.ident) {
            again.push(param);
        }
        names.push(&param.ident);
    }
    again
}

/// Whether a type is `Ctx` or a reference to it.
pub(crate) fn is_context(ty: &Type) -> bool {
    match ty {
        Type::Reference(reference) => is_context(&reference.elem),
        other => type_is(other, "Ctx"),
    }
}

/// Whether a type is one that steps are given beside their input.
pub(crate) fn is_resource(ty: &Type) -> bool {
    only_argument(ty, "Res").is_some() || type_is(ty, "StepCx")
}

/// The attribute of a parameter that would leave it out of some builds.
pub(crate) fn conditional(arg: &syn::FnArg) -> Option<&Attribute> {
    let syn::FnArg::Typed(typed) = arg else { return None };
    typed.attrs.iter().find(|attr| attr.path().is_ident("cfg"))
}

/// Whether a signature declares a lifetime for what a parameter borrows, which is told of by itself.
pub(crate) fn lends(sig: &Signature) -> bool {
    sig.inputs.iter().any(|arg| matches!(arg, syn::FnArg::Typed(typed) if borrows(&typed.ty).is_some()))
}

/// Whether the last segment of a type's path is `name`.
pub(crate) fn type_is(ty: &Type, name: &str) -> bool {
    last_segment(ty).is_some_and(|segment| segment.ident == name)
}

/// The `T` of `name<T>`, when the type's path ends so.
pub(crate) fn only_argument<'t>(ty: &'t Type, name: &str) -> Option<&'t Type> {
    let segment = last_segment(ty).filter(|segment| segment.ident == name)?;
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    match arguments.args.first() {
        Some(GenericArgument::Type(ty)) if arguments.args.len() == 1 => Some(ty),
        _ => None,
    }
}

fn last_segment(ty: &Type) -> Option<&syn::PathSegment> {
    match ty {
        Type::Path(ty) => ty.path.segments.last(),
        Type::Group(group) => last_segment(&group.elem),
        Type::Paren(paren) => last_segment(&paren.elem),
        _ => None,
    }
}

/// Whether a type can stand for a `Result`: a path that is not one of the types everybody knows to
/// be something else. Whether an alias names a `Result` is for the type checker.
pub(crate) fn may_be_result(ty: &Type) -> bool {
    const OTHERS: &[&str] = &[
        "bool", "char", "str", "String", "Vec", "Option", "Box", "i8", "i16", "i32", "i64", "i128", "isize",
        "u8", "u16", "u32", "u64", "u128", "usize", "f32", "f64",
    ];
    last_segment(ty).is_some_and(|segment| !OTHERS.iter().any(|other| segment.ident == other))
}

/// The first reference or lifetime in a type that a value which is decoded from a log cannot have: all but `'static` of a
/// type that may own what it holds, `Cow<'static, str>`.
pub(crate) fn borrows(ty: &Type) -> Option<TokenStream> {
    #[derive(Default)]
    struct Search(Option<TokenStream>);

    impl<'ast> Visit<'ast> for Search {
        fn visit_type_reference(&mut self, found: &'ast TypeReference) {
            self.0.get_or_insert_with(|| found.to_token_stream());
        }

        fn visit_lifetime(&mut self, found: &'ast Lifetime) {
            if found.ident != "static" {
                self.0.get_or_insert_with(|| found.to_token_stream());
            }
        }
    }

    let mut search = Search::default();
    search.visit_type(ty);
    search.0
}

/// What to write in place of what [`borrows`].
pub(crate) const OWNED: &str =
    "take the value itself: `String` for `&str`, `Vec<T>` for `&[T]`, `T` for `&T`";

/// Whether an identifier occurs anywhere in a stream, groups included.
pub(crate) fn mentions(tokens: &TokenStream, ident: &Ident) -> bool {
    tokens.clone().into_iter().any(|tree| match tree {
        TokenTree::Ident(found) => found == *ident,
        TokenTree::Group(group) => mentions(&group.stream(), ident),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

/// The associated type of this name, at the tokens of `written`: there the compiler tells of one that is less visible than
/// the item.
pub(crate) fn associated(name: &str, written: &TokenStream, ty: &TokenStream) -> TokenStream {
    let [first, last] = ends(written);
    let (open, name) = (quote_spanned!(first=> type), Ident::new(name, last));
    let (is, close) = (quote_spanned!(last=> =), quote_spanned!(last=> ;));
    quote!(#open #name #is #ty #close)
}

/// Where a stream begins, and where it ends.
fn ends(tokens: &TokenStream) -> [Span; 2] {
    let trees = || tokens.clone().into_iter();
    [trees().next(), trees().last()]
        .map(|tree| tree.map_or_else(Span::call_site, |tree| tree.span()))
        .map(|span| Span::mixed_site().located_at(span))
}

/// What an attribute goes on, for the message about anything else.
pub(crate) struct Place {
    pub(crate) attribute: &'static str,
    pub(crate) goes_on: &'static str,
    pub(crate) example: &'static str,
}

impl Place {
    /// That of an attribute of functions.
    pub(crate) const fn function(attribute: &'static str) -> Self {
        Self { attribute, goes_on: "an `async fn`", example: "async fn name(..) -> Result<..> { .. }" }
    }
}

/// The output for an item that is not what the macro goes on: the error, under the number of the rule that says
/// what the macro goes on, and the tokens as they came, so that an editor still sees what the user is
/// typing.
pub(crate) fn unparsed(
    item: TokenStream,
    error: &syn::Error,
    code: Code,
    place: &Place,
    mut diagnostics: Diagnostics,
) -> TokenStream {
    let Place { attribute, goes_on, example } = place;
    diagnostics.report_at(
        code,
        error.span(),
        format_args!("`#[{attribute}]` goes on {goes_on}: {error}"),
        format_args!("write `{example}`"),
    );
    match diagnostics.seal(item) {
        Ok(sealed) => sealed.into_inner(),
        Err(faulty) => {
            let (item, errors) = (faulty.model, faulty.errors);
            quote!(#errors #item)
        }
    }
}

/// The first identifier of this name in a stream, groups included.
fn find(tokens: &TokenStream, name: &str) -> Option<Ident> {
    tokens.clone().into_iter().find_map(|tree| match tree {
        TokenTree::Ident(ident) => Some(ident).filter(|ident| ident == name),
        TokenTree::Group(group) => find(&group.stream(), name),
        TokenTree::Punct(_) | TokenTree::Literal(_) => None,
    })
}

/// The line of a token in its file, for messages that point at a second place.
pub(crate) fn line_of(tokens: &impl ToTokens) -> usize {
    tokens.to_token_stream().into_iter().next().map_or(0, |tree| tree.span().start().line)
}
