//! What an agent is: a flow, and what it works with. The model holds faults as well: `check.rs` reports them.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Lit, LitInt, LitStr};

use crate::arguments::{Paths, Read};
use crate::diagnostics::Diagnostics;
use crate::flow::model::{Flow, Kind};
use crate::flow::parse::{self, FlowArgs};

use super::parse::{AgentArgs, Parsed};

/// An agent.
pub(crate) struct Agent {
    pub(crate) flow: Flow,
    pub(crate) model: Option<LitStr>,
    pub(crate) tools: Paths,
    pub(crate) skills: Paths,
    pub(crate) max_turns: Option<LitInt>,
    pub(crate) tokens: Option<LitInt>,
    pub(crate) usd: Option<Lit>,
    /// `budget()`.
    pub(crate) empty_budget: bool,
}

impl Agent {
    pub(crate) fn new(parsed: Parsed, diagnostics: &mut Diagnostics) -> Self {
        let Parsed { args: Read { args, understood }, item } = parsed;
        let AgentArgs {
            model,
            tools,
            skills,
            max_turns,
            budget,
            policies,
            effects,
            version,
            upcast,
            name,
            root,
        } = args;
        let args = FlowArgs { effects, policies, version, upcast, name, root, ..FlowArgs::default() };
        let args = Read { args, understood };
        let empty_budget =
            budget.as_ref().is_some_and(|b| understood && b.tokens.is_none() && b.usd.is_none());
        let budget = budget.unwrap_or_default();
        let mut agent = Self {
            flow: Flow::new(parse::Parsed { args, item }, Kind::Agent, diagnostics),
            model,
            tools: tools.unwrap_or_default(),
            skills: skills.unwrap_or_default(),
            max_turns,
            tokens: budget.tokens,
            usd: budget.usd,
            empty_budget,
        };
        agent.flow.settings = agent.settings();
        agent
    }

    /// What decides beside the body how it works, whatever way it is written: instructions, model, tools, skills, limits.
    fn settings(&self) -> TokenStream {
        let (instructions, model) = (self.flow.item.doc(), self.model.as_ref().map(LitStr::value));
        let model = model.as_ref().map(|model| quote!(model #model));
        let (tools, skills) = (&self.tools.0, &self.skills.0);
        let turns = self.max_turns.as_ref().and_then(count::<u32>).map(|turns| quote!(turns #turns));
        let tokens = self.tokens.as_ref().and_then(count::<u64>).map(|tokens| quote!(tokens #tokens));
        let usd = self.usd.as_ref().and_then(micros).map(|micros| quote!(micros #micros));
        quote!(#instructions #model [#(#tools),*] [#(#skills),*] #turns #tokens #usd)
    }
}

/// A whole number from 1.
pub(crate) fn count<N: std::str::FromStr<Err: std::fmt::Display> + PartialOrd + From<u8>>(
    number: &LitInt,
) -> Option<N> {
    number.base10_parse().ok().filter(|count| *count >= N::from(1))
}

/// An amount of money in millionths, exactly as written: at most six decimals, more than nothing.
pub(crate) fn micros(amount: &Lit) -> Option<u64> {
    let digits = match amount {
        Lit::Int(number) if number.suffix().is_empty() => number.base10_digits().to_owned(),
        Lit::Float(number) if number.suffix().is_empty() => number.base10_digits().to_owned(),
        _ => return None,
    };
    let (whole, decimals) = digits.split_once('.').unwrap_or((&digits, ""));
    if decimals.len() > 6 {
        return None;
    }
    let micros = format!("{whole}{decimals:0<6}").parse().ok()?;
    (micros > 0).then_some(micros)
}

#[cfg(test)]
mod tests {
    use super::micros;

    #[test]
    fn money_is_exact() {
        let read = |text: &str| micros(&syn::parse_str(text).expect("a literal"));
        for (text, amount) in [
            ("5", Some(5_000_000)),
            ("0.5", Some(500_000)),
            ("1_000.25", Some(1_000_250_000)),
            ("0.000001", Some(1)),
            ("0.0000001", None),
            ("0", None),
            ("0.0", None),
            ("1e3", None),
            ("1f64", None),
            ("\"5\"", None),
        ] {
            assert_eq!(read(text), amount, "{text}");
        }
    }
}
