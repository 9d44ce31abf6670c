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

/// Steps under other names than the functions that are called have.
mod shop {
    use loom::prelude::*;

    #[step(name = "take-money")]
    pub(super) async fn charge() -> loom::Result<()> {
        Ok(())
    }

    #[step]
    pub(super) async fn ship(to: String) -> loom::Result<()> {
        drop(to);
        Ok(())
    }

    #[step]
    pub(super) async fn pack() -> loom::Result<()> {
        Ok(())
    }

    #[flow(part)]
    pub(super) async fn packing(ctx: Ctx) -> loom::Result<()> {
        ctx.run(pack()).await
    }

    pub(super) fn ship_home(to: &str) -> loom::StepCall<ship> {
        ship(to.to_owned())
    }
}

#[flow]
async fn sells(ctx: Ctx) -> loom::Result<()> {
    use shop::charge as pay;
    ctx.run(pay()).await?;
    for place in ["Bern", "Chur"] {
        ctx.run(shop::ship_home(place)).await?;
    }
    ctx.part("packing", shop::packing()).await
}

#[flow]
async fn sells_again(ctx: Ctx) -> loom::Result<()> {
    use shop::packing as wrapping;
    ctx.part("again", wrapping()).await
}

/// Is handed what it runs in variables.
#[flow]
async fn sells_later(ctx: Ctx) -> loom::Result<()> {
    let (call, part) = ((), shop::packing());
    let call = {
        let () = call;
        shop::charge()
    };
    ctx.run(call).id("unknown").await?;
    let call = shop::ship_home("Bern");
    ctx.run(call).id("pack").await?;
    ctx.part("pack-it", part).await?;
    let part = shop::packing();
    ctx.part("again", part).await
}

#[test]
fn steps_that_are_not_listed_are_refused_with_both_lines() {
    let refused = |registry| {
        let Err(error) = App::builder().registry(registry).build() else { panic!("it was built") };
        error.errors.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let missing = |what, by: loom::Location, name, step: loom::Location| {
        format!("{what} ({by}) refers to the step `{name}` ({step}), which is not registered: list it")
    };
    let flow = <sells as loom::Flow>::DESCRIPTOR.location;
    let said = refused(registry!(flows: [sells, sells_again], steps: []));
    assert_eq!(
        said,
        [
            missing("flow `sells`", flow, "take-money", <shop::charge as loom::Step>::DESCRIPTOR.location),
            missing("flow `sells`", flow, "ship", <shop::ship as loom::Step>::DESCRIPTOR.location),
            missing(
                "part `packing`",
                <shop::packing as loom::__v1::Part>::DESCRIPTOR.location,
                "pack",
                <shop::pack as loom::Step>::DESCRIPTOR.location
            ),
        ]
    );
    let said = refused(registry!(flows: [sells], steps: [shop::ship, shop::pack]));
    assert!(said.len() == 1 && said[0].contains("`take-money`"), "{said:?}");
    let all = registry!(flows: [sells, sells_again], steps: [shop::charge, shop::ship, shop::pack]);
    assert!(App::builder().registry(all).build().is_ok());
    // What a `let` shows is looked for; what is not known has no name, were there a step of its id.
    let flow = <sells_later as loom::Flow>::DESCRIPTOR;
    let said = refused(registry!(flows: [sells_later], steps: [shop::pack]));
    let ship = <shop::ship as loom::Step>::DESCRIPTOR.location;
    assert_eq!(said, [missing("flow `sells_later`", flow.location, "ship", ship)]);
    let steps: Vec<_> = flow
        .graph
        .iter()
        .filter_map(|node| match *node {
            loom::Node::Step { id, step, .. } => Some((id, flow.callees().step(id, step))),
            _ => None,
        })
        .collect();
    assert_eq!(steps, [("unknown", "*"), ("pack", "ship")]);
}

/// Parts that have a name in common.
mod left {
    use loom::prelude::*;

    #[flow(part)]
    pub(super) async fn ask(ctx: Ctx) -> loom::Result<bool> {
        Ok(ctx.suspend::<bool>("left").await?)
    }
}

mod right {
    use loom::prelude::*;

    #[flow(part)]
    pub(super) async fn ask(ctx: Ctx) -> loom::Result<bool> {
        Ok(ctx.suspend::<bool>("right").await?)
    }
}

#[flow]
async fn asks(ctx: Ctx) -> loom::Result<bool> {
    use left::ask as query;
    Ok(ctx.part("first", query()).await? && ctx.part("second", right::ask()).await?)
}

#[test]
fn parts_are_those_that_are_called_whatever_they_are_called_by() {
    let flow = <asks as loom::Flow>::DESCRIPTOR;
    let names = ["first", "second"].map(|id| flow.callees().part(id).map(|part| part.name));
    assert_eq!(names, [Some("ask"), Some("ask")]);
    let gates: Vec<_> = flow.all_gates().into_iter().map(|(frame, _)| frame).collect();
    assert_eq!(gates, ["first/left", "second/right"]);
}

/// Runs flows, itself and through a part.
#[flow]
async fn sends(ctx: Ctx) -> loom::Result<()> {
    fn sold() -> loom::FlowCall<sells> {
        sells()
    }
    ctx.call(sold()).await?;
    drop(ctx.spawn(sends()).await);
    let held = sells_again();
    drop(ctx.spawn(held).id("held").await);
    ctx.part("again", sends_again()).await
}

#[flow]
async fn rests(_: Ctx) -> loom::Result<()> {
    Ok(())
}

#[flow(part)]
async fn sends_again(ctx: Ctx) -> loom::Result<()> {
    ctx.call(rests()).await?;
    ctx.call(rests()).id("another").await
}

#[test]
fn children_that_are_not_listed_are_refused_with_both_lines() {
    let Err(error) = App::builder().registry(registry!(flows: [sends], steps: [])).build() else {
        panic!("it was built");
    };
    let said: Vec<_> = error.errors.iter().map(ToString::to_string).collect();
    let missing = |by, at: loom::Location, name, flow: loom::Location| {
        format!("{by} ({at}) refers to the flow `{name}` ({flow}), which is not registered: list it")
    };
    let of_it = <rests as loom::Flow>::DESCRIPTOR.location;
    let part = <sends_again as loom::__v1::Part>::DESCRIPTOR.location;
    let (own, sold) =
        (<sends as loom::Flow>::DESCRIPTOR.location, <sells as loom::Flow>::DESCRIPTOR.location);
    let again = <sells_again as loom::Flow>::DESCRIPTOR.location;
    assert_eq!(
        said,
        [
            missing("flow `sends`", own, "sells", sold),
            missing("flow `sends`", own, "sells_again", again),
            missing("part `sends_again`", part, "rests", of_it),
        ]
    );
    let all =
        registry!(flows: [sends, sells, sells_again, rests], steps: [shop::charge, shop::ship, shop::pack]);
    assert!(App::builder().registry(all).build().is_ok());
}

mod one {
    #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
    pub(super) struct Job {
        pub(super) number: u32,
    }
}

mod other {
    #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
    pub(super) struct Job {
        pub(super) name: String,
    }
}

/// Waits for what only its name has in common with what its part waits for.
#[flow]
async fn clerk(ctx: Ctx) -> loom::Result<u32> {
    let first = ctx.receive::<one::Job>("jobs").await;
    let _ = first.number + ctx.part("second", helper()).await;
    ctx.part("third", same()).await;
    Ok(ctx.receive::<one::Job>("asked").update::<u32>().await.value.number)
}

#[flow(part)]
async fn helper(ctx: Ctx) -> u32 {
    drop(ctx.receive::<other::Job>("jobs").await.name);
    let _ = ctx.part("third", same()).await;
    ctx.receive::<one::Job>("asked").update::<String>().await.reject("no");
    1
}

#[flow(part)]
async fn same(ctx: Ctx) -> u32 {
    ctx.receive::<one::Job>("jobs").await.number
}

#[test]
fn a_topic_of_two_types_is_refused_with_both_lines() {
    let Err(error) = App::builder().registry(registry!(flows: [clerk], steps: [])).build() else {
        panic!("it was built");
    };
    let said: Vec<_> = error.errors.iter().map(ToString::to_string).collect();
    let [jobs, asked] = &said[..] else { panic!("{said:#?}") };
    let lines = |topic: &str| {
        let flow = <clerk as loom::Flow>::DESCRIPTOR;
        let part = <helper as loom::__v1::Part>::DESCRIPTOR;
        let line = |of: &[loom::MessageDescriptor]| of.iter().find(|m| m.name == topic).unwrap().line;
        (line(flow.messages), line(part.messages))
    };
    for (said, topic, what) in [(jobs, "jobs", "messages"), (asked, "asked", "replies")] {
        let (here, there) = lines(topic);
        assert!(said.contains(&format!("flow `clerk` waits on `{topic}` for {what} of two types")), "{said}");
        assert!(said.contains(&format!("wiring.rs:{here} and at ")), "{said}");
        assert!(said.contains(&format!("wiring.rs:{there};")), "{said}");
    }
}
