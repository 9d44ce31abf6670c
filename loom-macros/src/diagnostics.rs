//! Collects what is wrong with one item, so that three mistakes give three errors. Not where rules
//! are decided.

use std::fmt::Display;
use std::thread;

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};

use crate::codes::Code;

/// Proof that a model broke no rule. Only [`Diagnostics::seal`] makes one, and only this expands.
pub(crate) struct Checked<T>(T);

impl<T> Checked<T> {
    /// The model that was checked.
    pub(crate) fn into_inner(self) -> T {
        self.0
    }

    /// A look at it.
    pub(crate) fn get(&self) -> &T {
        &self.0
    }

    /// A part of it, which was checked with the whole.
    pub(crate) fn map<U>(self, part: impl FnOnce(T) -> U) -> Checked<U> {
        Checked(part(self.0))
    }
}

/// A model that broke rules, with its errors as tokens.
pub(crate) struct Faulty<T> {
    pub(crate) model: T,
    pub(crate) errors: TokenStream,
}

/// The errors of one item. Dropping it without asking for them is a bug of ours, and panics.
#[derive(Debug)]
pub(crate) struct Diagnostics {
    errors: Vec<syn::Error>,
    /// What the parser of the macros cannot read.
    unread: Vec<(syn::Error, Span)>,
    asked: bool,
}

impl Diagnostics {
    pub(crate) fn new() -> Self {
        Self { errors: Vec::new(), unread: Vec::new(), asked: false }
    }

    /// Reports a broken rule at `tokens`, with the fix.
    pub(crate) fn report(
        &mut self,
        code: Code,
        tokens: impl ToTokens,
        message: impl Display,
        help: impl Display,
    ) {
        let text = format!("[{code}] {message}\nhelp: {help}");
        self.errors.push(syn::Error::new_spanned(tokens, text));
    }

    /// The same at a span, for what has no tokens of its own.
    pub(crate) fn report_at(&mut self, code: Code, span: Span, message: impl Display, help: impl Display) {
        self.errors.push(syn::Error::new(span, format!("[{code}] {message}\nhelp: {help}")));
    }

    /// Takes over an error of the parser. What is not Rust the compiler has told of by itself, before it came here; what is
    /// none the less, of a kind that the parser does not know yet, must not build: that is said at the name of the item.
    pub(crate) fn syntax(&mut self, error: syn::Error, name: Span) {
        self.unread.push((error, name));
    }

    /// Takes over the errors of an attribute's arguments under the number of the attribute's rule.
    pub(crate) fn arguments(&mut self, code: Code, error: darling::Error, help: &str) {
        for error in error.flatten() {
            let text = format!("[{code}] {}\nhelp: {help}", reworded(&error.to_string()));
            self.errors.push(syn::Error::new(error.span(), text));
        }
    }

    /// Ends the collection: the model is sealed when nothing was reported, else it comes back with
    /// the errors.
    pub(crate) fn seal<T>(mut self, model: T) -> Result<Checked<T>, Box<Faulty<T>>> {
        self.asked = true;
        let errors = match (self.errors.as_slice(), self.unread.as_slice()) {
            ([], []) => return Ok(Checked(model)),
            ([], unread) => unread.iter().map(does_not_build).collect(),
            (errors, _) => errors.iter().map(syn::Error::to_compile_error).collect(),
        };
        Err(Box::new(Faulty { model, errors }))
    }
}

impl Drop for Diagnostics {
    fn drop(&mut self) {
        assert!(self.asked || thread::panicking(), "errors of an item were collected, never read");
    }
}

/// An item that is an error where there is no other one: a lint, and those come last. On a name of the user's, since
/// there are no lints within macros of another crate.
fn does_not_build((error, at): &(syn::Error, Span)) -> TokenStream {
    let text = format!("Loom cannot read this: {error}; write it otherwise, or move it into a function");
    let unread = quote_spanned!(*at=> __loom_unread);
    let call = quote_spanned!(*at=> __loom_unread(););
    quote! {
        const _: () = {
            #[must_use = #text]
            fn #unread() -> ::core::primitive::bool { false }
            #[allow(dead_code)]
            #[deny(unused_must_use)]
            fn __loom_unread_here() { #call }
        };
    }
}

/// What darling says, in the words of one who writes an attribute and not a parser.
fn reworded(said: &str) -> String {
    let (said, place) = match said.rsplit_once(" at ") {
        Some((said, place)) if is_place(place) => (said, Some(place.rsplit('/').next().unwrap_or(place))),
        _ => (said, None),
    };
    let quoted = |opening: &str| said.strip_prefix(opening)?.strip_suffix('`');
    if let Some((found, key)) = quoted("Unexpected type `").zip(place) {
        let article = if found.starts_with('i') || found.starts_with('a') { "an" } else { "a" };
        let found = match found {
            "int" => "integer",
            "call" => "call, which is not evaluated here",
            other => other,
        };
        return format!("`{key}` does not take {article} {found}");
    }
    if let Some((found, key)) = quoted("Unexpected meta-item format `").zip(place) {
        return match found {
            "word" => format!("`{key}` has no value"),
            "literal" => format!("`{key}` takes named values only"),
            _ => format!("`{key}` is not given like this"),
        };
    }
    if let Some(key) = quoted("Duplicate field `") {
        return format!("`{key}` is given twice");
    }
    if let Some((key, guess)) = said.strip_prefix("Unknown field: `").and_then(|rest| rest.split_once('`')) {
        if let Some(place) = place_of(key).filter(|_| place.is_none()) {
            return format!("unknown key `{key}`: {place}");
        }
        let of = place.map(|place| format!(" in `{place}(..)`")).unwrap_or_default();
        let guess = match (guess.strip_prefix(". Did you mean "), guess.strip_prefix(". Available values: "))
        {
            (Some(meant), _) => format!(": did you mean {meant}"),
            (_, Some(keys)) if place.is_some() => format!(": it takes {keys}"),
            _ => String::new(),
        };
        return format!("unknown key `{key}`{of}{guess}");
    }
    lowercase_first(said)
}

/// Where a key belongs that another attribute takes.
fn place_of(key: &str) -> Option<&'static str> {
    Some(match key {
        "timeout" => {
            "a limit of time is a step's, `#[step(timeout = \"10s\")]`; in a flow, of one call, \
             `ctx.run(..).timeout(..)`, of a gate, or of any future, `ctx.timeout(..)`"
        }
        "retry" | "heartbeat" | "pure" | "reads" | "at_most_once" => {
            "it says how a step is run, and goes on `#[step]` or `#[tool]`"
        }
        "model" | "tools" | "skills" | "max_turns" | "budget" => {
            "it is about work with a model, and goes on `#[agent]`"
        }
        "schedule" | "time_zone" | "overlap" | "catch_up" | "part" => {
            "it says when and how a flow is started, and goes on `#[flow]`"
        }
        _ => return None,
    })
}

/// Whether this is where darling was: `retry/attempts`.
fn is_place(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || matches!(c, '_' | '/'))
}

fn lowercase_first(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_lowercase().chain(chars).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Diagnostics, reworded};

    #[test]
    fn parsers_words_are_put_into_ours() {
        assert_eq!(reworded("Unexpected type `int` at retry"), "`retry` does not take an integer");
        assert_eq!(
            reworded("Unexpected type `string` at retry/attempts"),
            "`attempts` does not take a string"
        );
        assert_eq!(
            reworded("Unexpected meta-item format `literal` at retry"),
            "`retry` takes named values only"
        );
        assert_eq!(reworded("Unexpected meta-item format `word` at timeout"), "`timeout` has no value");
        assert_eq!(reworded("Missing field `name`"), "missing field `name`");
        assert_eq!(reworded("Duplicate field `name`"), "`name` is given twice");
        assert_eq!(
            reworded("Unknown field: `modle`. Did you mean `model`?"),
            "unknown key `modle`: did you mean `model`?"
        );
        assert_eq!(
            reworded("Unknown field: `attempt`. Did you mean `attempts`? at retry"),
            "unknown key `attempt` in `retry(..)`: did you mean `attempts`?"
        );
        assert_eq!(
            reworded("Unknown field: `euro`. Available values: `tokens`, `usd` at budget"),
            "unknown key `euro` in `budget(..)`: it takes `tokens`, `usd`"
        );
        assert_eq!(reworded("Unknown field: `x`. Available values: `a`, `b`"), "unknown key `x`");
        assert_eq!(
            reworded("a duration is a string such as \"10s\" at timeout"),
            "a duration is a string such as \"10s\""
        );
    }

    #[test]
    fn what_cannot_be_read_is_an_error_where_there_is_no_other() {
        let unread = || {
            let mut diagnostics = Diagnostics::new();
            let span = proc_macro2::Span::call_site();
            diagnostics.syntax(syn::Error::new(span, "expected `{`"), span);
            diagnostics
        };
        let errors = |diagnostics: Diagnostics| match diagnostics.seal(()) {
            Ok(_) => String::new(),
            Err(faulty) => faulty.errors.to_string(),
        };
        let alone = errors(unread());
        assert!(alone.contains("expected `{`") && !alone.contains("compile_error"), "{alone}");
        let mut other = unread();
        other.report(crate::codes::NAME, quote::quote!(x), "this", "that");
        let beside = errors(other);
        assert!(beside.contains("compile_error") && !beside.contains("expected"), "{beside}");
    }

    #[test]
    #[should_panic(expected = "never read")]
    fn a_forgotten_collector_panics() {
        drop(Diagnostics::new());
    }
}
