//! The rules of a flow's body, L0111 and L0206 to L0222, applied to a survey. The rules of its
//! signature are in `flow/check.rs`.

use std::collections::HashMap;

use quote::ToTokens as _;
use syn::{Ident, Path, Type};

use crate::arguments::check_name;
use crate::codes;
use crate::diagnostics::Diagnostics;
use crate::item::line_of;

use super::calls::{Call, Syscall, Target};
use super::macros::is_for_debugging;
use super::scope::Repetition;
use super::{Finding, Survey, banned, topics};

/// Applies every rule.
pub(crate) fn check(survey: &Survey, diagnostics: &mut Diagnostics) {
    for call in &survey.calls {
        target(call, diagnostics);
        ids(call, diagnostics);
        keys(call, diagnostics);
    }
    identities(&survey.calls, diagnostics);
    topics::check(&survey.calls, diagnostics);
    for finding in &survey.findings {
        report(finding, diagnostics);
    }
}

fn target(call: &Call, diagnostics: &mut Diagnostics) {
    let method = &call.method;
    match &call.target {
        Target::Awaited(argument) => diagnostics.report(
            codes::STEP_AWAITED,
            argument,
            "a step call is not a future: `ctx.run` takes the call itself",
            "remove `.await` here and await what `ctx.run` returns: `ctx.run(step(x)).await`",
        ),
        // Of a literal, its type says what is wrong.
        Target::Opaque(argument) if call.ids.is_empty() && !matches!(argument, syn::Expr::Lit(_)) => diagnostics.report(
            codes::RUN_WITHOUT_ID,
            argument,
            "the name of the step cannot be read here",
            "call the step in place, `ctx.run(step(x))`, or name this call: `ctx.run(call).id(\"deposit\")`",
        ),
        Target::Gate { name, ty } => {
            match name {
                Some(name) => check_name(name, "gate", diagnostics),
                None => diagnostics.report(
                    codes::GATE,
                    method,
                    format_args!("the name of the gate of `{method}` is not a string literal"),
                    format_args!("write the name in place: `ctx.{method}::<T>(\"manager\")`; `.key(..)` tells gates apart"),
                ),
            }
            typed(ty.as_ref(), "answer", method, "ctx.suspend::<Approval>(..)", diagnostics);
        }
        Target::Message { name, ty, reply } => {
            match name {
                Some(name) => check_name(name, "topic", diagnostics),
                None => diagnostics.report(
                    codes::GATE,
                    method,
                    "the topic of this message is not a string literal",
                    "write it in place: `ctx.receive::<T>(\"payments\")`; `.key(..)` tells repetitions apart",
                ),
            }
            typed(ty.as_ref(), "message", method, "ctx.receive::<Payment>(..)", diagnostics);
            if let Some(reply) = reply {
                typed(reply.ty.as_ref(), "reply", &reply.method, ".update::<Receipt>()", diagnostics);
            }
        }
        Target::Part { name, .. } => literal_name(call, name.as_ref(), "part", diagnostics),
        Target::Named { name } => literal_name(call, name.as_ref(), "decision", diagnostics),
        Target::Change { name: Some(name) } => check_name(name, "change", diagnostics),
        Target::Change { name: None } => diagnostics.report(
            codes::NAME_NOT_LITERAL,
            method,
            "the name of a change is a string literal",
            "write it in place: `ctx.changed(\"new-tax\")`",
        ),
        Target::Dynamic { id: Some(id), .. } => check_name(id, "call", diagnostics),
        Target::Step(_)
        | Target::Flow(_)
        | Target::Opaque(_)
        // A dynamic call takes its id as a value: that is what it is for.
        | Target::Dynamic { id: None, .. }
        | Target::Emit { .. }
        | Target::Nothing => {}
    }
}

/// A type from outside is written: `cargo build` makes its schema.
fn typed(ty: Option<&Type>, what: &str, method: &Ident, example: &str, diagnostics: &mut Diagnostics) {
    if ty.is_none() {
        diagnostics.report(
            codes::GATE,
            method,
            format_args!("the type of the {what} of `{method}` is not written here"),
            format_args!("write it, for its schema: `{example}`"),
        );
    }
}

fn literal_name(call: &Call, name: Option<&syn::LitStr>, what: &str, diagnostics: &mut Diagnostics) {
    match name {
        Some(name) => check_name(name, what, diagnostics),
        None => diagnostics.report(
            codes::NAME_NOT_LITERAL,
            &call.method,
            format_args!("the name of a {what} is a string literal"),
            format_args!(
                "write it in place: `ctx.{}(\"name\", ..)`; `.key(..)` tells repetitions apart",
                call.method
            ),
        ),
    }
}

fn ids(call: &Call, diagnostics: &mut Diagnostics) {
    for (position, id) in call.ids.iter().enumerate() {
        let method = &call.method;
        if call.syscall.is_synchronous() {
            diagnostics.report(
                codes::ID_MISPLACED,
                &id.method,
                format_args!("`ctx.{method}` takes no id: its occurrences are counted"),
                "remove `.id(..)`",
            );
        } else if position > 0 {
            diagnostics.report(
                codes::ID_MISPLACED,
                &id.method,
                "this call has an id already",
                "keep one `.id(..)`",
            );
        }
        match &id.literal {
            Some(literal) => check_name(literal, "call", diagnostics),
            None => diagnostics.report(
                codes::ID_MISPLACED,
                &id.method,
                "an id is a string literal: it belongs to the place, not to the data",
                "write `.id(\"deposit\")`, and tell repetitions apart by `.key(..)`",
            ),
        }
    }
}

fn keys(call: &Call, diagnostics: &mut Diagnostics) {
    if call.syscall.is_synchronous() {
        return;
    }
    for key in call.keys.iter().filter(|key| !key.varies) {
        diagnostics.report(
            codes::KEY_CONSTANT,
            &key.argument,
            "this key is the same in every repetition",
            "mention what differs: `.key(&line.id)`",
        );
    }
    let repeated = match call.repetition {
        Some(Repetition::Closure) => "a closure may run any number of times, and nothing counts them",
        Some(Repetition::BlockInLoop) => {
            "an `async` block made in a loop runs later, when the loop counts no more"
        }
        None => return,
    };
    if call.keys.is_empty() && !call.varies_by_id() {
        diagnostics.report(
            codes::KEY_MISSING,
            &call.method,
            format_args!("this `ctx.{}` needs a key: {repeated}", call.method),
            format_args!("add `.key(..)` with what tells the repetitions apart: {}", with_key(call.syscall)),
        );
    }
}

/// A call with a key, as an example.
fn with_key(syscall: Syscall) -> &'static str {
    match syscall {
        Syscall::Call => "`ctx.call(audit(line)).key(&line.id)`",
        Syscall::Spawn => "`ctx.spawn(audit(line)).key(&line.id)`",
        Syscall::Execute => {
            "`ctx.execute(\"probe\", step, input).key(&line.id)`; or let the id say it, `format!(\"probe-{n}\")`"
        }
        Syscall::Part => "`ctx.part(\"pay\", pay(line)).key(&line.id)`",
        Syscall::Suspend => "`ctx.suspend::<Approval>(\"manager\").key(&line.id)`",
        Syscall::Receive => "`ctx.receive::<Payment>(\"payments\").key(&line.id)`",
        Syscall::Sleep | Syscall::SleepUntil => "`ctx.sleep(pause).key(&line.id)`",
        Syscall::Timeout => "`ctx.timeout(limit, future).key(&line.id)`",
        Syscall::Decide => "`ctx.decide(\"way\", || choose(line)).key(&line.id)`",
        Syscall::NegotiateBudget => "`ctx.negotiate_budget(\"name\", ask).key(&line.id)`",
        // The others return at once, and are counted.
        _ => "`ctx.run(ship(line)).key(&line.id)`",
    }
}

/// Two calls of one id are one too many, unless the later asks for the outcome of the first.
fn identities(calls: &[Call], diagnostics: &mut Diagnostics) {
    let mut seen: HashMap<&str, Vec<&Call>> = HashMap::new();
    for call in calls.iter().filter(|call| has_identity(call)) {
        let before = seen.entry(&call.id).or_default();
        let Some(earlier) = before.iter().find(|earlier| !earlier.excludes(call)).copied() else {
            before.push(call);
            continue;
        };
        if call.memo {
            continue;
        }
        let (id, line) = (&call.id, line_of(&earlier.method));
        match (&call.target, &earlier.target) {
            (Target::Step(path) | Target::Flow(path), Target::Step(_) | Target::Flow(_)) if call.ids.is_empty() => diagnostics.report(
                codes::STEP_TWICE,
                path,
                format_args!("`{id}` is called here and in line {line}, which gives both calls one id"),
                // With other arguments, the first outcome would be the answer to another question.
                if call.syscall == Syscall::Run && earlier.syscall == Syscall::Run && call.arguments == earlier.arguments {
                    "name at least one of them: `.id(\"deposit\")`; or add `.memo()` here to reuse the first outcome"
                } else {
                    "name at least one of them: `.id(\"deposit\")`"
                },
            ),
            _ => {
                let message = format_args!("the id `{id}` is taken by the call in line {line}");
                diagnostics.report(codes::ID_TWICE, &call.method, message, another_id(call));
            }
        }
    }
}

/// How a call gets an id of its own.
fn another_id(call: &Call) -> String {
    match (call.syscall, &call.target) {
        _ if !call.ids.is_empty() => "write another id in one of them".to_owned(),
        (Syscall::Sleep, _) => "give one of them an id of its own: `ctx.sleep(..).id(\"pause\")`".to_owned(),
        (Syscall::SleepUntil, _) => {
            "give one of them an id of its own: `ctx.sleep_until(..).id(\"deadline\")`".to_owned()
        }
        (Syscall::Receive, _) => {
            "give one of them an id of its own: `ctx.receive::<T>(\"payments\").id(\"second\")`".to_owned()
        }
        (_, Target::Gate { .. } | Target::Part { .. } | Target::Named { .. }) => {
            format!(
                "give one of them another name, or an id of its own: `ctx.{}(..).id(\"second\")`",
                call.method
            )
        }
        (Syscall::Execute, _) => "write another id in one of them".to_owned(),
        _ => "give one of them another id: `.id(\"deposit\")`".to_owned(),
    }
}

/// Whether a call has a static identity that another could collide with.
fn has_identity(call: &Call) -> bool {
    let unnamed = match &call.target {
        Target::Opaque(_) | Target::Awaited(_) => true,
        Target::Gate { name, .. }
        | Target::Message { name, .. }
        | Target::Part { name, .. }
        | Target::Named { name }
        | Target::Dynamic { id: name, .. } => name.is_none(),
        Target::Step(_) | Target::Flow(_) | Target::Change { .. } | Target::Emit { .. } | Target::Nothing => {
            false
        }
    };
    // An id that is no literal is told of by itself.
    let is_known = call.ids.iter().all(|id| id.literal.is_some());
    !call.syscall.is_synchronous() && is_known && (!unnamed || !call.ids.is_empty())
}

fn report(finding: &Finding, diagnostics: &mut Diagnostics) {
    match finding {
        Finding::CtxInMacro { mac } if is_for_debugging(mac) => diagnostics.report(
            codes::CTX_IN_MACRO,
            mac,
            "this macro is left out of a release build, and `ctx` is used in it: another build would replay other calls",
            "use `assert!`, `assert_eq!` or `assert_ne!`, which every build keeps",
        ),
        Finding::CtxInMacro { mac } => diagnostics.report(
            codes::CTX_IN_MACRO,
            mac,
            "Loom cannot read this macro, and `ctx` is used in it",
            "take the call out: `let answer = ctx.run(step(x)).await?;`, and use `answer` in the macro",
        ),
        Finding::UnbiasedSelect { mac } => diagnostics.report(
            codes::SELECT,
            mac,
            "this `select!` may pick another branch on replay",
            "use `loom::select!`, which takes the first ready branch in the order of the source",
        ),
        Finding::SelectWord(word) => diagnostics.report(
            codes::SELECT,
            word,
            format_args!("`{word}` is no branch of Loom's `select!`"),
            if word == "default" {
                "what is ready at this moment is another thing on replay: wait, beside a timer say: `() = ctx.sleep(days(1)) => ..`"
            } else {
                "write `else => ..` for when no branch is left"
            },
        ),
        Finding::SelectBare(future) => diagnostics.report(
            codes::SELECT,
            future,
            "a branch of `select!` has a pattern for what its future gives",
            "write it in front: `answer = ctx.run(step(x)) => ..`, or `_ = ..`",
        ),
        Finding::Banned { path, imported, ban, may_be_own } => {
            let text = |path: &Path| -> String { path.to_token_stream().to_string().split_whitespace().collect() };
            let which = imported.as_ref().map(|path| format!(", which is `{}`,", text(path))).unwrap_or_default();
            let way_out = banned::way_out(path, *may_be_own);
            diagnostics.report(ban.code, path, format_args!("`{}`{which} {}", text(path), ban.why), format_args!("{}{way_out}", ban.help));
        }
        Finding::CtxCloned { named: true, .. } => {} // it has an identity, of the user's own
        Finding::CtxCloned { name, named: false } => diagnostics.report(
            codes::CTX_ESCAPES,
            name,
            format_args!("`{name}` is another name of the context: Loom does not see the calls through it"),
            "make the call on the context by its own name; for an `async move` block, clone it under that name: \
             `let ctx = ctx.clone();`",
        ),
        Finding::CtxShadowed(ctx) => diagnostics.report(
            codes::CTX_ESCAPES,
            ctx,
            format_args!("`{ctx}` is bound anew: Loom knows the context by this name"),
            format_args!(
                "use another name; `let {ctx} = {ctx}.clone();` or `let {ctx} = &{ctx};` alone is fine, for an `async move` block"
            ),
        ),
        Finding::CtxMoved(ctx) => escaped(ctx, diagnostics),
        Finding::CtxHanded(argument) => diagnostics.report(
            codes::CTX_ESCAPES,
            argument,
            "the context is handed to a function that Loom does not see",
            "make that function a `#[flow(part)]` and call `ctx.part(\"name\", helper(..))`",
        ),
        Finding::CtxGiven { argument, method, callee } => {
            let callee: String = callee.to_token_stream().to_string().split_whitespace().collect();
            let (why, call) = match Syscall::of(method) {
                Some(Syscall::Part) => ("`ctx.part` gives a part its context", format!("ctx.part(\"name\", {callee}(..))")),
                Some(Syscall::Run) => ("a step runs without the flow's context", format!("ctx.run({callee}(..))")),
                _ => ("a child has a context of its own", format!("ctx.{method}({callee}(..))")),
            };
            diagnostics.report(
                codes::CTX_ESCAPES,
                argument,
                format_args!("{why}: nobody else hands it on"),
                format_args!("leave it out: `{call}`"),
            );
        }
        Finding::NeverAwaited(method) => diagnostics.report(
            codes::NEVER_AWAITED,
            method,
            format_args!("this `{method}` is asked for and never awaited: nothing comes of it"),
            "add `.await`; to wait for it later, or beside others, give it a name: `let later = ctx.run(step(x));`",
        ),
    }
}

fn escaped(ctx: &Ident, diagnostics: &mut Diagnostics) {
    diagnostics.report(
        codes::CTX_ESCAPES,
        ctx,
        format_args!("`{ctx}` is used as a value: calls through another name have no identity"),
        format_args!("call its methods on `{ctx}`; a helper that needs it is a `#[flow(part)]`"),
    );
}
