//! Domain events: what a log keeps of them, whatever becomes of their types.
//! Not the calls that emit them: those are in `decisions.rs`.

use loom::{
    App, Entry, EventError, FrameId, Registry, Status,
    kernel::{Domain, Envelope, Event, Payload},
    prelude::*,
    read_event,
};
use serde_json::{Value, json};

use crate::support::{Rig, id, log, on_every_store};

/// The program of yesterday.
mod before {
    use super::*;

    #[event(name = "order.placed")]
    #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
    pub(super) struct OrderPlaced {
        pub(super) sku: String,
    }

    #[flow(name = "placing")]
    pub(super) async fn placing(ctx: Ctx, sku: String) -> loom::Result<()> {
        ctx.emit(&OrderPlaced { sku });
        ctx.suspend::<bool>("go").await?;
        Ok(())
    }

    pub(super) fn program() -> Registry {
        Registry::of([Entry::flow::<placing>(), Entry::event::<OrderPlaced>()])
    }
}

/// The same after a refactoring: the type has another name and lives elsewhere.
mod after {
    pub(super) mod deeper {
        use crate::events::*;

        #[event(name = "order.placed")]
        #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub(in crate::events) struct Bought {
            pub(in crate::events) sku: String,
        }

        #[flow(name = "placing")]
        pub(in crate::events) async fn sell(ctx: Ctx, sku: String) -> loom::Result<()> {
            ctx.emit(&Bought { sku });
            ctx.suspend::<bool>("go").await?;
            Ok(())
        }

        pub(in crate::events) fn program() -> Registry {
            Registry::of([Entry::flow::<sell>(), Entry::event::<Bought>()])
        }
    }
}

/// Two versions later.
mod later {
    use super::*;

    #[event(name = "order.placed", version = 3, upcast(1 => from_v1, 2 => with_currency))]
    #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
    pub(super) struct OrderPlaced {
        pub(super) item: String,
        pub(super) price: u32,
        pub(super) currency: String,
    }

    #[derive(serde::Deserialize)]
    struct V1 {
        sku: String,
    }

    #[derive(serde::Serialize)]
    struct V2 {
        item: String,
        price: u32,
    }

    /// Versions as types; it may fail.
    fn from_v1(old: V1) -> Result<V2, String> {
        match old.sku.as_str() {
            "" => Err("nobody orders nothing".into()),
            sku => Ok(V2 { item: sku.into(), price: 5 }),
        }
    }

    /// Versions as JSON; it cannot fail.
    fn with_currency(mut old: Value) -> Value {
        old["currency"] = "CHF".into();
        old
    }
}

fn envelope(name: &str, version: u32, data: Value) -> Envelope {
    let (frame, data) = (FrameId::parsed("emit"), Payload::from_value(&data));
    let event = Event::Domain(Domain { frame, name: name.into(), version, data });
    let (execution, at) = (id("one"), Timestamp::from_micros(0));
    Envelope { execution, sequence: 7, at, event, meta: Default::default() }
}

fn read(version: u32, data: Value) -> Result<Option<later::OrderPlaced>, EventError> {
    read_event(&envelope("order.placed", version, data))
}

on_every_store! {
/// B91: a program in which the type has moved and has another name goes on with the log, and writes the same.
async fn moving_and_renaming_the_type_changes_nothing(rig: Rig) {
    let old = rig.app(before::program()).await;
    let started = old.start(before::placing("tea".into())).id("one").await.unwrap();
    started.until(&[Status::Suspended]).await.unwrap();
    old.shutdown(seconds(1)).await;

    let new = rig.app(after::deeper::program()).await;
    new.work();
    new.resume(&"one/go".parse().unwrap(), Payload::parse("true").unwrap(), "ada").await.unwrap();
    assert_eq!(new.until(&id("one"), &[Status::Completed]).await.unwrap(), Status::Completed);
    let other = new.start(after::deeper::sell("tea".into())).id("two").await.unwrap();
    other.until(&[Status::Suspended]).await.unwrap();

    let (one, two) = (log(&new, &id("one")).await, log(&new, &id("two")).await);
    assert_eq!(domains(&one), domains(&two));
    let event: after::deeper::Bought = one.iter().find_map(|e| read_event(e).unwrap()).unwrap();
    assert_eq!(event.sku, "tea");
    let text: String = one.iter().map(|envelope| envelope.encode().unwrap().payload).collect();
    assert!(!text.contains("OrderPlaced") && !text.contains("before"), "a Rust path is in the log: {text}");
}
}

fn domains(log: &[Envelope]) -> Vec<Domain> {
    let domain = |envelope: &'_ Envelope| match &envelope.event {
        Event::Domain(domain) => Some(domain.clone()),
        _ => None,
    };
    log.iter().filter_map(domain).collect()
}

#[test]
fn older_versions_go_through_the_upcasters_in_order() {
    let today = |item: &str, price: u32, currency: &str| {
        Ok(Some(later::OrderPlaced { item: item.into(), price, currency: currency.into() }))
    };
    assert_eq!(read(1, json!({ "sku": "tea" })), today("tea", 5, "CHF"));
    assert_eq!(read(2, json!({ "item": "tea", "price": 7 })), today("tea", 7, "CHF"));
    assert_eq!(read(3, json!({ "item": "tea", "price": 7, "currency": "EUR" })), today("tea", 7, "EUR"));
    assert_eq!(read_event::<later::OrderPlaced>(&envelope("order.paid", 1, json!({}))), Ok(None));
    let descriptor = <later::OrderPlaced as DomainEvent>::DESCRIPTOR;
    assert_eq!((descriptor.version, descriptor.oldest), (3, 1));
}

#[test]
fn what_no_longer_reads_names_event_version_type_and_position() {
    for (version, data, reason) in [
        (1, json!({ "sku": "" }), "the upcaster of version 1, `from_v1`, says: nobody orders nothing"),
        (
            1,
            json!({ "code": "tea" }),
            "the stored data is not what the upcaster of version 1, `from_v1`, takes: missing field `sku`",
        ),
        (
            2,
            json!({ "item": "tea" }),
            "what the upcaster of version 2, `with_currency`, gives is no such thing: missing field `price`",
        ),
        (3, json!({ "item": "tea", "price": 1 }), "missing field `currency`"),
        (4, json!({}), "it was written by a newer program"),
        (0, json!({}), "versions count from 1: nothing has written this"),
    ] {
        let error = read(version, data).unwrap_err();
        assert_eq!(
            (error.event, error.version, error.known, error.position),
            ("order.placed", version, 3, 7)
        );
        assert!(error.ty.ends_with("events::later::OrderPlaced"), "{}", error.ty);
        assert!(error.reason.starts_with(reason), "{}", error.reason);
        let said = error.to_string();
        for word in ["event 7", "`order.placed`", &format!("version {version}"), "OrderPlaced"] {
            assert!(said.contains(word), "{word} is not in: {said}");
        }
    }
}

#[test]
fn an_upcaster_is_blamed_for_what_the_next_one_cannot_read() {
    mod crooked {
        use super::*;

        #[event(name = "weighed", version = 4, upcast(2 => forgets, 3 => in_grams))]
        #[derive(Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub(super) struct Weighed {
            grams: u32,
        }

        #[derive(serde::Deserialize)]
        struct Kilos {
            kilos: u32,
        }

        fn forgets(_: Value) -> Value {
            json!({ "kilos": "secret" })
        }

        fn in_grams(old: Kilos) -> Weighed {
            Weighed { grams: old.kilos * 1000 }
        }
    }
    let said = |version| {
        let stored = envelope("weighed", version, json!({ "pounds": 3 }));
        read_event::<crooked::Weighed>(&stored).unwrap_err().reason
    };
    assert_eq!(
        said(2),
        "what the upcaster of version 2, `forgets`, gives is not what the upcaster of version 3, `in_grams`, takes: \
         invalid type: string, expected u32"
    );
    assert_eq!(
        said(3),
        "the stored data is not what the upcaster of version 3, `in_grams`, takes: missing field `kilos`"
    );
    assert_eq!(said(1), "nothing reads version 1 any more: begin `upcast(..)` with it, `1 => from_v1`");
}

#[test]
fn one_name_has_one_type_in_a_program() {
    let both = [Entry::event::<before::OrderPlaced>(), Entry::event::<later::OrderPlaced>()];
    let Err(error) = App::builder().registry(Registry::of(both)).build() else { panic!("it was built") };
    let said = error.to_string();
    for place in [
        <before::OrderPlaced as DomainEvent>::DESCRIPTOR.location,
        <later::OrderPlaced as DomainEvent>::DESCRIPTOR.location,
    ] {
        assert!(said.contains(&place.to_string()), "{place} is not in: {said}");
    }
}
