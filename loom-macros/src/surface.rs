//! What the user's name stands for after a macro: a function that builds an inert call, and a type
//! that describes it. Not what either means: that is the trait that the macro implements for the type.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote_spanned};

use crate::item::{FnItem, Param, named_again, type_is};

/// The name of the associated function that joins the two; it sees what the anonymous constant holds.
const CONSTRUCTOR: &str = "__loom_call";

/// The function and the type of one item.
pub(crate) struct Surface<'m> {
    pub(crate) item: &'m FnItem,
    /// The parameters that callers give.
    pub(crate) inputs: Vec<&'m Param>,
    /// The type of the inert call.
    pub(crate) call: TokenStream,
}

impl Surface<'_> {
    /// The function and the type.
    pub(crate) fn tokens(&self) -> TokenStream {
        let name = &self.item.sig.ident;
        let constructor = syn::Ident::new(CONSTRUCTOR, Span::mixed_site());
        let args = self.inputs.iter().map(|param| &param.ident);
        self.with_body(&quote_spanned!(Span::mixed_site()=> #name::#constructor(#(#args),*)))
    }

    /// The same for an item that broke a rule: nobody will run it, but callers still compile.
    /// They give no context, wherever the item asks for one.
    pub(crate) fn stub(self) -> TokenStream {
        let given: Vec<_> = self.inputs.into_iter().filter(|param| !is_context(&param.ty)).collect();
        let given = renamed(&given);
        let args = given.iter().map(|param| &param.ident);
        Surface { item: self.item, inputs: given.iter().collect(), call: self.call }.with_body(
            &quote_spanned! {Span::mixed_site()=>
                let _ = (#(#args,)*);
                ::core::panic!("this item did not compile")
            },
        )
    }

    fn with_body(&self, body: &TokenStream) -> TokenStream {
        let Self { item, inputs, call } = self;
        let (name, vis) = (&item.sig.ident, &item.vis);
        let (cfgs, docs, attrs) =
            (item.cfgs().collect::<Vec<_>>(), item.docs().collect::<Vec<_>>(), item.caller_attrs());
        let params = inputs.iter().map(|param| param.declaration());
        // Nobody calls a flow that is only started by its name, hence `dead_code`.
        quote_spanned! {Span::mixed_site()=>
            #(#cfgs)* #(#docs)* #(#attrs)*
            #[allow(dead_code)]
            #vis fn #name(#(#params),*) -> #call { #body }

            #(#cfgs)* #(#docs)*
            #[allow(missing_docs, non_camel_case_types, unreachable_pub)]
            #vis enum #name {}
        }
    }

    /// The associated function that [`Surface::tokens`] calls.
    pub(crate) fn constructor(&self, body: &TokenStream) -> TokenStream {
        let name = &self.item.sig.ident;
        let call = &self.call;
        let constructor = syn::Ident::new(CONSTRUCTOR, Span::mixed_site());
        let params = self.inputs.iter().map(|param| param.declaration());
        quote_spanned! {Span::mixed_site()=>
            impl #name {
                fn #constructor(#(#params),*) -> #call { #body }
            }
        }
    }
}

/// The parameters, those that another one has the name of by names of their own.
fn renamed(inputs: &[&Param]) -> Vec<Param> {
    let again = named_again(inputs.iter().copied());
    let fresh =
        |(position, param): (usize, &&Param)| match again.iter().any(|again| std::ptr::eq(*again, *param)) {
            true => Param {
                ident: format_ident!("again_{position}", span = Span::mixed_site()),
                ..(*param).clone()
            },
            false => (*param).clone(),
        };
    inputs.iter().enumerate().map(fresh).collect()
}

/// Whether a type is `Ctx` or a reference to it.
fn is_context(ty: &syn::Type) -> bool {
    match ty {
        syn::Type::Reference(reference) => is_context(&reference.elem),
        other => type_is(other, "Ctx"),
    }
}
