//! What `#[derive(Failure)]` leaves behind. No rule is applied here.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::parse_quote;

use crate::arguments::{DurationText, duration};
use crate::diagnostics::Checked;
use crate::runtime_path::RuntimePath;

use super::model::{Failure, Variant};

/// The implementation for a failure that broke no rule.
pub(crate) fn expand(failure: Checked<Failure>) -> TokenStream {
    let failure = failure.into_inner();
    let runtime = &failure.runtime;
    let engine: TokenStream = failure.engines().map(|variant| engine(variant, runtime)).collect();
    let codes = failure.variants.iter().map(|variant| {
        let (ident, code) = (&variant.ident, variant.ident.to_string());
        quote_spanned!(Span::mixed_site()=> Self::#ident { .. } => #code,)
    });
    let messages = failure.variants.iter().map(message);
    let classes = failure.variants.iter().map(|variant| class(variant, &failure));
    implementation(
        &failure,
        &engine,
        &quote_spanned! {Span::mixed_site()=>
            fn from_engine(error: #runtime::EffectError) -> Self { #engine }
            fn code(&self) -> &'static ::core::primitive::str {
                match self { #(#codes)* }
            }
            fn message(&self) -> ::std::string::String {
                match self { #(#messages)* }
            }
            fn retry(&self) -> #runtime::RetryClass {
                match self { #(#classes)* }
            }
        },
    )
}

/// The engine's variant of an `error`, by the type that it is declared with: a wrong one is reported there.
fn engine(variant: &Variant, runtime: &RuntimePath) -> TokenStream {
    let (ident, ty) = (&variant.ident, variant.fields.iter().next().map(|field| &field.ty));
    quote_spanned!(Span::mixed_site()=> Self::#ident(<#ty as #runtime::EngineField>::of(error)))
}

/// The implementation for a failure that broke a rule: enough for those who use the type.
pub(crate) fn stub(failure: &Failure) -> TokenStream {
    let runtime = &failure.runtime;
    let panic = quote_spanned!(Span::mixed_site()=> ::core::panic!("this failure did not compile"));
    implementation(
        failure,
        &panic,
        &quote_spanned! {Span::mixed_site()=>
            fn from_engine(_: #runtime::EffectError) -> Self { #panic }
            fn code(&self) -> &'static ::core::primitive::str { #panic }
            fn message(&self) -> ::std::string::String { #panic }
            fn retry(&self) -> #runtime::RetryClass { #panic }
        },
    )
}

/// `from` makes the value of what the engine reports; it says nothing of `Failure`, so that an enum that is none for want
/// of a derive is told so once.
fn implementation(failure: &Failure, from: &TokenStream, methods: &TokenStream) -> TokenStream {
    let (runtime, ident) = (&failure.runtime, &failure.ident);
    // Of a generic type it depends on the arguments whether it can be recorded.
    let mut bounded = failure.generics.clone();
    if !bounded.params.is_empty() {
        let is_recorded = parse_quote!(Self: #runtime::Recorded + ::core::marker::Send + 'static);
        bounded.make_where_clause().predicates.push(is_recorded);
    }
    let (generics, arguments, where_clause) = bounded.split_for_impl();
    quote_spanned! {Span::mixed_site()=>
        #[automatically_derived]
        impl #generics #runtime::Failure for #ident #arguments #where_clause {
            const CODEC: #runtime::Codec<Self> = #runtime::codec::<#ident #arguments>();
            #methods
        }

        // For `?` on `ctx.execute(..).await`.
        #[automatically_derived]
        impl #generics ::core::convert::From<#runtime::ExecuteError> for #ident #arguments #where_clause {
            fn from(error: #runtime::ExecuteError) -> Self {
                #runtime::ExecuteError::into_failure(error)
            }
        }

        // For `?` on what the engine itself reports, `ctx.suspend(..).await?` above all.
        #[automatically_derived]
        impl #generics ::core::convert::From<#runtime::EffectError> for #ident #arguments #where_clause {
            fn from(error: #runtime::EffectError) -> Self { #from }
        }
    }
}

fn message(variant: &Variant) -> TokenStream {
    let (ident, message) = (&variant.ident, &variant.message);
    if variant.engine.is_present() {
        quote_spanned! {Span::mixed_site()=>
            Self::#ident(error) => ::std::string::ToString::to_string(error),
        }
    } else {
        quote_spanned! {Span::mixed_site()=>
            Self::#ident { .. } => ::std::string::String::from(#message),
        }
    }
}

fn class(variant: &Variant, failure: &Failure) -> TokenStream {
    let (runtime, ident) = (&failure.runtime, &variant.ident);
    let pause = variant.retry_after.as_ref().and_then(DurationText::millis);
    let class = match pause {
        Some(millis) => {
            let pause = duration(millis);
            quote_spanned!(Span::mixed_site()=> After(#pause))
        }
        None if variant.permanent.is_present() || variant.engine.is_present() => {
            quote_spanned!(Span::mixed_site()=> Permanent)
        }
        None => quote_spanned!(Span::mixed_site()=> Transient),
    };
    quote_spanned!(Span::mixed_site()=> Self::#ident { .. } => #runtime::RetryClass::#class,)
}
