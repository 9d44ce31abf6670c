//! The table of verbs: what REST routes, JSON-RPC methods and both descriptions are made of.
//! Not what a verb does, and not the few routes that are no verbs: those are in `server/mod.rs`.

use futures_util::{FutureExt, future::BoxFuture};
use schemars::{Schema, SchemaGenerator};
use serde_json::{Value, value::RawValue};

use super::{
    arguments,
    method::Method,
    verbs::{Host, Verb},
};
use crate::{Code, Problem, args};

pub(super) const EXECUTIONS: &str = "/v1/executions";
pub(super) const EXECUTION: &str = "/v1/executions/{execution}";
pub(super) const EVENTS: &str = "/v1/executions/{execution}/events";
pub(super) const RPC: &str = "/v1/rpc";
pub(super) const OPENAPI: &str = "/v1/openapi.json";
pub(super) const OPENRPC: &str = "/v1/openrpc.json";
pub(super) const STORE: &str = "/v1/store/{call}";
pub(super) const HEALTH: &str = "/healthz";

/// Does what a verb does, with an object of arguments.
type Call = for<'a> fn(&'a Host, Value) -> BoxFuture<'a, Result<Box<RawValue>, Problem>>;

/// A verb in the table.
pub(super) struct Route {
    pub(super) name: &'static str,
    pub(super) method: Method,
    pub(super) path: &'static str,
    pub(super) writes: bool,
    pub(super) codes: &'static [Code],
    pub(super) args: fn() -> Schema,
    pub(super) answer: fn(&mut SchemaGenerator) -> Schema,
    pub(super) call: Call,
}

impl Route {
    const fn of<V: Verb>() -> Self {
        Self {
            name: V::NAME,
            method: V::ROUTE.0,
            path: V::ROUTE.1,
            writes: V::WRITES,
            codes: V::CODES,
            args: schema_of::<V>,
            answer: |generator| generator.subschema_for::<V::Answer>(),
            call: |host, args| call::<V>(host, args).boxed(),
        }
    }

    /// The names of the path's parameters.
    pub(super) fn parameters(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('{').skip(1).filter_map(|rest| rest.split('}').next())
    }
}

/// Every verb.
pub(super) static VERBS: [Route; 21] = [
    Route::of::<args::Abi>(),
    Route::of::<args::Flows>(),
    Route::of::<args::Start>(),
    Route::of::<args::List>(),
    Route::of::<args::Show>(),
    Route::of::<args::Outcome>(),
    Route::of::<args::Log>(),
    Route::of::<args::State>(),
    Route::of::<args::Query>(),
    Route::of::<args::Gates>(),
    Route::of::<args::Resume>(),
    Route::of::<args::Message>(),
    Route::of::<args::Update>(),
    Route::of::<args::Cancel>(),
    Route::of::<args::Judge>(),
    Route::of::<args::Retry>(),
    Route::of::<args::Fork>(),
    Route::of::<args::Simulate>(),
    Route::of::<args::Diff>(),
    Route::of::<args::Branches>(),
    Route::of::<args::Promote>(),
];

fn schema_of<V: Verb>() -> Schema {
    let settings = schemars::generate::SchemaSettings::draft2020_12().with(|s| s.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<V>()
}

async fn call<V: Verb>(host: &Host, args: Value) -> Result<Box<RawValue>, Problem> {
    arguments::read::<V>(V::NAME, &args, schema_of::<V>)?.call(host).await
}
