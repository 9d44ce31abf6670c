//! The rules of `#[derive(Failure)]`, L0301 to L0305. Nothing is built here.

use syn::{Fields, Ident};

use crate::codes;
use crate::diagnostics::{Checked, Diagnostics, Faulty};
use crate::item::line_of;

use super::model::{Failure, Variant};

/// Applies every rule.
pub(crate) fn check(
    failure: Failure,
    mut diagnostics: Diagnostics,
) -> Result<Checked<Failure>, Box<Faulty<Failure>>> {
    match failure.not_an_enum {
        Some(keyword) => diagnostics.report(
            codes::FAILURE_NOT_ENUM,
            Ident::new("item", keyword),
            format_args!("`{}` is not an enum", failure.ident),
            "a failure is an enum: one variant for each way to fail, and one for the engine",
        ),
        None => engines(&failure, &mut diagnostics),
    }
    for variant in &failure.variants {
        arguments(variant, &mut diagnostics);
    }
    diagnostics.seal(failure)
}

fn engines(failure: &Failure, diagnostics: &mut Diagnostics) {
    let mut engines = failure.engines();
    let Some(first) = engines.next() else {
        if !failure.understood {
            return; // it may be meant by what could not be read
        }
        diagnostics.report(
            codes::ENGINE_MISSING,
            &failure.ident,
            format_args!("`{}` has no variant for what the engine reports", failure.ident),
            "add `#[failure(engine)] Engine(EffectError),`: denied, timed out, exhausted, cancelled",
        );
        return;
    };
    for other in engines {
        diagnostics.report(
            codes::ENGINE_TWICE,
            &other.ident,
            format_args!(
                "a second variant for the engine; the first is `{}` in line {}",
                first.ident,
                line_of(&first.ident)
            ),
            "mark one variant `#[failure(engine)]`",
        );
    }
    for variant in failure.engines() {
        let one_field = matches!(&variant.fields, Fields::Unnamed(fields) if fields.unnamed.len() == 1);
        if !one_field {
            diagnostics.report(
                codes::ENGINE_SHAPE,
                &variant.ident,
                "the engine's variant holds exactly one unnamed field",
                format_args!("write `#[failure(engine)] {}(EffectError),`", variant.ident),
            );
        }
    }
}

fn arguments(variant: &Variant, diagnostics: &mut Diagnostics) {
    if let Some(pause) = &variant.retry_after {
        pause.check(diagnostics);
    }
    let written = [
        ("engine", variant.engine.is_present()),
        ("permanent", variant.permanent.is_present()),
        ("retry_after", variant.retry_after.is_some()),
    ];
    let mut written = written.into_iter().filter_map(|(key, there)| there.then_some(key));
    if let (Some(one), Some(other)) = (written.next(), written.next()) {
        diagnostics.report(
            codes::FAILURE_ARGUMENT,
            &variant.ident,
            format_args!("`{one}` and `{other}` do not go together"),
            "keep one: the engine's variant and permanent ones are never retried",
        );
    }
}
