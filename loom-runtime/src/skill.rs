//! Skills: instructions that an agent looks up when it needs them.
//! Not prompts: a model sees name and description, and the text only once it asks.

use crate::Location;

/// A skill. `#[skill]` implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a skill",
    note = "put `#[skill(file = \"…\")]` on a unit struct"
)]
pub trait Skill: 'static {
    /// What the registry knows of it.
    const DESCRIPTOR: &'static SkillDescriptor;
}

/// A registered skill.
#[derive(Clone, Copy, Debug)]
pub struct SkillDescriptor {
    /// Its name, unique within a program.
    pub name: &'static str,
    /// When to use it: its doc comment.
    pub description: &'static str,
    /// Where it is declared.
    pub location: Location,
    /// The file of its instructions, as written: relative to the file of the declaration.
    pub file: &'static str,
    /// What the file said when the program was built.
    pub instructions: fn() -> &'static str,
}
