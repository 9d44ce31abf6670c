//! What the user's name stands for after a macro: a function that builds an inert call, and a type
//! that describes it. Not what either means: that is the trait that the macro implements for the type.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, format_ident, quote_spanned};
use syn::{FnArg, GenericParam};

use crate::item::{FnItem, Param, is_context, is_resource, mentions, named_again};

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
        let given = self.given();
        let used = given.iter().map(|param| {
            let (cfgs, ident) = (param.cfgs(), &param.ident);
            quote_spanned!(Span::mixed_site()=> #(#cfgs)* let _ = #ident;)
        });
        Surface { item: self.item, inputs: given.iter().collect(), call: self.call }.with_body(
            &quote_spanned! {Span::mixed_site()=>
                #(#used)*
                ::core::panic!("this item did not compile")
            },
        )
    }

    /// What callers give an item that broke a rule, in its order: a pattern as well, by a name that nobody wrote.
    fn given(&self) -> Vec<Param> {
        let given = |(position, arg): (usize, &FnArg)| {
            let FnArg::Typed(typed) = arg else { return None };
            let (ty, fresh) = (&typed.ty, format_ident!("given_{position}", span = Span::mixed_site()));
            match Param::new(typed) {
                _ if is_context(ty) => None,
                Some(param) => {
                    let input = self
                        .inputs
                        .iter()
                        .find(|input| input.ident == param.ident && input.ty == param.ty)?;
                    Some((*input).clone())
                }
                None if is_resource(ty) => None,
                None => Some(Param {
                    attrs: typed.attrs.clone(),
                    mutability: None,
                    ident: fresh,
                    ty: (**ty).clone(),
                }),
            }
        };
        renamed(self.item.sig.inputs.iter().enumerate().filter_map(given).collect())
    }

    /// The generic parameters, which only an item has that broke a rule: the lifetimes, and the others if callers have to
    /// write them. Those that the arguments tell are left out: nobody could name the function without them.
    fn generics(&self) -> Vec<&GenericParam> {
        let (generics, inputs) = (&self.item.sig.generics, self.item.sig.inputs.to_token_stream());
        let named = generics.type_params().map(|param| &param.ident);
        let mut named = named.chain(generics.const_params().map(|param| &param.ident));
        let written = named.any(|name| !mentions(&inputs, name));
        let is_kept = |param: &&GenericParam| written || matches!(param, GenericParam::Lifetime(_));
        generics.params.iter().filter(is_kept).collect()
    }

    fn with_body(&self, body: &TokenStream) -> TokenStream {
        let Self { item, inputs, call } = self;
        let generics = self.generics();
        let (name, vis) = (&item.sig.ident, &item.vis);
        let (cfgs, docs, attrs) =
            (item.cfgs().collect::<Vec<_>>(), item.docs().collect::<Vec<_>>(), item.caller_attrs());
        let params = inputs.iter().map(|param| param.declaration());
        // Nobody calls a flow that is only started by its name, hence `dead_code`.
        quote_spanned! {Span::mixed_site()=>
            #(#cfgs)* #(#docs)* #(#attrs)*
            #[allow(dead_code)]
            #vis fn #name <#(#generics),*>(#(#params),*) -> #call { #body }

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
fn renamed(inputs: Vec<Param>) -> Vec<Param> {
    let again = named_again(&inputs);
    let fresh =
        |(position, param): (usize, &Param)| match again.iter().any(|again| std::ptr::eq(*again, param)) {
            true => {
                Param { ident: format_ident!("again_{position}", span = Span::mixed_site()), ..param.clone() }
            }
            false => param.clone(),
        };
    inputs.iter().enumerate().map(fresh).collect()
}
