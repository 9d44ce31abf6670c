//! The way of an attribute from its tokens to its expansion, which is the same for all of them: read, check, expand,
//! or stand in for what broke a rule. What each reads, checks and leaves behind is its own.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Ident;

use crate::codes::Code;
use crate::completion;
use crate::diagnostics::{Checked, Diagnostics, Faulty};
use crate::item::{self, Place};
use crate::keys::Key;
use crate::mended;
use crate::printed;

/// What is an attribute's own. `M` is its model.
pub(crate) struct Attribute<'a, M> {
    /// What it goes on.
    pub(crate) place: Place,
    /// The number of the rule that says so.
    pub(crate) code: Code,
    /// The keys that it takes.
    pub(crate) keys: &'static [Key],
    /// Arguments and item as a model. An item that it does not go on is an error.
    pub(crate) read: &'a dyn Fn(TokenStream, TokenStream, &mut Diagnostics) -> syn::Result<M>,
    /// The item's name.
    pub(crate) name: fn(&M) -> Option<&Ident>,
    #[expect(clippy::type_complexity, reason = "a function's signature is clearest in place")]
    pub(crate) check: fn(M, Diagnostics) -> Result<Checked<M>, Box<Faulty<M>>>,
    pub(crate) expand: fn(Checked<M>) -> TokenStream,
    /// What an item that broke a rule leaves.
    pub(crate) stub: fn(&M) -> TokenStream,
}

impl<M> Attribute<'_, M> {
    /// The whole macro: token stream in, token stream out.
    pub(crate) fn apply(&self, args: TokenStream, item: TokenStream) -> TokenStream {
        let completion = completion::of(self.place.attribute, self.keys, &args);
        let mut diagnostics = Diagnostics::new();
        let model = match (self.read)(args.clone(), item.clone(), &mut diagnostics) {
            Ok(model) => model,
            Err(error) => {
                let mended = mended::mended(&item);
                let model = mended.and_then(|mended| (self.read)(args, mended, &mut diagnostics).ok());
                let tokens = match model {
                    Some(model) => self.half_typed(&model, &error, diagnostics),
                    None => item::unparsed(item, &error, self.code, &self.place, diagnostics),
                };
                return quote!(#completion #tokens);
            }
        };
        let name = (self.name)(&model).cloned();
        let tokens = match (self.check)(model, diagnostics) {
            Ok(checked) => (self.expand)(checked),
            Err(faulty) => {
                let (stub, errors) = ((self.stub)(&faulty.model), faulty.errors);
                quote!(#errors #stub)
            }
        };
        if let Some(name) = name {
            printed::expansion(&name, &tokens);
        }
        quote!(#completion #tokens)
    }

    /// What a function leaves whose signature does not parse: one error, and the stub of what it might become.
    fn half_typed(&self, model: &M, error: &syn::Error, mut diagnostics: Diagnostics) -> TokenStream {
        let Place { attribute, example, .. } = &self.place;
        diagnostics.report_at(
            self.code,
            error.span(),
            format_args!("`#[{attribute}]` cannot read this signature"),
            format_args!("write `{example}`"),
        );
        let stub = (self.stub)(model);
        match diagnostics.seal(()) {
            Ok(_) => stub,
            Err(faulty) => {
                let errors = faulty.errors;
                quote!(#errors #stub)
            }
        }
    }
}
