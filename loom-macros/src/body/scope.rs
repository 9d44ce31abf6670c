//! What surrounds a place in a body: loops, closures, async blocks, and the names bound in them.
//! Not a resolver: a name is what it reads.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote_spanned};
use syn::{Attribute, Expr, ExprCall, Ident, Pat, Type};

use super::calls::path_of;
use super::variation::{self, Changes};

/// One construct around a place.
enum Frame {
    /// A loop; `in_condition` while its condition is walked, `used` once a call has read its index.
    Loop { in_condition: bool, used: bool, changes: Changes },
    /// A closure; whether a line can be noted in it.
    Closure { notes_lines: bool, often: Often, changes: Changes },
    /// An `async` block; the same, and whether it runs later than where it is made.
    Block { notes_lines: bool, later: bool },
}

/// How often a closure runs, as far as its key is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Often {
    /// Once: it has a name, which is called at one place, as often as it is made.
    Once,
    /// Nobody knows, and it takes nothing that could differ.
    Unknown,
    /// Any number of times, each with something else.
    Each,
}

/// What repeats a call without a count that syntax shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repetition {
    Closure,
    BlockInLoop,
}

/// Who can note the line at which a flow waits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineNotes {
    /// The handle that the flow keeps for this.
    OwnHandle,
    /// The user's `ctx`.
    Ctx,
    Nobody,
}

/// What decides, beside variables, on what a name means at a place, and whether it is compiled.
#[derive(PartialEq, Eq)]
pub(crate) struct Place {
    /// How many items of the body are in scope.
    pub(crate) items: usize,
    /// The conditions of compilation around it.
    pub(crate) cfgs: Vec<Attribute>,
}

/// The call of a function that a `let` holds.
#[derive(Clone)]
pub(crate) struct Held {
    pub(crate) call: ExprCall,
    /// What it is, if the `let` says so.
    pub(crate) ty: Option<Type>,
}

struct Binding {
    name: Ident,
    level: usize,
    mutable: bool,
    /// What it is made by, as written.
    made: Option<String>,
    /// The call of a function that it holds, and where that was written.
    held: Option<(Held, Place)>,
    /// Whether it stands for the context.
    ctx: bool,
    /// Whether it is the same in every repetition.
    same: bool,
}

/// The constructs around the current place, outermost first.
#[derive(Default)]
pub(crate) struct Scope {
    frames: Vec<Frame>,
    bindings: Vec<Binding>,
}

/// A point to which the bindings go back.
pub(crate) struct Mark(usize);

impl Scope {
    pub(crate) fn enter_loop(&mut self, in_condition: bool, changes: Changes) {
        self.frames.push(Frame::Loop { in_condition, used: false, changes });
    }

    /// From a loop's condition to its body.
    pub(crate) fn leave_condition(&mut self) {
        if let Some(Frame::Loop { in_condition, .. }) = self.frames.last_mut() {
            *in_condition = false;
        }
    }

    pub(crate) fn enter_closure(&mut self, notes_lines: bool, often: Often, changes: Changes) {
        self.frames.push(Frame::Closure { notes_lines, often, changes });
    }

    pub(crate) fn enter_block(&mut self, notes_lines: bool, later: bool) {
        self.frames.push(Frame::Block { notes_lines, later });
    }

    /// Leaves the innermost construct; whether it was a loop whose index was read.
    pub(crate) fn leave(&mut self) -> bool {
        matches!(self.frames.pop(), Some(Frame::Loop { used: true, .. }))
    }

    /// How many loops surround the place.
    pub(crate) fn depth(&self) -> usize {
        self.frames.iter().filter(|frame| matches!(frame, Frame::Loop { .. })).count()
    }

    /// What each repetition around the place may change, outermost first: that of loops, and of closures that take
    /// something.
    fn repetitions(&self) -> impl DoubleEndedIterator<Item = &Changes> {
        self.frames.iter().filter_map(|frame| match frame {
            Frame::Loop { changes, .. } | Frame::Closure { often: Often::Each, changes, .. } => Some(changes),
            _ => None,
        })
    }

    /// How many of them there are.
    fn level(&self) -> usize {
        self.repetitions().count()
    }

    /// Whether the innermost loop or closure is a closure that runs once: the loops around it count it.
    fn runs_once(&self) -> bool {
        let innermost = self.frames.iter().rfind(|frame| !matches!(frame, Frame::Block { .. }));
        matches!(innermost, Some(Frame::Closure { often: Often::Once, .. }))
    }

    /// Whether the place is in a function of its own within the flow.
    pub(crate) fn is_nested(&self) -> bool {
        self.frames.iter().any(|frame| !matches!(frame, Frame::Loop { .. }))
    }

    /// The indices of a call at this place, outermost first, which marks the loops as counted. In
    /// a closure the last is a placeholder: the key that is required there takes its place, unless the id itself
    /// varies.
    pub(crate) fn indices(&mut self, varies_by_id: bool) -> Vec<TokenStream> {
        let mut indices = Vec::new();
        for frame in &mut self.frames {
            if let Frame::Loop { in_condition, used, .. } = frame {
                *used = true;
                let name = if *in_condition { count(indices.len()) } else { index(indices.len()) };
                indices.push(quote_spanned!(Span::mixed_site()=> #name));
            }
        }
        let innermost = self.frames.iter().rfind(|frame| !matches!(frame, Frame::Block { .. }));
        if matches!(innermost, Some(Frame::Closure { .. })) && !varies_by_id {
            indices.push(quote_spanned!(Span::mixed_site()=> 0));
        }
        indices
    }

    /// What repeats a call at this place beyond the loops that count it.
    pub(crate) fn repetition(&self) -> Option<Repetition> {
        let mut in_loop = false;
        let mut block = None;
        for frame in &self.frames {
            match frame {
                Frame::Closure { .. } => return Some(Repetition::Closure),
                Frame::Block { later: true, .. } if in_loop => block = Some(Repetition::BlockInLoop),
                Frame::Block { .. } => {}
                Frame::Loop { .. } => in_loop = true,
            }
        }
        block
    }

    pub(crate) fn line_notes(&self) -> LineNotes {
        let innermost = self.frames.iter().rfind(|frame| !matches!(frame, Frame::Loop { .. }));
        match innermost {
            Some(Frame::Closure { notes_lines: true, .. } | Frame::Block { notes_lines: true, .. }) => {
                LineNotes::Ctx
            }
            Some(_) => LineNotes::Nobody,
            None => LineNotes::OwnHandle,
        }
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark(self.bindings.len())
    }

    pub(crate) fn back_to(&mut self, mark: &Mark) {
        self.bindings.truncate(mark.0);
    }

    pub(crate) fn bind(&mut self, name: Ident, mutable: bool) {
        let level = self.level();
        self.bindings.push(Binding { name, level, mutable, made: None, held: None, ctx: false, same: false });
    }

    /// Notes the type or constructor of the binding that was bound last.
    pub(crate) fn made(&mut self, by: String) {
        if let Some(binding) = self.bindings.last_mut() {
            binding.made = Some(by);
        }
    }

    /// Notes the call that the binding holds which was bound last.
    pub(crate) fn holds(&mut self, held: Held, place: Place) {
        if let Some(binding) = self.bindings.last_mut() {
            binding.held = Some((held, place));
        }
    }

    /// The call that a variable holds, if its names mean the same at this place.
    pub(crate) fn held(&self, name: &Ident, here: &Place) -> Option<&Held> {
        let binding = self.bindings.iter().rfind(|binding| binding.name == *name)?;
        binding.held.as_ref().filter(|(_, place)| place == here).map(|(held, _)| held)
    }

    /// Whether what is called is a variable of the body.
    pub(crate) fn calls_variable(&self, call: &ExprCall) -> bool {
        path_of(call).and_then(|path| path.path.get_ident()).is_some_and(|name| self.binds(name))
    }

    /// What was bound since is bound to something that is the same in every repetition.
    pub(crate) fn same_since(&mut self, mark: &Mark) {
        for binding in &mut self.bindings[mark.0..] {
            binding.same = !binding.mutable;
        }
    }

    /// The type or constructor of what a name stands for.
    pub(crate) fn maker(&self, name: &Ident) -> Option<&str> {
        self.bindings.iter().rfind(|binding| binding.name == *name)?.made.as_deref()
    }

    /// The name that was bound last, by this pattern, is another name of the context.
    pub(crate) fn stands_for_ctx(&mut self, pat: &Pat) {
        match pat {
            Pat::Type(typed) => self.stands_for_ctx(&typed.pat),
            Pat::Ident(pat) => {
                if let Some(binding) = self.bindings.last_mut().filter(|binding| binding.name == pat.ident) {
                    binding.ctx = true;
                }
            }
            _ => {}
        }
    }

    /// Whether a name is another name of the context.
    pub(crate) fn is_ctx(&self, name: &Ident) -> bool {
        self.bindings.iter().rfind(|binding| binding.name == *name).is_some_and(|binding| binding.ctx)
    }

    /// Whether a name is a variable of the body at this place.
    pub(crate) fn binds(&self, name: &Ident) -> bool {
        self.bindings.iter().any(|binding| binding.name == *name)
    }

    /// Whether an expression at this place may differ from one repetition to the next: it mentions a name bound within the
    /// innermost one to something that may, or one that is changed there. Outside of all repetition there is nothing to
    /// differ from.
    pub(crate) fn varies(&self, expr: &Expr, ctx: &Ident) -> bool {
        let Some(changes) = self.repetitions().next_back().filter(|_| !self.runs_once()) else { return true };
        let level = self.level();
        let differs = |name: &Ident| {
            let binding = self.bindings.iter().rfind(|binding| binding.name == *name);
            name == ctx
                || binding.is_some_and(|binding| binding.level >= level && !binding.same)
                || changes.of(name, binding.is_some_and(|binding| binding.mutable))
        };
        variation::may_differ(expr, &differs)
    }
}

/// The local that a loop's body reads: the iteration it is in.
pub(crate) fn index(depth: usize) -> Ident {
    format_ident!("__loom_i{}", depth, span = Span::mixed_site())
}

/// The local that counts a loop's iterations.
pub(crate) fn count(depth: usize) -> Ident {
    format_ident!("__loom_n{}", depth, span = Span::mixed_site())
}
