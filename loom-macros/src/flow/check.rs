//! The rules of a flow's signature, L0106, L0111, L0112 and L0201 to L0205, of its schedule, L0901 to
//! L0903 and L0905, of its input's versions, L0404 and L0405, of what it continues as, L0224, and those of its body,
//! which `body/rules.rs` holds. Nothing is built here.

use quote::ToTokens;
use syn::{ExprPath, FnArg, GenericParam, Type};

use crate::arguments;
use crate::codes;
use crate::diagnostics::{Checked, Diagnostics, Faulty};
use crate::item::{self, Param};
use crate::names;
use crate::schedule;

use super::ceiling;
use super::model::{Flow, Kind};

/// Applies every rule.
pub(crate) fn check(flow: Flow, mut diagnostics: Diagnostics) -> Result<Checked<Flow>, Box<Faulty<Flow>>> {
    rules(&flow, &mut diagnostics);
    diagnostics.seal(flow)
}

/// The rules themselves, for what is a flow and more.
pub(crate) fn rules(flow: &Flow, diagnostics: &mut Diagnostics) {
    flow.item.check_rivals(flow.kind.attribute(), diagnostics);
    signature(flow, diagnostics);
    parameters(flow, diagnostics);
    result(flow, diagnostics);
    name(flow, diagnostics);
    effects(flow, diagnostics);
    flow.policies.check(diagnostics);
    scheduled(flow, diagnostics);
    versioned(flow, diagnostics);
    if let Some(survey) = &flow.survey {
        survey.check(diagnostics);
        continuations(flow, &survey.continuations, diagnostics);
    }
}

fn signature(flow: &Flow, diagnostics: &mut Diagnostics) {
    let (sig, noun, a_flow) = (&flow.item.sig, flow.kind.noun(), flow.kind.indefinite());
    if sig.asyncness.is_none() {
        diagnostics.report(
            codes::FLOW_NOT_ASYNC,
            sig.fn_token,
            format_args!("the {noun} `{}` is not an `async fn`", sig.ident),
            format_args!("write `async fn {}`", sig.ident),
        );
    }
    flow.item.check_qualifiers(noun, codes::FLOW_NOT_ASYNC, diagnostics);
    // An agent's body is `agent/check.rs`'s to miss; a method of a trait is no flow in the first place.
    if let Some(semi) =
        flow.item.bodyless.as_ref().filter(|_| flow.kind != Kind::Agent && sig.receiver().is_none())
    {
        diagnostics.report(
            codes::FLOW_NOT_ASYNC,
            semi,
            format_args!("the {noun} `{}` has no body", sig.ident),
            "write it in place of the semicolon: `{ let receipt = ctx.run(charge(order)).await?; Ok(receipt) }`",
        );
    }
    let lends = item::lends(sig);
    let is_told = |param: &GenericParam| lends && matches!(param, GenericParam::Lifetime(_));
    for param in sig.generics.params.iter().filter(|param| !is_told(param)) {
        diagnostics.report(
            codes::FLOW_GENERIC,
            param,
            format_args!("{a_flow} has no generic parameters: a log names it, and nothing more"),
            "write the types; share code in plain generic functions, or in steps",
        );
    }
    if let Some(method) = flow.item.of_a_type() {
        diagnostics.report(
            codes::FLOW_CTX,
            method,
            format_args!("{a_flow} is a free function: it has no `self`, and stands in no `impl`"),
            format_args!("move it out of the `impl`: `async fn {}(ctx: Ctx, ..)`", sig.ident),
        );
    } else if flow.ctx.is_none() {
        let help = format!("write `async fn {}(ctx: Ctx, ..)`", sig.ident);
        let message = format!("the first parameter of {a_flow} is its context, by a plain name");
        match sig.inputs.first() {
            Some(arg) => diagnostics.report(codes::FLOW_CTX, arg, message, help),
            None => diagnostics.report(codes::FLOW_CTX, &sig.ident, message, help),
        }
    }
}

fn parameters(flow: &Flow, diagnostics: &mut Diagnostics) {
    let a_flow = flow.kind.indefinite();
    // The first one is told to be a context, if it is none.
    let first = flow.item.sig.inputs.first().filter(|_| flow.ctx.is_none());
    for arg in flow.unusable.iter().filter(|arg| Some(*arg) != first) {
        match arg {
            // It has been reported as what a method has.
            FnArg::Receiver(_) => {}
            FnArg::Typed(typed) => diagnostics.report(
                codes::FLOW_INPUT,
                &typed.pat,
                format_args!("the input of {a_flow} is a plain name"),
                "take the value by a name and destructure it in the body",
            ),
        }
    }
    for again in item::named_again(flow.ctx.iter().chain(&flow.inputs)) {
        diagnostics.report(
            codes::FLOW_INPUT,
            &again.ident,
            format_args!("two parameters of `{}` are called `{}`", flow.item.sig.ident, again.ident),
            "give one of them another name",
        );
    }
    for condition in flow.item.sig.inputs.iter().filter_map(item::conditional) {
        diagnostics.report(
            codes::FLOW_INPUT,
            condition,
            format_args!(
                "the parameters of {a_flow} are the same in every build: what a log holds is read by all"
            ),
            "take an `Option`; or write one function for each build, with the condition on it",
        );
    }
    let is_ctx = |param: &Param| flow.ctx.as_ref().is_some_and(|ctx| ctx.ty == param.ty);
    for again in flow.inputs.iter().filter(|param| is_ctx(param)) {
        diagnostics.report(
            codes::FLOW_CTX,
            &again.ident,
            format_args!("{a_flow} has one context, its first parameter"),
            "leave this one out",
        );
    }
    // A context in the wrong place is told of as such.
    for param in flow.inputs.iter().filter(|param| flow.ctx.is_some() || !item::is_context(&param.ty)) {
        if let Some(borrowed) = item::borrows(&param.ty) {
            diagnostics.report(
                codes::FLOW_INPUT,
                borrowed,
                format_args!("{a_flow} owns its input: it may go on in another process"),
                item::OWNED,
            );
        }
        if item::is_resource(&param.ty) {
            diagnostics.report(
                codes::FLOW_INPUT,
                &param.ty,
                format_args!("{a_flow} is given no resources, and no context of a step: it may go on in another process"),
                "take it in the step that needs it: `async fn charge(bank: Res<Bank>, order: Order) -> ..`",
            );
        }
        if let Type::ImplTrait(_) = &param.ty {
            diagnostics.report(
                codes::FLOW_GENERIC,
                &param.ty,
                format_args!("{a_flow} has no `impl Trait` parameters"),
                "name the type",
            );
        }
    }
    if flow.kind != Kind::Part && flow.ctx.is_some() {
        for extra in
            flow.inputs.iter().filter(|param| !item::is_resource(&param.ty) && !is_ctx(param)).skip(1)
        {
            diagnostics.report(
                codes::FLOW_INPUT,
                &extra.ident,
                format_args!("{} has one input, whose JSON starts it", flow.kind.indefinite()),
                "put the inputs into a struct: `async fn f(ctx: Ctx, input: Input)`",
            );
        }
    }
}

fn result(flow: &Flow, diagnostics: &mut Diagnostics) {
    if flow.kind == Kind::Part {
        return;
    }
    let noun = flow.kind.noun();
    let help = format!("write `-> Result<T, E>`, where `E: Failure` is the {noun}'s failure channel");
    match flow.item.output() {
        None => {
            let message = format!("the {noun} `{}` returns nothing", flow.item.sig.ident);
            diagnostics.report(codes::FLOW_RESULT, &flow.item.sig.ident, message, help);
        }
        Some(ty) if !item::may_be_result(ty) => {
            let message = format!("{} returns a `Result`", flow.kind.indefinite());
            diagnostics.report(codes::FLOW_RESULT, ty, message, help);
        }
        Some(_) => {}
    }
}

fn name(flow: &Flow, diagnostics: &mut Diagnostics) {
    let noun = flow.kind.noun();
    match &flow.written_name {
        Some(name) => arguments::check_name(name, noun, diagnostics),
        None if !names::is_valid(&flow.name) => diagnostics.report(
            codes::NAME,
            &flow.item.sig.ident,
            format_args!("`{}` cannot name {}", flow.name, flow.kind.indefinite()),
            format_args!("{}; or give the name: `#[{}(name = \"…\")]`", names::HELP, flow.kind.attribute()),
        ),
        None => {}
    }
}

fn scheduled(flow: &Flow, diagnostics: &mut Diagnostics) {
    let Some(cron) = &flow.schedule else {
        let alone = [
            (&flow.time_zone, "a time zone", "time_zone"),
            (&flow.overlap, "a policy on overlaps", "overlap"),
            (&flow.catch_up, "a policy on missed instants", "catch_up"),
        ];
        for (written, what, key) in alone {
            if let Some(written) = written.as_ref().filter(|_| flow.understood) {
                diagnostics.report(
                    codes::SCHEDULED,
                    written,
                    format_args!("{what} without a schedule means nothing"),
                    format_args!("add `schedule = \"0 9 * * MON-FRI\"`, or remove `{key}`"),
                );
            }
        }
        return;
    };
    schedule::check_cron(cron, diagnostics);
    if let Some(zone) = &flow.time_zone {
        schedule::check_zone(zone, diagnostics);
    }
    if let Some(overlap) = &flow.overlap {
        schedule::check_overlap(overlap, diagnostics);
    }
    if let Some(catch_up) = &flow.catch_up {
        schedule::check_catch_up(catch_up, diagnostics);
    }
    if flow.kind == Kind::Part {
        diagnostics.report(
            codes::SCHEDULED,
            cron,
            "a part runs within a flow, never by itself",
            "put the schedule on the flow",
        );
    } else if let Some(input) = flow.inputs.first() {
        diagnostics.report(
            codes::SCHEDULED,
            &input.ident,
            "a schedule has no input to start this with",
            "take none: read what is needed in a step, and the instant from `loom::nominal(ctx.execution())`",
        );
    }
}

/// The versions are those of the input that is recorded when a run begins.
fn versioned(flow: &Flow, diagnostics: &mut Diagnostics) {
    let given = flow.written_version.as_ref().map(ToTokens::to_token_stream);
    let given = given.or_else(|| flow.upcasts.0.first().map(|upcast| upcast.from.to_token_stream()));
    let Some(given) = given else { return };
    if flow.kind == Kind::Part {
        diagnostics.report(
            codes::UPCAST,
            &given,
            "the inputs of a part are not recorded: they have no versions",
            "put `version` and `upcast(..)` on the flow that is started",
        );
    } else if flow.inputs.is_empty() && flow.ctx.is_some() {
        diagnostics.report(
            codes::UPCAST,
            &given,
            format_args!(
                "the {} `{}` has no input: there is nothing to count versions of",
                flow.kind.noun(),
                flow.item.sig.ident
            ),
            "remove `version` and `upcast(..)`, or take the input that they are about",
        );
    } else if let Some(current) = flow.version {
        flow.upcasts.check(current, &flow.item.sig.ident, "inputs", flow.understood, diagnostics);
    }
}

/// Which flow a part continues is not known here.
fn continuations(flow: &Flow, paths: &[ExprPath], diagnostics: &mut Diagnostics) {
    let name = &flow.item.sig.ident;
    let other = |path: &&ExprPath| path.path.segments.last().is_some_and(|segment| segment.ident != *name);
    for path in paths.iter().filter(|_| flow.kind != Kind::Part).filter(other) {
        diagnostics.report(
            codes::CONTINUES,
            path,
            format_args!("`{name}` can only continue as itself"),
            format_args!("write `ctx.continue_as_new({name}(..))`; another flow is a child: `ctx.call(..)`, `ctx.spawn(..)`"),
        );
    }
}

fn effects(flow: &Flow, diagnostics: &mut Diagnostics) {
    if let Some(effects) = &flow.effects {
        effects.check_ceiling(diagnostics);
        ceiling::check(flow, diagnostics);
    }
}
