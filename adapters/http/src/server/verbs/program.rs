//! What there is to call: the flows of this program, and the wire itself.
//! Not the descriptions for tools: those are OpenAPI and OpenRPC.

use std::collections::BTreeMap;

use loom_runtime::kernel::EVENT_SCHEMA;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, value::RawValue};

use super::{Host, Verb, answer};
use crate::{
    ABI, Code, Problem, args,
    server::{method::Method, route},
};

/// The flows of a program.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FlowList {
    /// In order of their names.
    flows: Vec<FlowInfo>,
}

/// A flow: its name, its doc, and the JSON Schemas of what it takes, returns, fails with and asks.
#[derive(Serialize, JsonSchema)]
struct FlowInfo {
    name: &'static str,
    doc: &'static str,
    input: Value,
    output: Value,
    error: Value,
    gates: BTreeMap<&'static str, Value>,
}

impl Verb for args::Flows {
    const NAME: &'static str = "flows";
    const ROUTE: (Method, &'static str) = (Method::Get, "/v1/flows");
    const WRITES: bool = false;
    const CODES: &'static [Code] = &[];
    type Answer = FlowList;

    async fn call(self, host: &Host) -> Result<Box<RawValue>, Problem> {
        let flows = host.app.registry().flows().map(|flow| FlowInfo {
            name: flow.name,
            doc: flow.doc,
            input: flow.input.schema().into(),
            output: flow.output.schema().into(),
            error: (flow.error)().into(),
            gates: flow.gates.iter().map(|gate| (gate.name, gate.answer.schema().into())).collect(),
        });
        answer(&FlowList { flows: flows.collect() })
    }
}

/// What this wire is.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AbiInfo {
    /// The version of the wire, `major.minor`: a minor one only adds.
    abi: &'static str,
    /// The newest schema of events that this program reads and writes.
    event_schema: u16,
    /// The methods of JSON-RPC.
    methods: Vec<String>,
    /// The codes of problems, with their HTTP status and their number in JSON-RPC.
    codes: Vec<CodeInfo>,
}

#[derive(Serialize, JsonSchema)]
struct CodeInfo {
    code: &'static str,
    status: u16,
    rpc: i64,
    meaning: &'static str,
}

impl Verb for args::Abi {
    const NAME: &'static str = "abi";
    const ROUTE: (Method, &'static str) = (Method::Get, "/v1/abi");
    const WRITES: bool = false;
    const CODES: &'static [Code] = &[];
    type Answer = AbiInfo;

    async fn call(self, _: &Host) -> Result<Box<RawValue>, Problem> {
        let codes = Code::ALL.iter().map(|code| CodeInfo {
            code: code.name(),
            status: code.status(),
            rpc: code.rpc(),
            meaning: code.meaning(),
        });
        let methods = route::VERBS.iter().map(|route| format!("loom.{}", route.name)).collect();
        answer(&AbiInfo { abi: ABI, event_schema: EVENT_SCHEMA, methods, codes: codes.collect() })
    }
}
