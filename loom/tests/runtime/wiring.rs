//! Wiring: what `build()` refuses, and that its words name both sides.
//! Not what the macros refuse at compile time: those are in `ui-tests`.

use loom::{App, prelude::*};

use crate::support::{World, registry};

struct Warehouse;

#[step]
async fn wants(stock: Res<Warehouse>) -> loom::Result<()> {
    let _ = &*stock;
    Ok(())
}

#[step(name = "twice")]
async fn twice_one() -> loom::Result<()> {
    Ok(())
}

#[step(name = "twice")]
async fn twice_two() -> loom::Result<()> {
    Ok(())
}

#[flow(name = "both")]
async fn both_one(ctx: Ctx) -> loom::Result<()> {
    ctx.run(twice_one()).await
}

#[flow(name = "both")]
async fn both_two(ctx: Ctx) -> loom::Result<()> {
    ctx.run(twice_two()).await
}

#[test]
fn a_missing_resource_is_refused_with_both_names() {
    let Err(error) = App::builder().registry(registry!(flows: [], steps: [wants])).build() else {
        panic!("it was built");
    };
    let said = error.to_string();
    assert!(said.contains("`wants`") && said.contains("Warehouse") && said.contains("wiring.rs:"), "{said}");
    assert!(App::builder().registry(registry!(flows: [], steps: [wants])).provide(Warehouse).build().is_ok());
    assert!(
        App::builder()
            .registry(registry!(flows: [], steps: [wants]))
            .provide(World::default())
            .build()
            .is_err()
    );
}

#[test]
fn duplicates_are_refused_with_both_lines_all_at_once() {
    let registry = registry!(flows: [both_one, both_two], steps: [twice_one, twice_two, wants]);
    let Err(error) = App::builder().registry(registry).build() else { panic!("it was built") };
    assert_eq!(error.errors.len(), 3, "{error}");
    let said = error.to_string();
    let lines = [
        <twice_one as loom::Step>::DESCRIPTOR.location,
        <twice_two as loom::Step>::DESCRIPTOR.location,
        <both_one as loom::Flow>::DESCRIPTOR.location,
        <both_two as loom::Flow>::DESCRIPTOR.location,
    ];
    for line in lines {
        assert!(said.contains(&line.to_string()), "{line} is not in: {said}");
    }
    // The same element twice is no duplicate.
    assert!(
        App::builder().registry(registry!(flows: [both_one, both_one], steps: [twice_one])).build().is_ok()
    );
}
