//! What `#[agent]` leaves behind, beside what a flow does. No rule is applied here.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;

use crate::arguments::optional;
use crate::diagnostics::Checked;
use crate::flow::{self, ceiling};
use crate::registration;

use super::model::{Agent, count, micros};

/// The expansion of an agent that broke no rule.
pub(crate) fn expand(agent: Checked<Agent>) -> TokenStream {
    let model = agent.get();
    let element = registration::element("AGENTS_V1", "AgentDescriptor", &model.flow.runtime);
    let held = held(model);
    let beside = quote_spanned!(Span::mixed_site()=> #held #element);
    let implementation = implementation(model, &descriptor(model), &beside);
    let flow = flow::expand::expand(agent.map(|agent| agent.flow));
    quote_spanned!(Span::mixed_site()=> #flow #implementation)
}

/// The expansion of an agent that broke a rule: those who start it still compile.
pub(crate) fn stub(agent: &Agent) -> TokenStream {
    let flow = flow::expand::stub(&agent.flow);
    if agent.flow.item.of_a_type().is_some() {
        return flow;
    }
    let runtime = &agent.flow.runtime;
    let descriptor = quote_spanned!(Span::mixed_site()=> #runtime::stub::AGENT);
    let implementation = implementation(agent, &descriptor, &TokenStream::new());
    quote_spanned!(Span::mixed_site()=> #flow #implementation)
}

/// Holds the tools against the agent's ceiling: what it does not allow itself, no model may ask of it.
fn held(agent: &Agent) -> Option<TokenStream> {
    let ceiling = ceiling::constant(&agent.flow)?;
    let tools = agent.tools.0.iter().filter_map(|tool| ceiling::held_tool(tool, &agent.flow.runtime));
    Some(quote_spanned!(Span::mixed_site()=> #ceiling #(#tools)*))
}

fn implementation(agent: &Agent, descriptor: &TokenStream, beside: &TokenStream) -> TokenStream {
    let (runtime, item) = (&agent.flow.runtime, &agent.flow.item);
    let (name, cfgs) = (&item.sig.ident, item.cfgs());
    quote_spanned! {Span::mixed_site()=>
        #(#cfgs)*
        const _: () = {
            const __LOOM_DESCRIPTOR: &#runtime::AgentDescriptor = #descriptor;
            impl #runtime::Agent for #name {
                const AGENT: &'static #runtime::AgentDescriptor = __LOOM_DESCRIPTOR;
            }
            #beside
        };
    }
}

fn descriptor(agent: &Agent) -> TokenStream {
    let (runtime, item) = (&agent.flow.runtime, &agent.flow.item);
    let (name, instructions) = (&item.sig.ident, item.doc());
    let model = optional(agent.model.as_ref());
    let tools = agent.tools.descriptors(runtime, "Tool", "TOOL");
    let skills = agent.skills.descriptors(runtime, "Skill", "DESCRIPTOR");
    let max_turns = optional(agent.max_turns.as_ref().and_then(count::<u32>));
    let tokens = optional(agent.tokens.as_ref().and_then(count::<u64>));
    let usd_micros = optional(agent.usd.as_ref().and_then(micros));
    quote_spanned! {Span::mixed_site()=>
        &#runtime::AgentDescriptor {
            flow: <#name as #runtime::Flow>::DESCRIPTOR,
            instructions: #instructions,
            model: #model,
            tools: #tools,
            skills: #skills,
            max_turns: #max_turns,
            budget: #runtime::Budget { tokens: #tokens, usd_micros: #usd_micros },
        }
    }
}
