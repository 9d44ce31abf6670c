//! The same flow and steps with what the macros would add written out, as short as it goes: inputs, impls, descriptors,
//! call sites, slice elements. Not compiled here: the text goes into a generated crate.

/// The module of the flow of this number.
pub(super) fn module(n: usize) -> String {
    let steps = [
        Step {
            name: "reserve",
            doc: "Put stock aside.",
            fields: "sku: String, qty: u32",
            names: "sku, qty",
            output: "Hold",
            delivery: "AtLeastOnce",
            retry: "RetryPolicy { attempts: 5, initial: Duration::from_millis(200), max: Duration::from_secs(60), factor: 2 }",
            timeout: "Some(Duration::from_secs(10))",
            effects: "\"stock.write\"",
            resources: "ResourceDescriptor::of::<Warehouse>()",
            params: "stock: Res<Warehouse>, sku: String, qty: u32",
            args: "env.resource::<Warehouse>()?, input.sku, input.qty",
            body: "let _ = &*stock; Ok(Hold { sku, qty })",
        },
        Step {
            name: "ship",
            doc: "Send one parcel.",
            fields: "line: String",
            names: "line",
            output: "String",
            delivery: "AtLeastOnce",
            retry: "RetryPolicy::NONE",
            timeout: "None",
            effects: "",
            resources: "",
            params: "line: String",
            args: "input.line",
            body: "Ok(format!(\"parcel-{line}\"))",
        },
        Step {
            name: "charge",
            doc: "Take the money.",
            fields: "order: Order, hold: Hold",
            names: "order, hold",
            output: "Receipt",
            delivery: "AtMostOnce",
            retry: "RetryPolicy::NONE",
            timeout: "None",
            effects: "\"payments.write\"",
            resources: "",
            params: "step: StepCx, order: Order, hold: Hold",
            args: "env.cx(), input.order, input.hold",
            body: "Ok(Receipt { payment: format!(\"{}-{}-{}\", order.qty, hold.qty, step.idempotency_key()) })",
        },
    ];
    let steps: String = steps.iter().map(Step::text).collect();
    format!("{HEAD}{steps}{FLOW}").replace("{n}", &n.to_string())
}

/// What differs between the steps.
struct Step {
    name: &'static str,
    doc: &'static str,
    fields: &'static str,
    names: &'static str,
    output: &'static str,
    delivery: &'static str,
    retry: &'static str,
    timeout: &'static str,
    effects: &'static str,
    resources: &'static str,
    params: &'static str,
    args: &'static str,
    body: &'static str,
}

impl Step {
    fn text(&self) -> String {
        let Self {
            name,
            doc,
            fields,
            names,
            output,
            delivery,
            retry,
            timeout,
            effects,
            resources,
            params,
            args,
            body,
        } = self;
        format!(
            r#"
/// {doc}
pub fn {name}_{{n}}({fields}) -> StepCall<{name}_{{n}}> {{
    StepCall::new({name}_input {{ {names} }})
}}

/// {doc}
pub enum {name}_{{n}} {{}}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename = "{name}_{{n}}", deny_unknown_fields)]
pub struct {name}_input {{ {fields} }}

impl Step for {name}_{{n}} {{
    type Input = {name}_input;
    const INPUT: Codec<{name}_input> = Codec::json();
    type Output = {output};
    type Error = ShopError;
    const DESCRIPTOR: &'static StepDescriptor = &StepDescriptor {{
        name: "{name}_{{n}}",
        doc: "{doc}",
        location: Location {{ file: file!(), line: line!(), column: column!(), module: module_path!() }},
        delivery: Delivery::{delivery},
        reads: false,
        retry: {retry},
        timeout: {timeout},
        heartbeat: None,
        effects: &[{effects}],
        resources: &[{resources}],
        input: DataType::of::<{name}_input>(),
        output: DataType::of::<{output}>(),
        error: schema_of::<ShopError>,
        fingerprint: 1,
        invoke: invoke::<{name}_{{n}}>,
    }};
    fn body(input: {name}_input, env: &StepEnv) -> Result<BoxFuture<'static, Result<{output}, ShopError>>, MissingResource> {{
        let _ = env;
        Ok(Box::pin({name}({args})))
    }}
}}

async fn {name}({params}) -> Result<{output}, ShopError> {{
    {body}
}}

#[linkme::distributed_slice(STEPS_V1)]
#[linkme(crate = loom::__v1::linkme)]
static {upper}: &StepDescriptor = {name}_{{n}}::DESCRIPTOR;
"#,
            upper = name.to_uppercase(),
        )
    }
}

const HEAD: &str = r#"//! An order.

use std::time::Duration;

use loom::{__v1::*, prelude::{days, StepCx}};
use ::schemars::JsonSchema;
use ::serde::{Deserialize, Serialize};

use crate::types::*;
"#;

const FLOW: &str = r#"
/// An order, from stock to receipt.
pub fn checkout_{n}(order: Order) -> FlowCall<checkout_{n}> {
    FlowCall::new(order)
}

/// An order, from stock to receipt.
pub enum checkout_{n} {}

static SITES: [Site; 4] = [
    Site { id: "reserve_{n}", line: line!(), column: column!(), file: file!() },
    Site { id: "manager", line: line!(), column: column!(), file: file!() },
    Site { id: "ship_{n}", line: line!(), column: column!(), file: file!() },
    Site { id: "charge_{n}", line: line!(), column: column!(), file: file!() },
];

impl Flow for checkout_{n} {
    type Input = Order;
    type Output = Receipt;
    type Error = ShopError;
    const DESCRIPTOR: &'static FlowDescriptor = &FlowDescriptor {
        versions: InputVersions::FIRST,
        name: "checkout_{n}",
        doc: "An order, from stock to receipt.",
        location: Location { file: file!(), line: line!(), column: column!(), module: module_path!() },
        input: DataType::of::<Order>(),
        output: DataType::of::<Receipt>(),
        error: schema_of::<ShopError>,
        gates: &[GateDescriptor { name: "manager", id: "manager", answer: DataType::of::<Approval>(), line: line!() }],
        messages: &[],
        effects: None,
        policies: &[],
        schedule: None,
        graph: &[
            Node::Step { id: "reserve_{n}", step: "reserve_{n}", line: 1, column: 1 },
            Node::Branch {
                label: "order.qty > 100",
                line: 1,
                column: 1,
                arms: &[Arm {
                    label: "then",
                    body: &[
                        Node::Gate { id: "manager", line: 1, column: 1 },
                        Node::Branch {
                            label: "!answer.approved",
                            line: 1,
                            column: 1,
                            arms: &[Arm { label: "then", body: &[Node::Return { line: 1, column: 1 }] }],
                        },
                    ],
                }],
            },
            Node::Loop {
                label: "for line in &order.lines",
                name: None,
                bound: LoopBound::Bounded,
                head_ends: true,
                line: 1,
                column: 1,
                body: &[
                    Node::Step { id: "ship_{n}", step: "ship_{n}", line: 1, column: 1 },
                    Node::Propagate { line: 1, column: 1 },
                ],
            },
            Node::Step { id: "charge_{n}", step: "charge_{n}", line: 1, column: 1 },
        ],
        steps: &[
            Callee { id: "reserve_{n}", it: || Some(<reserve_{n} as Step>::DESCRIPTOR) },
            Callee { id: "ship_{n}", it: || Some(<ship_{n} as Step>::DESCRIPTOR) },
            Callee { id: "charge_{n}", it: || Some(<charge_{n} as Step>::DESCRIPTOR) },
        ],
        children: &[],
        parts: &[],
        fingerprint: 1,
        run: run_flow::<checkout_{n}>,
    };
    fn run(ctx: Ctx, order: Order) -> BoxFuture<'static, Result<Receipt, ShopError>> {
        Box::pin(checkout(ctx, order))
    }
}

async fn checkout(ctx: Ctx, order: Order) -> Result<Receipt, ShopError> {
    let hold = ctx.__at(&SITES[0], &[]).run(reserve_{n}(order.sku.clone(), order.qty)).await?;
    if order.qty > 100 {
        let answer = ctx.__at(&SITES[1], &[]).suspend::<Approval>("manager").timeout(days(3)).await?;
        if !answer.approved {
            return Err(ShopError::Declined);
        }
    }
    for (line, n) in order.lines.iter().zip(0..) {
        ctx.__at(&SITES[2], &[n]).run(ship_{n}(line.clone())).await?;
    }
    ctx.__at(&SITES[3], &[]).run(charge_{n}(order, hold)).await
}

#[linkme::distributed_slice(FLOWS_V1)]
#[linkme(crate = loom::__v1::linkme)]
static CHECKOUT: &FlowDescriptor = checkout_{n}::DESCRIPTOR;
"#;
