//! What `#[projection]` leaves behind. No rule is applied here: a projection that broke one gets a stub.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::quote_spanned;
use syn::Type;

use crate::diagnostics::Checked;
use crate::fingerprint;
use crate::location;
use crate::registration;

use super::model::{Fold, Projection};
use super::parse::{Block, On};

/// The expansion of a projection that broke no rule.
pub(crate) fn expand(projection: Checked<Projection>) -> TokenStream {
    let projection = projection.into_inner();
    let (runtime, ty) = (&projection.runtime, &projection.block.ty);
    let element = registration::element("PROJECTIONS_V1", "ProjectionDescriptor", runtime);
    let (block, descriptor) = (block(&projection.block), descriptor(&projection));
    let folds = projection.folds.iter().map(|fold| apply(fold, &projection));
    let (cfgs, others) = (projection.cfgs(), runtime.others());
    quote_spanned! {Span::mixed_site()=>
        #block
        #(#cfgs)*
        const _: () = {
            #others
            const __LOOM_DESCRIPTOR: &#runtime::ProjectionDescriptor = #descriptor;
            #[automatically_derived]
            impl #runtime::Projection for #ty {
                const DESCRIPTOR: &'static #runtime::ProjectionDescriptor = __LOOM_DESCRIPTOR;
                fn fold(
                    &mut self,
                    __loom_fact: &#runtime::Fact<'_>,
                ) -> ::core::result::Result<(), #runtime::FoldError> {
                    #(#folds)*
                    ::core::result::Result::Ok(())
                }
            }
            #element
        };
    }
}

/// The expansion of a projection that broke a rule: the same block to look at in an editor, and those who ask
/// for the state still compile.
pub(crate) fn stub(projection: &Projection) -> TokenStream {
    let (runtime, ty, cfgs) = (&projection.runtime, &projection.block.ty, projection.cfgs());
    let own = &projection.block;
    if !own.generics.params.is_empty() || projection.ident().is_none() {
        return block(own);
    }
    let block = match &own.of_trait {
        Some(_) => without_trait(projection),
        None => block(own),
    };
    // The types of the folds that broke no rule are compared nevertheless.
    let folds = projection.folds.iter().filter(|fold| fold.is_sound()).map(|fold| apply(fold, projection));
    let (panic, others) = (
        quote_spanned!(Span::mixed_site()=> ::core::panic!("this projection did not compile")),
        runtime.others(),
    );
    quote_spanned! {Span::mixed_site()=>
        #[allow(dead_code)]
        #block
        #(#cfgs)*
        impl #runtime::Projection for #ty {
            const DESCRIPTOR: &'static #runtime::ProjectionDescriptor = #runtime::stub::PROJECTION;
            fn fold(
                &mut self,
                __loom_fact: &#runtime::Fact<'_>,
            ) -> ::core::result::Result<(), #runtime::FoldError> {
                #others
                #(#folds)*
                #panic
            }
        }
    }
}

/// The block as it came, but for the `#[on]`s.
fn block(block: &Block) -> TokenStream {
    let Block { attrs, impl_token, generics, of_trait, ty, where_clause, body } = block;
    let of_trait =
        of_trait.as_ref().map(|(of_trait, word)| quote_spanned!(Span::mixed_site()=> #of_trait #word));
    quote_spanned!(Span::mixed_site()=> #(#attrs)* #impl_token #generics #of_trait #ty #where_clause #body)
}

/// The functions of the block without its trait: that they do not fit that either is no news.
fn without_trait(projection: &Projection) -> TokenStream {
    let Block { attrs, impl_token, generics, ty, where_clause, .. } = &projection.block;
    let folds = projection.folds.iter().map(|fold| &fold.item);
    quote_spanned! {Span::mixed_site()=>
        #(#attrs)* #[allow(dead_code)] #impl_token #generics #ty #where_clause { #(#folds)* }
    }
}

fn descriptor(projection: &Projection) -> TokenStream {
    let (runtime, ty, name) = (&projection.runtime, &projection.block.ty, &projection.name);
    let (doc, version) = (projection.doc(), projection.version);
    let (location, state) =
        (location::location(projection.block.impl_token.span, runtime), runtime.schema_of(ty));
    let facts = || projection.folds.iter().filter_map(|fold| Some((fold, fold.fact()?)));
    let events = facts().filter_map(|(fold, on)| match on {
        On::Event(path) => {
            let cfgs = fold.cfgs();
            Some(quote_spanned! {Span::mixed_site()=>
                #(#cfgs)* #runtime::event::<#path>()
            })
        }
        _ => None,
    });
    let steps = facts().filter_map(|(fold, on)| match on {
        On::Step(path) => {
            let cfgs = fold.cfgs();
            Some(quote_spanned!(Span::mixed_site()=> #(#cfgs)* <#path as #runtime::Step>::DESCRIPTOR))
        }
        _ => None,
    });
    let lifecycle = facts().any(|(_, on)| matches!(on, On::Lifecycle));
    let fingerprint = fingerprint::of_tokens(&TokenTree::Group(projection.written.clone()).into());
    quote_spanned! {Span::mixed_site()=>
        &#runtime::ProjectionDescriptor {
            name: #name,
            doc: #doc,
            version: #version,
            location: #location,
            state: #state,
            events: &[#(#events),*],
            steps: &[#(#steps),*],
            lifecycle: #lifecycle,
            fingerprint: #fingerprint,
            project: #runtime::project_as_json::<#ty>,
        }
    }
}

/// Calls a fold when the fact is its own. What it takes is asked of the type that the user wrote, where another one is
/// reported.
fn apply(fold: &Fold, projection: &Projection) -> Option<TokenStream> {
    let (runtime, ident, cfgs) = (&projection.runtime, &fold.item.sig.ident, fold.cfgs());
    let mixed = Span::mixed_site();
    let fact = match fold.fact()? {
        On::Event(path) => quote_spanned!(mixed=> <#runtime::Given<#path>>::event(__loom_fact)?),
        On::Step(path) => quote_spanned!(mixed=> <#path as #runtime::Step>::__of_fact(__loom_fact)?),
        On::Lifecycle => quote_spanned!(mixed=> #runtime::Fact::status(__loom_fact)),
    };
    let argument = match fold.argument() {
        Some(ty @ Type::Reference(_)) => {
            quote_spanned!(mixed=> #runtime::Held(&__loom_it).borrowed::<#ty>())
        }
        ty => quote_spanned!(mixed=> #runtime::Held(__loom_it).owned::<#ty>()),
    };
    let at_name = ident.span().resolved_at(mixed);
    let call = quote_spanned!(at_name=> Self::#ident(self, #argument));
    Some(quote_spanned! {mixed=>
        #(#cfgs)*
        if let ::core::option::Option::Some(__loom_it) = #fact {
            #call;
            return ::core::result::Result::Ok(());
        }
    })
}
