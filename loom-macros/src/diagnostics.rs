//! Collects what is wrong with one item, so that three mistakes give three errors. Not where rules
//! are decided.

use std::fmt::Display;
use std::thread;

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

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
    asked: bool,
}

impl Diagnostics {
    pub(crate) fn new() -> Self {
        Self { errors: Vec::new(), asked: false }
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

    /// Takes over an error of the parser, which has no number: the item is not Rust.
    pub(crate) fn syntax(&mut self, error: syn::Error) {
        self.errors.push(error);
    }

    /// Takes over the errors of an attribute's arguments under the number of the attribute's rule.
    pub(crate) fn arguments(&mut self, code: Code, error: darling::Error, help: &str) {
        for error in error.flatten() {
            let text = format!("[{code}] {}\nhelp: {help}", lowercase_first(&error.to_string()));
            self.errors.push(syn::Error::new(error.span(), text));
        }
    }

    /// Ends the collection: the model is sealed when nothing was reported, else it comes back with
    /// the errors.
    pub(crate) fn seal<T>(mut self, model: T) -> Result<Checked<T>, Box<Faulty<T>>> {
        self.asked = true;
        if self.errors.is_empty() {
            return Ok(Checked(model));
        }
        let errors = self.errors.iter().map(syn::Error::to_compile_error).collect();
        Err(Box::new(Faulty { model, errors }))
    }
}

impl Drop for Diagnostics {
    fn drop(&mut self) {
        assert!(self.asked || thread::panicking(), "errors of an item were collected, never read");
    }
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
    use super::Diagnostics;

    #[test]
    #[should_panic(expected = "never read")]
    fn a_forgotten_collector_panics() {
        drop(Diagnostics::new());
    }
}
