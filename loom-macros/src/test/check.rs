//! The rules of `#[test]`, L1001 to L1003. That the parameter is a `Test` is for the type checker.

use syn::{FnArg, LitStr};

use crate::codes;
use crate::diagnostics::{Checked, Diagnostics, Faulty};
use crate::similar::similar;

use super::model::{CRASH, REPLAY, Test};

/// Applies every rule.
pub(crate) fn check(test: Test, mut diagnostics: Diagnostics) -> Result<Checked<Test>, Box<Faulty<Test>>> {
    test.item.check_rivals("test", &mut diagnostics);
    signature(&test, &mut diagnostics);
    if let Some(crash) = &test.crash {
        place(crash, "where a process dies", CRASH, REPLAY, &mut diagnostics);
    }
    if let Some(replay) = &test.replay {
        place(replay, "where a flow is replayed", REPLAY, CRASH, &mut diagnostics);
    }
    if let (None, Some(faults)) = (test.faults(), &test.faults) {
        for number in faults.seed.iter().chain(&faults.runs) {
            let whole = number.base10_parse::<u64>();
            let is_runs = faults.runs.as_ref() == Some(number);
            if whole.is_err() || is_runs && !matches!(whole, Ok(1..=0xffff_ffff)) {
                diagnostics.report(
                    codes::TEST_FAULTS,
                    number,
                    format_args!("`{number}` is no {}", if is_runs { "number of runs" } else { "seed" }),
                    "write whole numbers, at least one run: `faults(seed = 7, runs = 100)`",
                );
            }
        }
    }
    diagnostics.seal(test)
}

fn signature(test: &Test, diagnostics: &mut Diagnostics) {
    let sig = &test.item.sig;
    let help = format!("write `async fn {}(test: loom::testing::Test)`", sig.ident);
    if sig.asyncness.is_none() {
        let what = format_args!("the test `{}` is not an `async fn`", sig.ident);
        diagnostics.report(codes::TEST_ITEM, sig.fn_token, what, &help);
    }
    if test.item.bodyless.is_some() {
        let what = format_args!("the test `{}` has no body", sig.ident);
        diagnostics.report(codes::TEST_ITEM, &sig.ident, what, &help);
    }
    for param in &sig.generics.params {
        diagnostics.report(codes::TEST_ITEM, param, "a test has no generic parameters", &help);
    }
    let mut inputs = sig.inputs.iter();
    match inputs.next() {
        Some(FnArg::Typed(_)) => {}
        Some(receiver @ FnArg::Receiver(_)) => {
            diagnostics.report(codes::TEST_ITEM, receiver, "a test is a free function", &help);
        }
        None => {
            let what = format_args!("the test `{}` does not take its `Test`", sig.ident);
            diagnostics.report(codes::TEST_ITEM, &sig.ident, what, &help);
        }
    }
    for more in inputs {
        diagnostics.report(codes::TEST_ITEM, more, "a test takes its `Test`, and nothing else", &help);
    }
}

/// A key that has one value so far; `other` is that of the key beside it.
fn place(written: &LitStr, what: &str, known: &str, other: &str, diagnostics: &mut Diagnostics) {
    let text = written.value();
    if text == known {
        return;
    }
    let help = match similar(&text, [known]) {
        Some(meant) => format!("did you mean \"{meant}\"?"),
        None if text == other => format!("that is for the other key; write \"{known}\""),
        None => format!("write \"{known}\""),
    };
    diagnostics.report(codes::TEST_PLACE, written, format_args!("`{text}` does not say {what}"), help);
}
