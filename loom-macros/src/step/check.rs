//! The rules of `#[step]`, L0101 to L0112. Nothing is built here: the model goes on as it came,
//! sealed or with its errors.

use syn::{FnArg, GenericParam, Type};

use crate::arguments;
use crate::codes;
use crate::diagnostics::{Checked, Diagnostics, Faulty};
use crate::item;
use crate::names;

use super::model::{Delivery, Step, StepParam};
use super::parse::RetryArgs;

/// Applies every rule.
pub(crate) fn check(step: Step, mut diagnostics: Diagnostics) -> Result<Checked<Step>, Box<Faulty<Step>>> {
    rules(&step, &mut diagnostics);
    diagnostics.seal(step)
}

/// The rules themselves, for what is a step and more.
pub(crate) fn rules(step: &Step, diagnostics: &mut Diagnostics) {
    step.item.check_rivals(step.attribute, diagnostics);
    signature(step, diagnostics);
    for param in &step.params {
        parameter(param, diagnostics);
    }
    for condition in step.item.sig.inputs.iter().filter_map(item::conditional) {
        diagnostics.report(
            codes::PARAMETER_PATTERN,
            condition,
            "a step's parameters are the same in every build: they are the fields of the recorded input",
            "take an `Option`; or write one step for each build, with the condition on it",
        );
    }
    for again in item::named_again(step.named()) {
        diagnostics.report(
            codes::PARAMETER_PATTERN,
            &again.ident,
            format_args!("two parameters of the step `{}` are called `{}`", step.item.sig.ident, again.ident),
            "give one of them another name: each names a field of the recorded input",
        );
    }
    delivery(step, diagnostics);
    name(step, diagnostics);
    step.effects.check(diagnostics);
    for duration in step.timeout.iter().chain(&step.heartbeat) {
        duration.check_limit(diagnostics);
    }
    if let (Some(timeout), Some(heartbeat)) = (&step.timeout, &step.heartbeat) {
        heartbeat.check_within(timeout, "a silence that", "an attempt", diagnostics);
    }
    if let Some(policy) = &step.retry {
        retry(policy, diagnostics);
    }
}

fn signature(step: &Step, diagnostics: &mut Diagnostics) {
    let sig = &step.item.sig;
    if sig.asyncness.is_none() {
        diagnostics.report(
            codes::STEP_NOT_ASYNC,
            sig.fn_token,
            format_args!("the step `{}` is not an `async fn`", sig.ident),
            format_args!("write `async fn {}`", sig.ident),
        );
    }
    step.item.check_qualifiers(step.attribute, codes::STEP_NOT_ASYNC, diagnostics);
    let method = step.item.of_a_type();
    if let Some(method) = &method {
        diagnostics.report(
            codes::STEP_BORROWS,
            method,
            "a step is a free function: it has no `self`, and stands in no `impl`",
            "move it out of the `impl`; take what it needs as parameters, and shared things as `Res<T>`",
        );
    }
    if let Some(semi) = step.item.bodyless.as_ref().filter(|_| method.is_none()) {
        diagnostics.report(
            codes::STEP_NOT_ASYNC,
            semi,
            format_args!("the {} `{}` has no body", step.attribute, sig.ident),
            "write it in place of the semicolon: `{ Ok(..) }`",
        );
    }
    match step.item.output() {
        None => diagnostics.report(
            codes::STEP_RESULT,
            &sig.ident,
            format_args!("the step `{}` returns nothing", sig.ident),
            "a step returns `Result<T, E>`, where `E: Failure` is its failure channel: write `-> Result<(), E>`",
        ),
        Some(ty) if !item::may_be_result(ty) => diagnostics.report(
            codes::STEP_RESULT,
            ty,
            "a step returns a `Result`",
            "write `-> Result<T, E>`, where `E: Failure` is the step's failure channel",
        ),
        Some(_) => {}
    }
    let lends = item::lends(sig);
    for param in &sig.generics.params {
        let what = match param {
            GenericParam::Lifetime(_) if lends => continue,
            GenericParam::Lifetime(_) => "lifetime",
            GenericParam::Type(_) => "type",
            GenericParam::Const(_) => "const",
        };
        diagnostics.report(
            codes::STEP_GENERIC,
            param,
            format_args!("a step has no {what} parameters: its input is decoded from a log"),
            "write one step for each type, and share the code in a generic function that they call",
        );
    }
}

fn parameter(param: &StepParam, diagnostics: &mut Diagnostics) {
    if let StepParam::Input(input) = param {
        owned(&input.ty, diagnostics);
    }
    let (StepParam::Input(param) | StepParam::Resource(param, _) | StepParam::Context(param)) = param else {
        if let StepParam::Unusable(arg) = param {
            unusable(arg, diagnostics);
        }
        return;
    };
    type_of(&param.ty, diagnostics);
}

fn unusable(arg: &FnArg, diagnostics: &mut Diagnostics) {
    match arg {
        // It has been reported as what a method has.
        FnArg::Receiver(_) => {}
        FnArg::Typed(typed) => {
            diagnostics.report(
                codes::PARAMETER_PATTERN,
                &typed.pat,
                "a step's parameter is a plain name: it names a field of the recorded input",
                "take the value by a name and destructure it in the body",
            );
            owned(&typed.ty, diagnostics);
            type_of(&typed.ty, diagnostics);
        }
    }
}

fn owned(ty: &Type, diagnostics: &mut Diagnostics) {
    if let Some(borrowed) = item::borrows(ty) {
        diagnostics.report(
            codes::STEP_BORROWS,
            borrowed,
            "a step owns its input: it may run in another process than its caller",
            item::OWNED,
        );
    }
}

fn type_of(ty: &Type, diagnostics: &mut Diagnostics) {
    match ty {
        Type::ImplTrait(_) => diagnostics.report(
            codes::STEP_GENERIC,
            ty,
            "a step has no `impl Trait` parameters: its input is decoded from a log",
            "name the type",
        ),
        Type::Group(group) => type_of(&group.elem, diagnostics),
        Type::Paren(paren) => type_of(&paren.elem, diagnostics),
        _ if item::type_is(ty, "Ctx") => diagnostics.report(
            codes::CTX_IN_STEP,
            ty,
            "`Ctx` is not available inside a step: what a step does is recorded as one outcome",
            "take `StepCx` for the step's own context, or make this a `#[flow(part)]`",
        ),
        _ => {}
    }
}

fn delivery(step: &Step, diagnostics: &mut Diagnostics) {
    let has = |wanted| step.deliveries.iter().any(|(delivery, _)| *delivery == wanted);
    let mut without_effect = step.deliveries.iter().filter(|(delivery, _)| *delivery == Delivery::Pure);
    if let (Some(_), Some((_, reads))) = (without_effect.next(), without_effect.next()) {
        diagnostics.report(
            codes::DELIVERY,
            syn::Ident::new("reads", *reads),
            "a step that reads the world outside is not `pure`",
            "keep `reads` if it looks at anything but its input, else `pure`",
        );
    }
    let Some((_, at_most_once)) =
        step.deliveries.iter().find(|(delivery, _)| *delivery == Delivery::AtMostOnce)
    else {
        return;
    };
    let at_most_once = syn::Ident::new("at_most_once", *at_most_once);
    if has(Delivery::Pure) {
        diagnostics.report(
            codes::DELIVERY,
            &at_most_once,
            "a step is either without effect (`pure`, `reads`) or delivered `at_most_once`",
            "keep `at_most_once` if a second run would do harm, else `pure` or `reads`",
        );
    }
    if step.retry.is_some() {
        diagnostics.report(
            codes::DELIVERY,
            &at_most_once,
            "a step that is delivered `at_most_once` is never retried: its outcome may be in doubt",
            "remove `retry(..)`, or remove `at_most_once` if the body may run again",
        );
    }
}

fn name(step: &Step, diagnostics: &mut Diagnostics) {
    match &step.written_name {
        Some(name) => arguments::check_name(name, "step", diagnostics),
        None if !names::is_valid(&step.name) => diagnostics.report(
            codes::NAME,
            &step.item.sig.ident,
            format_args!("`{}` cannot name a step", step.name),
            format_args!("{}; or give the name: `#[{}(name = \"…\")]`", names::HELP, step.attribute),
        ),
        None => {}
    }
}

fn retry(retry: &RetryArgs, diagnostics: &mut Diagnostics) {
    for duration in retry.initial.iter().chain(&retry.max) {
        duration.check(diagnostics);
    }
    if let (Some(initial), Some(max)) = (&retry.initial, &retry.max) {
        initial.check_within(max, "a first pause that", "a pause", diagnostics);
    }
    for (number, key) in [(&retry.attempts, "attempts"), (&retry.factor, "factor")] {
        if let Some(number) = number
            && !number.base10_parse::<u32>().is_ok_and(|n| n >= 1)
        {
            diagnostics.report(
                codes::ATTEMPTS,
                number,
                format_args!("`{key}` is a whole number from 1"),
                "write a number from 1; `attempts = 1` means that there is no retry",
            );
        }
    }
}
