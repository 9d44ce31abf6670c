//! What a skill is, once its syntax is out of the way. The model holds faults as well: `check.rs` reports
//! them.

use syn::{Attribute, ItemStruct, LitStr};

use crate::arguments::Read;
use crate::doc::Doc;
use crate::names;
use crate::runtime_path::RuntimePath;

use super::parse::{Parsed, SkillArgs};

/// A skill.
pub(crate) struct Skill {
    pub(crate) item: ItemStruct,
    pub(crate) runtime: RuntimePath,
    pub(crate) name: String,
    pub(crate) written_name: Option<LitStr>,
    pub(crate) file: Option<LitStr>,
    /// Whether the arguments could be read.
    pub(crate) understood: bool,
}

impl Skill {
    pub(crate) fn new(parsed: Parsed) -> Self {
        let Parsed { args, item } = parsed;
        let Read { args, understood } = args;
        let SkillArgs { file, name: written_name, root } = args;
        Self {
            runtime: RuntimePath::new(root.as_ref()),
            name: written_name.as_ref().map_or_else(|| names::kebab(&item.ident), LitStr::value),
            written_name,
            file,
            understood,
            item,
        }
    }

    /// The text of the doc comments.
    pub(crate) fn description(&self) -> Doc {
        Doc::of(&self.item.attrs)
    }

    /// `#[cfg(..)]`.
    pub(crate) fn cfgs(&self) -> impl Iterator<Item = &Attribute> {
        self.item.attrs.iter().filter(|attr| attr.path().is_ident("cfg"))
    }
}
