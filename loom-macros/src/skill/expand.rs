//! What `#[skill]` leaves behind. No rule is applied here: a skill that broke one gets a stub.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;

use crate::diagnostics::Checked;
use crate::location;
use crate::registration;

use super::model::Skill;

/// The expansion of a skill that broke no rule.
pub(crate) fn expand(skill: Checked<Skill>) -> TokenStream {
    let skill = skill.into_inner();
    let element = registration::element("SKILLS_V1", "SkillDescriptor", &skill.runtime);
    let descriptor = descriptor(&skill);
    with_implementation(&skill, &descriptor, &element)
}

/// The expansion of a skill that broke a rule: agents that list it still compile.
pub(crate) fn stub(skill: &Skill) -> TokenStream {
    if !skill.item.generics.params.is_empty() {
        let item = &skill.item;
        return quote_spanned!(Span::mixed_site()=> #item);
    }
    let runtime = &skill.runtime;
    let descriptor = quote_spanned!(Span::mixed_site()=> #runtime::stub::SKILL);
    with_implementation(skill, &descriptor, &TokenStream::new())
}

fn with_implementation(skill: &Skill, descriptor: &TokenStream, element: &TokenStream) -> TokenStream {
    let (item, runtime, ident, cfgs) = (&skill.item, &skill.runtime, &skill.item.ident, skill.cfgs());
    // A skill is named, never made.
    quote_spanned! {Span::mixed_site()=>
        #[allow(dead_code)]
        #item
        #(#cfgs)*
        const _: () = {
            const __LOOM_DESCRIPTOR: &#runtime::SkillDescriptor = #descriptor;
            #[automatically_derived]
            impl #runtime::Skill for #ident {
                const DESCRIPTOR: &'static #runtime::SkillDescriptor = __LOOM_DESCRIPTOR;
            }
            #element
        };
    }
}

fn descriptor(skill: &Skill) -> TokenStream {
    let (runtime, name, description) = (&skill.runtime, &skill.name, skill.description());
    let location = location::location(skill.item.ident.span(), runtime);
    // At the user's literal, where a file that is not there is reported.
    let text = skill.file.as_ref().map(|file| quote_spanned!(file.span()=> ::core::include_str!(#file)));
    let file = &skill.file;
    quote_spanned! {Span::mixed_site()=>
        &#runtime::SkillDescriptor {
            name: #name,
            description: #description,
            location: #location,
            file: #file,
            instructions: || #text,
        }
    }
}
