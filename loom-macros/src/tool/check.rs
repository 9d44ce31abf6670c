//! The rules of `#[tool]`, L0501 and L0502, after those of a step. Nothing is built here.

use crate::codes;
use crate::diagnostics::{Checked, Diagnostics, Faulty};
use crate::step::{check, model::Step};

/// The longest name that every provider of models takes.
const LONGEST: usize = 64;

/// Applies every rule.
pub(super) fn check(tool: Step, mut diagnostics: Diagnostics) -> Result<Checked<Step>, Box<Faulty<Step>>> {
    check::rules(&tool, &mut diagnostics);
    let ident = &tool.item.sig.ident;
    if tool.item.doc().is_empty() {
        diagnostics.report(
            codes::TOOL_DESCRIPTION,
            ident,
            format_args!("the tool `{ident}` says nothing of what it does"),
            "write a doc comment: it is what models read before they call it",
        );
    }
    if tool.name.contains('.') || tool.name.len() > LONGEST {
        let message = format!("`{}` is no name that models can call", tool.name);
        let help = format!(
            "a tool's name has letters, digits, `_` and `-`, no dot, and at most {LONGEST} of them: \
             give it one by `#[tool(name = \"…\")]`"
        );
        match &tool.written_name {
            Some(name) => diagnostics.report(codes::TOOL_NAME, name, message, help),
            None => diagnostics.report(codes::TOOL_NAME, ident, message, help),
        }
    }
    diagnostics.seal(tool)
}
