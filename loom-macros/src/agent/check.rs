//! The rules of `#[agent]`, L0701 to L0705, after those of a flow. Nothing is built here.

use crate::codes;
use crate::diagnostics::{Checked, Diagnostics, Faulty};
use crate::flow::check;

use super::model::{Agent, count, micros};

/// Applies every rule.
pub(crate) fn check(
    agent: Agent,
    mut diagnostics: Diagnostics,
) -> Result<Checked<Agent>, Box<Faulty<Agent>>> {
    check::rules(&agent.flow, &mut diagnostics);
    let ident = &agent.flow.item.sig.ident;
    if agent.flow.item.doc().is_empty() {
        diagnostics.report(
            codes::AGENT_INSTRUCTIONS,
            ident,
            format_args!("the agent `{ident}` has no instructions"),
            "write a doc comment: it is what the model is told to do",
        );
    }
    if let Some(semi) = &agent.flow.item.bodyless {
        diagnostics.report(
            codes::AGENT_BODY,
            semi,
            format_args!("the agent `{ident}` has no body, and there is no loop to stand in for it"),
            "the feature `agents` of `loom`, which does not exist yet, will bring the loop; until then, write \
             the body as that of a flow: `{ let answer = ctx.run(ask(input)).await?; Ok(answer) }`",
        );
    }
    if let Some(model) = agent.model.as_ref().filter(|model| model.value().trim().is_empty()) {
        diagnostics.report(
            codes::AGENT_MODEL,
            model,
            "a model has a name",
            "write the name by which the program knows it, or remove `model` for the program's own choice",
        );
    }
    agent.tools.check(&mut diagnostics);
    agent.skills.check(&mut diagnostics);
    limits(&agent, &mut diagnostics);
    diagnostics.seal(agent)
}

fn limits(agent: &Agent, diagnostics: &mut Diagnostics) {
    if agent.empty_budget {
        diagnostics.report(
            codes::AGENT_LIMIT,
            &agent.flow.item.sig.ident,
            "a budget of nothing in particular limits nothing",
            "write what the agent may use up, `budget(tokens = 50_000, usd = 0.5)`, or remove `budget`",
        );
    }
    if let Some(turns) = agent.max_turns.as_ref().filter(|turns| count::<u32>(turns).is_none()) {
        diagnostics.report(
            codes::AGENT_LIMIT,
            turns,
            "`max_turns` is a whole number from 1",
            "write how many turns the agent may take: `max_turns = 20`",
        );
    }
    if let Some(tokens) = agent.tokens.as_ref().filter(|tokens| count::<u64>(tokens).is_none()) {
        diagnostics.report(
            codes::AGENT_LIMIT,
            tokens,
            "a budget of tokens is a whole number from 1",
            "write how many tokens the agent may use up: `budget(tokens = 50_000)`",
        );
    }
    if let Some(usd) = agent.usd.as_ref().filter(|usd| micros(usd).is_none()) {
        diagnostics.report(
            codes::AGENT_LIMIT,
            usd,
            "a budget of money is a number of dollars above 0, of at most six decimals",
            "write what the agent may cost: `budget(usd = 0.5)`",
        );
    }
}
