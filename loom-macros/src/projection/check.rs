//! The rules of `#[projection]`, L0801 to L0806. That a fold takes the fact that it is on is for the type
//! checker.

use quote::ToTokens as _;
use syn::{ImplItem, ReturnType, Type};

use crate::arguments;
use crate::body::way_out;
use crate::codes;
use crate::diagnostics::{Checked, Diagnostics, Faulty};
use crate::item::line_of;
use crate::names;

use super::model::{Fold, Projection};
use super::parse::On;

/// Applies every rule.
pub(crate) fn check(
    projection: Projection,
    mut diagnostics: Diagnostics,
) -> Result<Checked<Projection>, Box<Faulty<Projection>>> {
    block(&projection, &mut diagnostics);
    name(&projection, &mut diagnostics);
    for (position, fold) in projection.folds.iter().enumerate() {
        marks(fold, &projection.folds[..position], &mut diagnostics);
        signature(fold, &mut diagnostics);
        purity(fold, &mut diagnostics);
    }
    diagnostics.seal(projection)
}

fn block(projection: &Projection, diagnostics: &mut Diagnostics) {
    let block = &projection.block;
    let help = "write `impl Totals { .. }`, for a type that is the state";
    if let Some((of_trait, _)) = &block.of_trait {
        diagnostics.report(codes::PROJECTION_ITEM, of_trait, "a projection implements no trait", help);
    }
    for param in &block.generics.params {
        diagnostics.report(codes::PROJECTION_ITEM, param, "a projection has no generic parameters", help);
    }
    if projection.ident().is_none() {
        diagnostics.report(
            codes::PROJECTION_ITEM,
            &block.ty,
            "the state of a projection is a named type",
            help,
        );
    }
    for other in &projection.others {
        let message = "a projection holds folds, and nothing else";
        let help = "move this to another `impl` block of the type";
        match other {
            ImplItem::Const(item) => {
                diagnostics.report(codes::PROJECTION_ITEM, &item.ident, message, help);
            }
            other => diagnostics.report(codes::PROJECTION_ITEM, other, message, help),
        }
    }
}

fn name(projection: &Projection, diagnostics: &mut Diagnostics) {
    match (&projection.written_name, projection.ident()) {
        (Some(name), _) => arguments::check_name(name, "projection", diagnostics),
        (None, Some(ident)) if !names::is_valid(&projection.name) => diagnostics.report(
            codes::NAME,
            ident,
            format_args!("`{}` cannot name a projection", projection.name),
            format_args!("{}; or give the name: `#[projection(name = \"…\")]`", names::HELP),
        ),
        _ => {}
    }
}

const GRAMMAR: &str = "write `#[on(OrderPlaced)]` for an event, `#[on(step = charge)]` for a step's outcome, or `#[on(lifecycle)]`";

fn marks(fold: &Fold, earlier: &[Fold], diagnostics: &mut Diagnostics) {
    let ident = &fold.item.sig.ident;
    if fold.on.is_empty() {
        diagnostics.report(
            codes::FOLD_UNMARKED,
            ident,
            format_args!("`{ident}` does not say what it folds"),
            format_args!("{GRAMMAR}; what is no fold goes to another `impl` block"),
        );
    }
    for (attr, on) in &fold.on {
        match on {
            Err(error) => {
                let message = format!("this names no fact: {error}");
                diagnostics.report(codes::FOLD_UNMARKED, attr, message, GRAMMAR);
            }
            Ok(on) => once(fold, on, earlier, diagnostics),
        }
    }
    if let Some((second, _)) = fold.on.get(1) {
        diagnostics.report(
            codes::FOLD_UNMARKED,
            second,
            format_args!("`{ident}` is on {} facts", if fold.on.len() == 2 { "two" } else { "several" }),
            "write one fold for each, and share the code in a function of another `impl` block",
        );
    }
}

fn once(fold: &Fold, on: &On, earlier: &[Fold], diagnostics: &mut Diagnostics) {
    let folds_it =
        |fold: &&Fold| fold.on.iter().any(|(_, fact)| fact.as_ref().is_ok_and(|fact| same(fact, on)));
    let Some(first) = earlier.iter().find(folds_it) else { return };
    let (first, line) = (&first.item.sig.ident, line_of(&first.item.sig.ident));
    diagnostics.report(
        codes::FOLD_TWICE,
        &fold.item.sig.ident,
        format_args!("this fact is folded by `{first}` in line {line} already"),
        "do both in one fold: of two, nobody could tell which comes first",
    );
}

fn same(one: &On, other: &On) -> bool {
    let text = |on: &On| on.path().map(|path| path.to_token_stream().to_string());
    std::mem::discriminant(one) == std::mem::discriminant(other) && text(one) == text(other)
}

fn signature(fold: &Fold, diagnostics: &mut Diagnostics) {
    let sig = &fold.item.sig;
    let ident = &sig.ident;
    if let Some(keyword) = &sig.asyncness {
        diagnostics.report(
            codes::FOLD_ASYNC,
            keyword,
            "a fold waits for nothing: it is run again whenever the state is built anew",
            "remove `async`, and do in a step what must be awaited",
        );
    }
    if fold.on.is_empty() {
        return; // it may be no fold at all
    }
    let argument = match fold.fact() {
        Some(On::Event(path)) => format!("event: &{}", text(path)),
        Some(On::Step(_)) => "outcome: &Result<Output, Error>".to_owned(),
        Some(On::Lifecycle) => "status: loom::Status".to_owned(),
        None => "fact: &Fact".to_owned(),
    };
    let help = format!("write `fn {ident}(&mut self, {argument})`");
    if !fold.receives() {
        let message = "a fold sees its state and one fact, and nothing else";
        if sig.inputs.is_empty() {
            diagnostics.report(codes::FOLD_SIGNATURE, ident, message, &help);
        } else {
            diagnostics.report(codes::FOLD_SIGNATURE, &sig.inputs, message, &help);
        }
    }
    if let Some(ty @ Type::ImplTrait(_)) = fold.argument() {
        diagnostics.report(codes::FOLD_SIGNATURE, ty, "a fold names the type of its fact", &help);
    }
    if let ReturnType::Type(_, ty) = &sig.output {
        let message = "a fold returns nothing: the state is its result";
        diagnostics.report(codes::FOLD_SIGNATURE, ty, message, &help);
    }
    for param in &sig.generics.params {
        diagnostics.report(codes::FOLD_SIGNATURE, param, "a fold has no generic parameters", &help);
    }
}

fn purity(fold: &Fold, diagnostics: &mut Diagnostics) {
    for banned in &fold.banned {
        let path = text(&banned.path);
        let way_out = way_out(&banned.path, banned.may_be_own);
        diagnostics.report(
            codes::FOLD_IMPURE,
            &banned.path,
            format_args!("`{path}` {}: a fold sees its state and the fact alone", banned.why()),
            format_args!("let the flow or a step find it out, and put it into the event{way_out}"),
        );
    }
}

fn text(path: &syn::Path) -> String {
    path.to_token_stream().to_string().split_whitespace().collect()
}
