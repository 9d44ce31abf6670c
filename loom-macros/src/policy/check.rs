//! The rules of `#[policy]`, L0904. That the value is a `Policy` is for the type checker.

use crate::arguments;
use crate::codes;
use crate::diagnostics::{Checked, Diagnostics, Faulty};
use crate::names;

use super::model::Policy;

/// Applies every rule.
pub(crate) fn check(
    policy: Policy,
    mut diagnostics: Diagnostics,
) -> Result<Checked<Policy>, Box<Faulty<Policy>>> {
    let ident = &policy.ident;
    if let Some(sig) = &policy.sig {
        let help = format!("write `fn {ident}() -> Policy`");
        if let Some(keyword) = &sig.asyncness {
            diagnostics.report(
                codes::POLICY_ITEM,
                keyword,
                "a policy is a value, not a future of one",
                &help,
            );
        }
        if !sig.inputs.is_empty() {
            diagnostics.report(codes::POLICY_ITEM, &sig.inputs, "a policy depends on no parameters", &help);
        }
        for param in &sig.generics.params {
            diagnostics.report(codes::POLICY_ITEM, param, "a policy has no generic parameters", &help);
        }
    } else if ident == "_" {
        diagnostics.report(
            codes::POLICY_ITEM,
            ident,
            "a policy that has no name cannot be referred to",
            "name it: `const CAREFUL: Policy = …;`",
        );
    }
    match &policy.written_name {
        Some(name) => arguments::check_name(name, "policy", &mut diagnostics),
        None if ident != "_" && !names::is_valid(&policy.name) => diagnostics.report(
            codes::NAME,
            ident,
            format_args!("`{}` cannot name a policy", policy.name),
            format_args!("{}; or give the name: `#[policy(name = \"…\")]`", names::HELP),
        ),
        None => {}
    }
    diagnostics.seal(policy)
}
