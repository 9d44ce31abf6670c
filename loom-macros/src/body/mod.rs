//! The body of a flow: what it calls, where, how often, and the same body rewritten so that each
//! call knows its own identity. Signatures and expansions are not read or made here.
//!
//! | module | what it holds |
//! |---|---|
//! | `walk` | the one traversal: it finds, records and rewrites |
//! | `scope` | the loops, closures and blocks around a place, and the names bound in them |
//! | `calls` | a durable call with what is chained to it |
//! | `macros` | the macros that are read, and how |
//! | `bounds` | whether a loop ends by itself, as far as syntax tells |
//! | `banned` | the paths that a flow may not use |
//! | `imports` | the names that the body imports for itself |
//! | `purity` | the same for code that is no flow |
//! | `graph` | the static graph |
//! | `label` | source text as a short label |
//! | `rewrite` | the tokens that the traversal puts in |
//! | `rules` | what is wrong with a surveyed body |
//! | `stubbed` | the body as a stub shows it to the compiler |
//! | `topics` | whether the waits for one topic agree |
//! | `variation` | whether a key may differ from one repetition to the next |

mod banned;
mod bounds;
mod calls;
mod graph;
mod imports;
mod label;
mod macros;
mod purity;
mod rewrite;
mod rules;
mod scope;
mod stubbed;
mod topics;
mod variation;
mod walk;

use proc_macro2::TokenStream;
use syn::{Block, Expr, ExprPath, Ident, Path};

use crate::diagnostics::Diagnostics;
use crate::item::Param;
use crate::runtime_path::RuntimePath;

pub(crate) use banned::way_out;
pub(crate) use calls::{Call, Callee, Syscall, Target};
#[cfg(test)]
pub(crate) use graph::{Arm, Bound, Policy};
pub(crate) use graph::{Node, slice};
pub(crate) use purity::{Banned, banned_in};
pub(crate) use rewrite::{NEAR, SITES};
pub(crate) use stubbed::stubbed;

/// A body after the traversal.
pub(crate) struct Survey {
    /// The rewritten body.
    pub(crate) block: Block,
    /// The durable calls in source order; the rewritten body refers to them by position.
    pub(crate) calls: Vec<Call>,
    /// What else was seen.
    findings: Vec<Finding>,
    /// What `ctx.continue_as_new(..)` is given, where it is called by a path.
    pub(crate) continuations: Vec<ExprPath>,
    pub(crate) graph: Vec<Node>,
    /// Whether the compiler is asked what a short name means.
    pub(crate) asks: bool,
    /// Those questions that can be asked outside of the body as well.
    pub(crate) asked: Vec<Expr>,
    /// Whether the body notes where it waits, by a handle of its own.
    pub(crate) notes_lines: bool,
}

/// Something that a flow body should not do, as it was found.
enum Finding {
    /// `ctx` in a macro that is not read.
    CtxInMacro { mac: Path },
    /// A `select!` that picks a ready branch at random.
    UnbiasedSelect { mac: Path },
    /// An arm of a `select!` that Loom's does not have.
    SelectWord(Ident),
    /// An arm of a `select!` without a pattern.
    SelectBare(TokenStream),
    /// A path that reaches for the world outside.
    Banned { path: Path, imported: Option<Path>, ban: &'static banned::Ban, may_be_own: bool },
    /// A durable call through another name of the context; whether it has an id.
    CtxCloned { name: Ident, named: bool },
    /// A binding called `ctx`.
    CtxShadowed(Ident),
    /// `ctx` itself used as a value.
    CtxMoved(Ident),
    /// `ctx` or a clone of it as an argument.
    CtxHanded(TokenStream),
    /// The same to what `ctx.part`, `ctx.run` and the like call, which have it or do without: the method, and what is called.
    CtxGiven { argument: TokenStream, method: Ident, callee: ExprPath },
    /// A durable call that is dropped before it is awaited: the method.
    NeverAwaited(Ident),
}

impl Survey {
    /// Walks through a body in which the context goes by the name `ctx`, beside the `inputs`. What `held` makes of a call, and of its
    /// place among them, goes into the body with it.
    pub(crate) fn new(
        block: Block,
        ctx: &Ident,
        inputs: &[Param],
        runtime: &RuntimePath,
        held: &dyn Fn(&Call, usize) -> Option<TokenStream>,
    ) -> Self {
        walk::walk(block, ctx, inputs, runtime, held)
    }

    /// The other names of the context through which calls are made that have an id, and are seen by nobody here.
    pub(crate) fn unseen_calls(&self) -> impl Iterator<Item = &Ident> {
        self.findings.iter().filter_map(|finding| match finding {
            Finding::CtxCloned { name, named: true } => Some(name),
            _ => None,
        })
    }

    /// Reports everything that is wrong with it.
    pub(crate) fn check(&self, diagnostics: &mut Diagnostics) {
        rules::check(self, diagnostics);
    }
}
