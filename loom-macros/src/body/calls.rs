//! A durable call of a flow, `ctx.run(..)` and its kin, with what is chained to it. Where it stands
//! is `scope`'s to say, and whether it may stand there `rules`'.

use proc_macro2::Span;
use quote::ToTokens as _;
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Expr, ExprCall, ExprLit, ExprMethodCall, ExprPath, GenericArgument, Ident, Lit, LitStr, Local,
    Meta, Pat, Path, Token, Type,
};

use crate::item::mentions;
use crate::names;

use super::graph::Node;
use super::scope::{Held, Place, Repetition, Scope};

/// The methods of `Ctx` that have an identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Syscall {
    Run,
    Part,
    Suspend,
    Receive,
    Call,
    Spawn,
    Timeout,
    Sleep,
    SleepUntil,
    Decide,
    NegotiateBudget,
    Execute,
    Emit,
    Send,
    Uuid,
    Random,
    Changed,
}

impl Syscall {
    const ALL: [(&'static str, Self); 17] = [
        ("run", Self::Run),
        ("part", Self::Part),
        ("suspend", Self::Suspend),
        ("receive", Self::Receive),
        ("call", Self::Call),
        ("spawn", Self::Spawn),
        ("timeout", Self::Timeout),
        ("sleep", Self::Sleep),
        ("sleep_until", Self::SleepUntil),
        ("decide", Self::Decide),
        ("negotiate_budget", Self::NegotiateBudget),
        ("execute", Self::Execute),
        ("emit", Self::Emit),
        ("send", Self::Send),
        ("uuid", Self::Uuid),
        ("random", Self::Random),
        ("changed", Self::Changed),
    ];

    pub(crate) fn of(method: &Ident) -> Option<Self> {
        Self::ALL.iter().find(|(name, _)| method == name).map(|(_, syscall)| *syscall)
    }

    /// Whether the call returns at once. Such a call may repeat at one site: the runtime counts
    /// its occurrences, so that it needs neither key nor id.
    pub(crate) fn is_synchronous(self) -> bool {
        matches!(self, Self::Emit | Self::Send | Self::Uuid | Self::Random | Self::Changed)
    }

    /// The id of a call that has no name.
    fn fallback_id(self) -> &'static str {
        match self {
            Self::SleepUntil => "sleep",
            other => Self::ALL.iter().find(|(_, syscall)| *syscall == other).map_or("", |(name, _)| name),
        }
    }
}

/// What a call is about, as far as syntax tells.
pub(crate) enum Target {
    /// `ctx.run(path(..))`.
    Step(ExprPath),
    /// `ctx.call(path(..))`, `ctx.spawn(path(..))`.
    Flow(ExprPath),
    /// `ctx.run(path(..).await)`, a mistake.
    Awaited(Expr),
    /// `ctx.run(anything_else)`.
    Opaque(Expr),
    /// `ctx.part("name", path(..))`.
    Part { name: Option<LitStr>, path: Option<ExprPath> },
    /// `ctx.suspend::<T>("name")`.
    Gate { name: Option<LitStr>, ty: Option<Type> },
    /// `ctx.receive::<T>("topic")`, maybe with `.update::<R>()`.
    Message { name: Option<LitStr>, ty: Option<Type>, reply: Option<Box<Replied>> },
    /// `ctx.decide("name", ..)`, `ctx.negotiate_budget("name", ..)`.
    Named { name: Option<LitStr> },
    /// `ctx.changed("name")`.
    Change { name: Option<LitStr> },
    /// `ctx.execute(id, step, ..)`: both are values, and may be literals. Whether the id differs from one repetition
    /// to the next.
    Dynamic { id: Option<LitStr>, step: Option<LitStr>, varies: bool },
    /// `ctx.emit(&event)`, with the event's type or constructor as written, if the source shows it.
    Emit { event: Option<String> },
    /// The others.
    Nothing,
}

/// `.update::<R>()`.
pub(crate) struct Replied {
    pub(crate) method: Ident,
    pub(crate) ty: Option<Type>,
}

/// `.id(..)`.
pub(crate) struct IdModifier {
    pub(crate) method: Ident,
    pub(crate) literal: Option<LitStr>,
}

/// `.key(..)`.
pub(crate) struct KeyModifier {
    pub(crate) argument: Expr,
    /// Whether it differs from one repetition to the next.
    pub(crate) varies: bool,
}

/// What a call calls: the function that gives the step's call, the flow's or the part's.
pub(crate) enum Callee<'c> {
    Step(&'c ExprPath),
    Flow(&'c ExprPath),
    Part(&'c ExprPath),
}

/// In a graph, what the source does not tell: a step that is chosen at run time, a call that is handed over in a variable.
const ANY: &str = "*";

/// One durable call.
pub(crate) struct Call {
    pub(crate) syscall: Syscall,
    pub(crate) method: Ident,
    /// Its static id: without indices, key and scope.
    pub(crate) id: String,
    pub(crate) target: Target,
    pub(crate) ids: Vec<IdModifier>,
    pub(crate) keys: Vec<KeyModifier>,
    pub(crate) memo: bool,
    /// What the step or part that it calls is given.
    pub(crate) arguments: Vec<Expr>,
    /// The function that was called for what it is handed in a variable, if a `let` of the body shows it.
    held: Option<ExprPath>,
    /// The type of that, if the `let` says it.
    pub(crate) held_type: Option<Type>,
    /// Whether what it calls is a variable of the body.
    pub(crate) calls_variable: bool,
    /// What repeats it without a count.
    pub(crate) repetition: Option<Repetition>,
    /// The conditions of compilation that it stands below.
    pub(crate) cfgs: Vec<Attribute>,
}

impl Call {
    /// Reads a chain of method calls on `ctx`, the first of which is the syscall. `occurrence`
    /// counts the synchronous calls of one kind from 1.
    pub(crate) fn read(
        syscall: Syscall,
        chain: &[&ExprMethodCall],
        occurrence: usize,
        scope: &Scope,
        place: &Place,
        ctx: &Ident,
    ) -> Option<Self> {
        let (root, modifiers) = chain.split_first()?;
        let named = |name: &'static str| modifiers.iter().filter(move |link| link.method == name);
        let ids: Vec<_> = named("id")
            .map(|link| IdModifier {
                method: link.method.clone(),
                literal: link.args.first().and_then(literal),
            })
            .collect();
        let keys = named("key")
            .filter_map(|link| link.args.first())
            .map(|argument| KeyModifier { argument: argument.clone(), varies: scope.varies(argument, ctx) })
            .collect();
        let target = Target::read(syscall, root, modifiers, scope, ctx);
        let id = match ids.iter().find_map(|id| id.literal.as_ref()) {
            Some(literal) if !syscall.is_synchronous() => literal.value(),
            _ => target.id().unwrap_or_else(|| {
                let base = syscall.fallback_id();
                if occurrence > 1 && syscall.is_synchronous() {
                    format!("{base}~{occurrence}")
                } else {
                    base.to_owned()
                }
            }),
        };
        let in_place = handed(syscall, root).and_then(call_of);
        let held = match in_place {
            None => handed(syscall, root).and_then(handle_name).and_then(|name| scope.held(name, place)),
            Some(_) => None,
        };
        let call = in_place.or(held.map(|held| &held.call));
        Some(Self {
            syscall,
            method: root.method.clone(),
            id,
            target,
            ids,
            keys,
            memo: named("memo").next().is_some(),
            arguments: call.map_or_else(Vec::new, |call| call.args.iter().cloned().collect()),
            held: held.and_then(|held| path_of(&held.call)).cloned(),
            held_type: held.and_then(|held| held.ty.clone()),
            calls_variable: call.is_some_and(|call| scope.calls_variable(call)),
            repetition: scope.repetition(),
            cfgs: place.cfgs.clone(),
        })
    }

    /// Whether no program holds both: one stands below `cfg(not(..))` of what the other stands below.
    pub(crate) fn excludes(&self, other: &Self) -> bool {
        let denies = |one: &Self, other: &Self| {
            let denied = one.cfgs.iter().filter_map(|cfg| {
                let not: Meta = cfg.parse_args().ok()?;
                let not = not.require_list().ok().filter(|not| not.path.is_ident("not"))?;
                Some(not.tokens.to_string())
            });
            let held = |cfg: &Attribute| cfg.meta.require_list().ok().map(|list| list.tokens.to_string());
            let held: Vec<_> = other.cfgs.iter().filter_map(held).collect();
            denied.into_iter().any(|denied| held.contains(&denied))
        };
        denies(self, other) || denies(other, self)
    }

    /// Whether repetitions differ without a key: their ids are values that do.
    pub(crate) fn varies_by_id(&self) -> bool {
        self.keys.is_empty() && matches!(self.target, Target::Dynamic { varies: true, .. })
    }

    /// What it calls, as far as the source tells.
    pub(crate) fn callee(&self) -> Option<Callee<'_>> {
        let path = match &self.target {
            _ if self.calls_variable => return None,
            Target::Step(path) | Target::Flow(path) | Target::Part { path: Some(path), .. } => path,
            Target::Opaque(_) | Target::Part { path: None, .. } => self.held.as_ref()?,
            _ => return None,
        };
        Some(match self.syscall {
            Syscall::Part => Callee::Part(path),
            Syscall::Call | Syscall::Spawn => Callee::Flow(path),
            _ => Callee::Step(path),
        })
    }

    /// The call in the static graph.
    pub(crate) fn node(&self) -> Option<Node> {
        let (id, at) = (self.id.clone(), self.method.span());
        let called = match (self.callee(), &self.target) {
            (Some(Callee::Step(path) | Callee::Flow(path) | Callee::Part(path)), _) => last_name(&path.path),
            (None, Target::Dynamic { step: Some(step), .. }) => step.value(),
            (None, _) => ANY.to_owned(),
        };
        match self.syscall {
            Syscall::Run | Syscall::Execute => Some(Node::Step { id, step: called, at }),
            Syscall::Part => Some(Node::Part { id, part: called, at }),
            Syscall::Call | Syscall::Spawn => Some(Node::Child { id, flow: called, at }),
            Syscall::Suspend => Some(Node::Gate { id, at }),
            Syscall::Receive => Some(Node::Message { id, at }),
            Syscall::Send => Some(Node::Dispatch { id, at }),
            Syscall::Sleep | Syscall::SleepUntil | Syscall::Timeout => Some(Node::Timer { id, at }),
            Syscall::Decide | Syscall::NegotiateBudget => Some(Node::Decision { id, at }),
            Syscall::Emit => {
                let event = match &self.target {
                    Target::Emit { event } => event.clone(),
                    _ => None,
                };
                Some(Node::Emit { id, event, at })
            }
            Syscall::Uuid | Syscall::Random | Syscall::Changed => None,
        }
    }
}

impl Target {
    fn read(
        syscall: Syscall,
        root: &ExprMethodCall,
        modifiers: &[&ExprMethodCall],
        scope: &Scope,
        ctx: &Ident,
    ) -> Self {
        let first = root.args.first();
        let name = first.and_then(literal);
        match syscall {
            Syscall::Run | Syscall::Call | Syscall::Spawn => match first {
                None => Self::Nothing,
                Some(argument) => match bare(argument) {
                    bare if awaited(bare).is_some() => Self::Awaited(argument.clone()),
                    bare => match called_path(bare) {
                        Some(path) if syscall == Syscall::Run => Self::Step(path.clone()),
                        Some(path) => Self::Flow(path.clone()),
                        None => Self::Opaque(argument.clone()),
                    },
                },
            },
            Syscall::Part => Self::Part { name, path: root.args.get(1).and_then(called_path).cloned() },
            Syscall::Suspend => Self::Gate { name, ty: turbofish(root) },
            Syscall::Receive => Self::Message {
                name,
                ty: turbofish(root),
                reply: modifiers
                    .iter()
                    .find(|link| link.method == "update")
                    .map(|link| Box::new(Replied { method: link.method.clone(), ty: turbofish(link) })),
            },
            Syscall::Decide | Syscall::NegotiateBudget => Self::Named { name },
            Syscall::Changed => Self::Change { name },
            Syscall::Execute => Self::Dynamic {
                varies: name.is_none() && first.is_some_and(|id| scope.varies(id, ctx)),
                id: name,
                step: root.args.get(1).and_then(literal),
            },
            Syscall::Emit => Self::Emit { event: event(root, scope) },
            _ => Self::Nothing,
        }
    }

    /// The id that the target gives.
    fn id(&self) -> Option<String> {
        match self {
            Self::Step(path) | Self::Flow(path) => Some(last_name(&path.path)),
            Self::Part { name, .. }
            | Self::Gate { name, .. }
            | Self::Message { name, .. }
            | Self::Named { name }
            | Self::Dynamic { id: name, .. } => name.as_ref().map(LitStr::value),
            // The runtime names changes: they have no place of their own.
            Self::Change { .. } | Self::Awaited(_) | Self::Opaque(_) | Self::Emit { .. } | Self::Nothing => {
                None
            }
        }
    }
}

/// The links of a chain of method calls on `ctx`, the innermost first; empty when it hangs on
/// something else.
pub(crate) fn chain<'e>(outermost: &'e ExprMethodCall, ctx: &Ident) -> Vec<&'e ExprMethodCall> {
    let mut links = vec![outermost];
    let mut receiver = bare(&outermost.receiver);
    while let Expr::MethodCall(inner) = receiver {
        links.push(inner);
        receiver = bare(&inner.receiver);
    }
    if !is_ctx(receiver, ctx) {
        return Vec::new();
    }
    links.reverse();
    links
}

/// The method of a durable call that nobody awaits: a syscall on `ctx`, and nothing behind it but what says how it is made.
pub(crate) fn unawaited<'e>(expr: &'e Expr, ctx: &Ident) -> Option<&'e Ident> {
    const MODIFIERS: &[&str] =
        &["id", "key", "memo", "timeout", "detached", "execution", "on_close", "wait", "update"];
    let Expr::MethodCall(call) = bare(expr) else { return None };
    let links = chain(call, ctx);
    let (root, modifiers) = links.split_first()?;
    let durable = Syscall::of(&root.method).is_some_and(|syscall| !syscall.is_synchronous());
    let bare = modifiers.iter().all(|link| MODIFIERS.iter().any(|name| link.method == name));
    (durable && bare).then_some(&root.method)
}

/// Whether an expression is exactly the context's name, maybe in parentheses or passed through a `macro_rules` variable.
pub(crate) fn is_ctx(expr: &Expr, ctx: &Ident) -> bool {
    matches!(bare(expr), Expr::Path(path) if path.qself.is_none() && path.path.is_ident(ctx))
}

/// Whether an expression is the context, a reference to it or a clone of it.
pub(crate) fn is_handle(expr: &Expr, ctx: &Ident) -> bool {
    match bare(expr) {
        Expr::Reference(reference) => is_handle(&reference.expr, ctx),
        Expr::MethodCall(call) => call.method == "clone" && is_handle(&call.receiver, ctx),
        other => is_ctx(other, ctx),
    }
}

/// The name in `name`, `&name` and `name.clone()`.
pub(crate) fn handle_name(expr: &Expr) -> Option<&Ident> {
    match bare(expr) {
        Expr::Reference(reference) => handle_name(&reference.expr),
        Expr::MethodCall(call) if call.method == "clone" => handle_name(&call.receiver),
        Expr::Path(path) => path.path.get_ident(),
        _ => None,
    }
}

/// The expression without parentheses.
pub(crate) fn bare_mut(expr: &mut Expr) -> &mut Expr {
    match expr {
        Expr::Paren(paren) => bare_mut(&mut paren.expr),
        Expr::Group(group) => bare_mut(&mut group.expr),
        other => other,
    }
}

/// The expression without parentheses.
pub(crate) fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Paren(paren) => bare(&paren.expr),
        Expr::Group(group) => bare(&group.expr),
        other => other,
    }
}

/// The call in `call.await` and `call.await?`.
fn awaited(expr: &Expr) -> Option<&Expr> {
    match bare(expr) {
        Expr::Try(tried) => awaited(&tried.expr),
        Expr::Await(awaited) => called_path(&awaited.base).map(|_| &*awaited.base),
        _ => None,
    }
}

/// Leaves the call alone of `call.await` and `call.await?`; whether it was one.
pub(crate) fn unawaited_mut(expr: &mut Expr) -> bool {
    let call = awaited(expr).cloned();
    call.map(|call| *expr = call).is_some()
}

/// What a `run`, `part` or the like is given to call.
fn handed(syscall: Syscall, root: &ExprMethodCall) -> Option<&Expr> {
    let position = match syscall {
        Syscall::Run | Syscall::Call | Syscall::Spawn => 0,
        Syscall::Part => 1,
        _ => return None,
    };
    root.args.get(position)
}

/// The call of a function that a `let` binds to one name.
pub(crate) fn held(local: &Local) -> Option<Held> {
    let init = local.init.as_ref().filter(|init| init.diverge.is_none())?;
    let (pat, ty) = match &local.pat {
        Pat::Type(typed) => (&*typed.pat, Some(&*typed.ty)),
        pat => (pat, None),
    };
    let is_name = matches!(pat, Pat::Ident(pat) if pat.by_ref.is_none() && pat.subpat.is_none());
    let call = call_of(&init.expr).filter(|call| is_name && path_of(call).is_some())?.clone();
    let inferred = Ident::new("_", Span::call_site());
    Some(Held { call, ty: ty.filter(|ty| !mentions(&ty.to_token_stream(), &inferred)).cloned() })
}

fn call_of(expr: &Expr) -> Option<&ExprCall> {
    match bare(expr) {
        Expr::Call(call) => Some(call),
        _ => None,
    }
}

/// Whether an expression begins with the call of a function, `read(path).map(..)`.
pub(crate) fn heads_with_call(expr: &Expr) -> bool {
    match bare(expr) {
        Expr::MethodCall(call) => heads_with_call(&call.receiver),
        Expr::Try(tried) => heads_with_call(&tried.expr),
        other => called_path(other).is_some(),
    }
}

/// The path of `path(..)`, with the type of `<T as Trait>::path(..)`.
pub(crate) fn called_path(expr: &Expr) -> Option<&ExprPath> {
    call_of(expr).and_then(path_of)
}

/// The path that is called.
pub(crate) fn path_of(call: &ExprCall) -> Option<&ExprPath> {
    match bare(&call.func) {
        Expr::Path(path) => Some(path),
        _ => None,
    }
}

fn literal(expr: &Expr) -> Option<LitStr> {
    match bare(expr) {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.clone()),
        _ => None,
    }
}

/// The only type of a turbofish, unless it is `_`.
fn turbofish(call: &ExprMethodCall) -> Option<Type> {
    let arguments: &Punctuated<GenericArgument, Token![,]> = &call.turbofish.as_ref()?.args;
    match arguments.first() {
        Some(GenericArgument::Type(ty)) if !matches!(ty, Type::Infer(_)) => Some(ty.clone()),
        _ => None,
    }
}

/// The event of `ctx.emit::<Event>(..)`, `ctx.emit(&Event { .. })`, `ctx.emit(&name)`.
fn event(root: &ExprMethodCall, scope: &Scope) -> Option<String> {
    if let Some(Type::Path(ty)) = turbofish(root) {
        return Some(written(&ty.path));
    }
    let mut argument = bare(root.args.first()?);
    while let Expr::Reference(reference) = argument {
        argument = bare(&reference.expr);
    }
    match argument {
        Expr::Path(path)
            if let Some(name) = path.path.get_ident().filter(|name| scope.maker(name).is_some()) =>
        {
            scope.maker(name).map(str::to_owned)
        }
        other => maker(other),
    }
}

/// The type or constructor of what a `let` binds to one name.
pub(crate) fn made(local: &Local) -> Option<String> {
    match &local.pat {
        Pat::Type(typed) => match (&*typed.pat, &*typed.ty) {
            (Pat::Ident(_), Type::Path(ty)) => Some(written(&ty.path)),
            _ => None,
        },
        Pat::Ident(_) => maker(&local.init.as_ref()?.expr),
        _ => None,
    }
}

/// What makes a value, if it is written as a type does it: `Placed { .. }`, `Placed(..)`, `Placed::of(..)`, `Placed`.
fn maker(expr: &Expr) -> Option<String> {
    let path = match bare(expr) {
        Expr::Struct(made) => &made.path,
        Expr::Path(path) => &path.path,
        other => &called_path(other)?.path,
    };
    let is_type = |segment: &syn::PathSegment| {
        names::of(&segment.ident).starts_with(|first: char| first.is_uppercase())
    };
    path.segments.iter().any(is_type).then(|| written(path))
}

/// A path without its generic arguments.
fn written(path: &Path) -> String {
    let segments: Vec<_> = path.segments.iter().map(|segment| names::of(&segment.ident)).collect();
    segments.join("::")
}

fn last_name(path: &Path) -> String {
    path.segments.last().map(|segment| names::of(&segment.ident)).unwrap_or_default()
}
