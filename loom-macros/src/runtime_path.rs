//! The absolute path through which generated code reaches the runtime. Not a lookup: the crate is
//! `::loom` unless the attribute says `crate = …`.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::Path;

/// `::loom::__v1`, or that of the crate that the user named.
#[derive(Clone)]
pub(crate) struct RuntimePath(TokenStream);

impl RuntimePath {
    pub(crate) fn new(root: Option<&Path>) -> Self {
        let span = Span::mixed_site();
        Self(match root {
            Some(root) => quote_spanned!(span=> #root::__v1),
            None => quote_spanned!(span=> ::loom::__v1),
        })
    }

    /// The function that makes the JSON Schema of a type; any schema for one that has none, which the bounds report.
    /// It needs [`RuntimePath::others`] in scope.
    pub(crate) fn schema_of(&self, ty: impl ToTokens) -> TokenStream {
        quote_spanned!(Span::mixed_site()=> <#self::Given<#ty>>::schema)
    }

    /// The same with whether a value reads as the type, of one that is given from outside.
    pub(crate) fn data_of(&self, ty: impl ToTokens) -> TokenStream {
        quote_spanned!(Span::mixed_site()=> <#self::Given<#ty>>::DATA)
    }

    /// The import of what stands in for what a type does not have.
    pub(crate) fn others(&self) -> TokenStream {
        quote_spanned! {Span::mixed_site()=>
            #[allow(unused_imports)]
            use #self::GivesOther as _;
        }
    }

    /// The path of a re-exported crate as the string that serde's and schemars' attributes want.
    pub(crate) fn text_of(&self, krate: &str) -> String {
        let mut text: String = self.0.to_string().split_whitespace().collect();
        text.push_str("::");
        text.push_str(krate);
        text
    }
}

impl ToTokens for RuntimePath {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.0.to_tokens(tokens);
    }
}
