//! What `#[tool]` leaves behind, beside what a step does. No rule is applied here.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;

use crate::diagnostics::Checked;
use crate::registration;
use crate::step::{self, model::Step};

/// The expansion of a tool that broke no rule.
pub(super) fn expand(tool: Checked<Step>) -> TokenStream {
    let step = tool.get();
    let (runtime, name) = (&step.runtime, &step.item.sig.ident);
    let descriptor = quote_spanned! {Span::mixed_site()=>
        &#runtime::ToolDescriptor { step: <#name as #runtime::Step>::DESCRIPTOR }
    };
    let element = registration::element("TOOLS_V1", "ToolDescriptor", runtime);
    let implementation = implementation(step, &descriptor, &element);
    let step = step::expand::expand(tool);
    quote_spanned!(Span::mixed_site()=> #step #implementation)
}

/// The expansion of a tool that broke a rule: agents that list it still compile.
pub(super) fn stub(tool: &Step) -> TokenStream {
    let step = step::expand::stub(tool);
    if tool.item.of_a_type().is_some() {
        return step;
    }
    let runtime = &tool.runtime;
    let descriptor = quote_spanned!(Span::mixed_site()=> #runtime::stub::TOOL);
    let implementation = implementation(tool, &descriptor, &TokenStream::new());
    quote_spanned!(Span::mixed_site()=> #step #implementation)
}

fn implementation(tool: &Step, descriptor: &TokenStream, element: &TokenStream) -> TokenStream {
    let (runtime, name, cfgs) = (&tool.runtime, &tool.item.sig.ident, tool.item.cfgs());
    quote_spanned! {Span::mixed_site()=>
        #(#cfgs)*
        const _: () = {
            const __LOOM_DESCRIPTOR: &#runtime::ToolDescriptor = #descriptor;
            impl #runtime::Tool for #name {
                const TOOL: &'static #runtime::ToolDescriptor = __LOOM_DESCRIPTOR;
            }
            #element
        };
    }
}
