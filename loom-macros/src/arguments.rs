//! Values that the attributes take: durations, versions, effect classes, lists of paths. Not which
//! attribute takes which: `parse.rs` of each macro says that.

use darling::ast::NestedMeta;
use darling::{Error, FromMeta};
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::parse::Parse;
use syn::{Expr, ExprLit, Lit, LitInt, LitStr, Meta, Path};

use crate::codes;
use crate::diagnostics::Diagnostics;
use crate::names;
use crate::runtime_path::RuntimePath;

/// The arguments of an attribute.
pub(crate) struct Read<T> {
    pub(crate) args: T,
    /// Whether all could be read. If not, what seems to be missing may have been meant.
    pub(crate) understood: bool,
}

/// An attribute and the item below it, as written.
pub(crate) struct Parsed<A, I> {
    pub(crate) args: Read<A>,
    pub(crate) item: I,
}

/// Parses both halves. Bad arguments are reported and replaced by the defaults; an item of another kind is an error.
pub(crate) fn with_item<A: FromMeta + Default, I: Parse>(
    args: TokenStream,
    item: TokenStream,
    keys: &str,
    diagnostics: &mut Diagnostics,
) -> syn::Result<Parsed<A, I>> {
    let item = syn::parse2(item)?;
    Ok(Parsed { args: parse(args, keys, diagnostics), item })
}

/// Parses the arguments of an attribute. Bad ones are reported and left out, so that the rules of the others are
/// applied nevertheless.
pub(crate) fn parse<T: FromMeta + Default>(
    args: TokenStream,
    keys: &str,
    diagnostics: &mut Diagnostics,
) -> Read<T> {
    let mut report = |error| diagnostics.arguments(codes::ARGUMENT, error, keys);
    let list = match NestedMeta::parse_meta_list(args) {
        Ok(list) => list,
        Err(error) => {
            report(error.into());
            return Read { args: T::default(), understood: false };
        }
    };
    let (literals, list): (Vec<_>, Vec<_>) =
        list.into_iter().partition(|item| matches!(item, NestedMeta::Lit(_)));
    for literal in &literals {
        report(Error::custom("a value by itself says nothing: an argument has a key").with_span(literal));
    }
    match T::from_list(&list) {
        Ok(args) => Read { args, understood: literals.is_empty() },
        Err(error) => {
            report(error);
            Read { args: T::from_list(&sound::<T>(list)).unwrap_or_default(), understood: false }
        }
    }
}

/// The arguments that can be read one by one, each key once.
fn sound<T: FromMeta>(list: Vec<NestedMeta>) -> Vec<NestedMeta> {
    let mut sound = Vec::<NestedMeta>::new();
    for item in list {
        let key = |item: &NestedMeta| match item {
            NestedMeta::Meta(meta) => Some(meta.path().clone()),
            _ => None,
        };
        let again = sound.iter().any(|earlier| key(earlier) == key(&item));
        if !again && T::from_list(std::slice::from_ref(&item)).is_ok() {
            sound.push(item);
        }
    }
    sound
}

/// `key = "text"`.
pub(crate) fn text(meta: &Meta) -> Result<Option<LitStr>, Error> {
    let key = meta.path().get_ident().map(ToString::to_string).unwrap_or_default();
    let mut value = match meta {
        Meta::NameValue(pair) => &pair.value,
        other => {
            return Err(Error::custom(format!("`{key}` has a value: `{key} = \"…\"`")).with_span(other));
        }
    };
    while let Expr::Group(group) = value {
        value = &group.expr;
    }
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Ok(Some(text.clone())),
        Expr::Lit(other) => {
            Err(Error::custom(format!("`{key}` is text: write a string literal, `{key} = \"…\"`"))
                .with_span(other))
        }
        other => {
            let text = format!(
                "the value of `{key}` is not known here, where nothing is evaluated: write a string literal, \
                 `{key} = \"…\"`"
            );
            Err(Error::custom(text).with_span(other))
        }
    }
}

/// A duration as written. It is read by [`DurationText::millis`], so that a bad one is an error
/// with its own number rather than a parse error.
#[derive(Clone)]
pub(crate) struct DurationText(LitStr);

impl FromMeta for DurationText {
    fn from_value(value: &Lit) -> Result<Self, Error> {
        match value {
            Lit::Str(text) => Ok(Self(text.clone())),
            other => Err(Error::custom("a duration is a string such as \"10s\"").with_span(other)),
        }
    }
}

impl DurationText {
    /// The duration in milliseconds, or `None`.
    pub(crate) fn millis(&self) -> Option<u64> {
        millis(&self.0.value())
    }

    /// Reports a duration that cannot be read, or that leaves no time at all.
    pub(crate) fn check_limit(&self, diagnostics: &mut Diagnostics) {
        self.check(diagnostics);
        if self.millis() == Some(0) {
            diagnostics.report(
                codes::DURATION,
                &self.0,
                format_args!("a limit of `{}` leaves no time for an attempt", self.0.value()),
                "leave it out for no limit, or give it some time: \"10s\"",
            );
        }
    }

    /// Reports a duration that is longer than the longest that there may be: then it says nothing.
    pub(crate) fn check_within(
        &self,
        longest: &Self,
        what: &str,
        whole: &str,
        diagnostics: &mut Diagnostics,
    ) {
        if let (Some(own), Some(most)) = (self.millis(), longest.millis())
            && own > most
        {
            let (own, most) = (self.0.value(), longest.0.value());
            diagnostics.report(
                codes::DURATION,
                &self.0,
                format_args!("{what} may take `{own}` never does: {whole} takes `{most}` at most"),
                "write a shorter one here, or a longer one there; or leave one of the two out",
            );
        }
    }

    /// Reports a duration that cannot be read.
    pub(crate) fn check(&self, diagnostics: &mut Diagnostics) {
        if self.millis().is_none() {
            diagnostics.report(
                codes::DURATION,
                &self.0,
                format_args!("`{}` is not a duration", self.0.value()),
                "write a whole number and a unit: \"200ms\", \"10s\", \"5m\", \"2h\", \"3d\"",
            );
        }
    }
}

/// The milliseconds of a duration such as `10s`.
pub(crate) fn millis(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

/// `::core::time::Duration` of so many milliseconds.
pub(crate) fn duration(millis: u64) -> TokenStream {
    quote_spanned!(Span::mixed_site()=> ::core::time::Duration::from_millis(#millis))
}

/// A list of effect classes, `effects("http", "payments.write")`.
#[derive(Clone, Default)]
pub(crate) struct EffectClasses(Vec<LitStr>);

impl FromMeta for EffectClasses {
    fn from_list(items: &[NestedMeta]) -> Result<Self, Error> {
        let mut errors = Error::accumulator();
        let mut classes = Vec::new();
        for item in items {
            match item {
                NestedMeta::Lit(Lit::Str(class)) => classes.push(class.clone()),
                other => errors.push(Error::custom("an effect class is a string literal").with_span(other)),
            }
        }
        errors.finish_with(Self(classes))
    }
}

impl EffectClasses {
    /// Reports names that break the grammar, and those that are there already.
    pub(crate) fn check(&self, diagnostics: &mut Diagnostics) {
        for class in &self.0 {
            if class.value() == "*" {
                diagnostics.report(
                    codes::NAME,
                    class,
                    "`*` is no effect class: nobody could tell from it what is reached",
                    "name what is reached: `effects(\"http\", \"payments.write\")`",
                );
            } else {
                check_name(class, "effect class", diagnostics);
            }
        }
        self.check_once(diagnostics);
    }

    fn check_once(&self, diagnostics: &mut Diagnostics) {
        for (position, class) in self.0.iter().enumerate() {
            if self.0[..position].contains(class) {
                diagnostics.report(
                    codes::LISTED_TWICE,
                    class,
                    format_args!("the class `{}` is in the list already", class.value()),
                    "remove one of the two",
                );
            }
        }
    }

    /// The same for a ceiling, where `payments.*` stands for all classes that start with `payments.`.
    pub(crate) fn check_ceiling(&self, diagnostics: &mut Diagnostics) {
        for class in &self.0 {
            if class.value() == "*" {
                diagnostics.report(
                    codes::NAME,
                    class,
                    "`*` is no ceiling: it would allow everything",
                    "leave out `effects(..)` to have no ceiling, or name what is allowed: `effects(\"http\", \"payments.*\")`",
                );
            } else if !class.value().strip_suffix(".*").is_some_and(names::is_valid) {
                check_name(class, "effect class", diagnostics);
            }
        }
        self.check_once(diagnostics);
    }
}

impl ToTokens for EffectClasses {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let classes = &self.0;
        tokens.extend(quote_spanned!(Span::mixed_site()=> &[#(#classes),*]));
    }
}

/// A list of paths, `[refund, billing::charge]`.
#[derive(Clone, Default)]
pub(crate) struct Paths(pub(crate) Vec<Path>);

impl FromMeta for Paths {
    fn from_expr(expr: &Expr) -> Result<Self, Error> {
        let Expr::Array(array) = expr else {
            return Err(Error::custom("a list is written in brackets: `[one, other]`").with_span(expr));
        };
        let mut errors = Error::accumulator();
        let mut paths = Vec::new();
        for element in &array.elems {
            match element {
                Expr::Path(path) if path.qself.is_none() => paths.push(path.path.clone()),
                other => errors.push(Error::custom("an element of this list is a path").with_span(other)),
            }
        }
        errors.finish_with(Self(paths))
    }
}

impl Paths {
    /// Reports paths that are there already.
    pub(crate) fn check(&self, diagnostics: &mut Diagnostics) {
        for (position, path) in self.0.iter().enumerate() {
            if self.0[..position].contains(path) {
                diagnostics.report(
                    codes::LISTED_TWICE,
                    path,
                    "this is in the list already",
                    "remove one of the two",
                );
            }
        }
    }

    /// `&[<path as Trait>::CONSTANT, …]`, each at the user's path.
    pub(crate) fn descriptors(&self, runtime: &RuntimePath, of: &str, constant: &str) -> TokenStream {
        let of = syn::Ident::new(of, Span::mixed_site());
        let constant = syn::Ident::new(constant, Span::mixed_site());
        let each = self
            .0
            .iter()
            .map(|path| quote_spanned!(Span::mixed_site()=> <#path as #runtime::#of>::#constant));
        quote_spanned!(Span::mixed_site()=> &[#(#each),*])
    }
}

/// The version that an attribute gives, 1 unless it gives one. A bad one is reported.
pub(crate) fn check_version(version: Option<&LitInt>, diagnostics: &mut Diagnostics) -> Option<u32> {
    let Some(written) = version else { return Some(1) };
    let version = written.base10_parse().ok().filter(|version| *version >= 1);
    if version.is_none() {
        diagnostics.report(
            codes::VERSION,
            written,
            "a version is a whole number from 1",
            "count versions up from 1, one for each change of the shape",
        );
    }
    version
}

/// The optional value as tokens.
pub(crate) fn optional(value: Option<impl ToTokens>) -> TokenStream {
    match value {
        Some(value) => quote_spanned!(Span::mixed_site()=> ::core::option::Option::Some(#value)),
        None => quote_spanned!(Span::mixed_site()=> ::core::option::Option::None),
    }
}

/// Reports a literal name that breaks the grammar.
pub(crate) fn check_name(name: &LitStr, what: &str, diagnostics: &mut Diagnostics) {
    let text = name.value();
    if !names::is_valid(&text) {
        let message = format_args!("`{text}` cannot name this {what}");
        diagnostics.report(codes::NAME, name, message, names::HELP);
    }
}

#[cfg(test)]
mod tests {
    use super::DurationText;
    use proc_macro2::Span;
    use syn::LitStr;

    fn millis(text: &str) -> Option<u64> {
        DurationText(LitStr::new(text, Span::call_site())).millis()
    }

    #[test]
    fn a_duration_is_a_number_and_a_unit() {
        assert_eq!(millis("200ms"), Some(200));
        assert_eq!(millis("10s"), Some(10_000));
        assert_eq!(millis("3d"), Some(259_200_000));
        for bad in ["", "10", "s", "10 s", "1.5s", "-1s", "10sec", "99999999999999999999d"] {
            assert_eq!(millis(bad), None, "{bad}");
        }
    }
}
