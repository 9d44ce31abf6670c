//! The names that a body imports for itself: what `sleep` is below `use tokio::time::sleep;`. Not a resolver: imports of
//! the file are not seen by a macro.

use proc_macro2::Ident;
use syn::{Block, Item, Path, PathSegment, Stmt, UseTree};

/// The names in scope, the innermost last; those of items of the body stand for nothing that is known.
#[derive(Clone, Default)]
pub(crate) struct Imports {
    names: Vec<(Ident, Option<Path>)>,
    /// How many items there are, those without a name and `use a::*` among them.
    items: usize,
}

/// A point to which the names go back.
pub(crate) struct Mark(usize, usize);

impl Imports {
    /// Takes in what a block declares, which holds in all of it.
    pub(crate) fn enter(&mut self, block: &Block) -> Mark {
        let mark = Mark(self.names.len(), self.items);
        let items = block.stmts.iter().filter_map(|stmt| match stmt {
            Stmt::Item(item) => Some(item),
            _ => None,
        });
        for item in items {
            self.items += 1;
            let name = match item {
                Item::Use(item) => {
                    self.tree(&item.tree, &mut Vec::new());
                    continue;
                }
                Item::Fn(item) => &item.sig.ident,
                Item::Mod(item) => &item.ident,
                Item::Struct(item) => &item.ident,
                Item::Enum(item) => &item.ident,
                Item::Type(item) => &item.ident,
                Item::Const(item) => &item.ident,
                _ => continue,
            };
            self.names.push((name.clone(), None));
        }
        mark
    }

    pub(crate) fn leave(&mut self, mark: &Mark) {
        self.names.truncate(mark.0);
        self.items = mark.1;
    }

    /// How much the blocks around the place declare.
    pub(crate) fn count(&self) -> usize {
        self.items
    }

    /// Whether the body itself declares what a path begins with, or imports it from the user's crate.
    pub(crate) fn declares(&self, path: &Path) -> bool {
        let first = path.segments.first().filter(|_| path.leading_colon.is_none());
        let named = first.and_then(|first| self.names.iter().rfind(|(name, _)| *name == first.ident));
        named.is_some_and(|(_, imported)| imported.is_none())
    }

    /// The whole path, when it begins with an imported name.
    pub(crate) fn whole(&self, path: &Path) -> Option<Path> {
        let first = path.segments.first().filter(|_| path.leading_colon.is_none())?;
        let (_, imported) = self.names.iter().rfind(|(name, _)| *name == first.ident)?;
        let mut whole = imported.clone()?;
        whole.segments.extend(path.segments.iter().skip(1).cloned());
        Some(whole)
    }

    fn tree(&mut self, tree: &UseTree, before: &mut Vec<Ident>) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.clone());
                self.tree(&path.tree, before);
                before.pop();
            }
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.tree(tree, before)),
            UseTree::Name(name) if name.ident == "self" => {
                if let Some(name) = before.last().cloned() {
                    self.import(&name, before.clone());
                }
            }
            UseTree::Name(name) => self.import(&name.ident, with(before, &name.ident)),
            UseTree::Rename(rename) if rename.ident == "self" => self.import(&rename.rename, before.clone()),
            UseTree::Rename(rename) => self.import(&rename.rename, with(before, &rename.ident)),
            UseTree::Glob(_) => {}
        }
    }

    /// What comes from the user's own crate may be anything.
    fn import(&mut self, name: &Ident, path: Vec<Ident>) {
        let own = path.first().is_some_and(|root| ["crate", "self", "super"].iter().any(|own| root == own));
        let segments = path.into_iter().map(PathSegment::from).collect();
        self.names.push((name.clone(), (!own).then_some(Path { leading_colon: None, segments })));
    }
}

fn with(before: &[Ident], last: &Ident) -> Vec<Ident> {
    before.iter().chain([last]).cloned().collect()
}
