//! The rules of `#[skill]`, L0601 to L0603. Whether the file exists is for the compiler, which reads it.

use syn::{Fields, LitStr};

use crate::arguments;
use crate::codes;
use crate::diagnostics::{Checked, Diagnostics, Faulty};
use crate::names;

use super::model::Skill;

/// Applies every rule.
pub(crate) fn check(
    skill: Skill,
    mut diagnostics: Diagnostics,
) -> Result<Checked<Skill>, Box<Faulty<Skill>>> {
    let ident = &skill.item.ident;
    let help = format!("write `struct {ident};`: a skill is its description and its file, and holds no data");
    match &skill.item.fields {
        Fields::Unit => {}
        fields => diagnostics.report(codes::SKILL_ITEM, fields, "a skill is a unit struct", &help),
    }
    for param in &skill.item.generics.params {
        diagnostics.report(codes::SKILL_ITEM, param, "a skill has no generic parameters", &help);
    }
    if skill.description().is_empty() {
        diagnostics.report(
            codes::SKILL_DESCRIPTION,
            ident,
            format_args!("the skill `{ident}` does not say when it is of use"),
            "write a doc comment: it is all that a model sees before it looks the skill up",
        );
    }
    match &skill.written_name {
        Some(name) => arguments::check_name(name, "skill", &mut diagnostics),
        None if !names::is_valid(&skill.name) => diagnostics.report(
            codes::NAME,
            ident,
            format_args!("`{}` cannot name a skill", skill.name),
            format_args!("{}; or give the name: `#[skill(name = \"…\")]`", names::HELP),
        ),
        None => {}
    }
    match &skill.file {
        Some(path) => file(path, &mut diagnostics),
        None if skill.understood => diagnostics.report(
            codes::SKILL_FILE,
            ident,
            format_args!("the skill `{ident}` has no instructions"),
            "name their file, relative to this one: `#[skill(file = \"refunds.md\")]`",
        ),
        None => {}
    }
    diagnostics.seal(skill)
}

fn file(path: &LitStr, diagnostics: &mut Diagnostics) {
    let text = path.value();
    if text.is_empty() || text.starts_with(['/', '\\']) || text.contains(':') {
        diagnostics.report(
            codes::SKILL_FILE,
            path,
            "the file of a skill is beside its source, on every machine that builds it",
            "write a path relative to this file: `file = \"refunds.md\"`",
        );
    }
}
