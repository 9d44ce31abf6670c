//! What a static graph is drawn as. Not what `graph` prints around it: the tests of the command line have that.

use loom_runtime::{Callee, DataType, Location};

use super::*;

const HERE: Location = Location { file: "flow.rs", line: 1, column: 1, module: "flow" };

/// A part that calls itself.
static TREE: PartDescriptor = PartDescriptor {
    name: "tree",
    location: HERE,
    gates: &[],
    messages: &[],
    effects: None,
    graph: &[
        Shape::Branch {
            label: "depth < 3",
            line: 2,
            column: 5,
            arms: &[Arm {
                label: "then",
                body: &[Shape::Part { id: "child", part: "tree", line: 3, column: 5 }],
            }],
        },
        Shape::Emit { id: "emit", event: Some("Grown"), line: 4, column: 5 },
    ],
    steps: &[],
    children: &[],
    parts: &[Callee { id: "child", it: || &TREE }],
    fingerprint: 0,
};

static FLOW: FlowDescriptor = FlowDescriptor {
    versions: loom_runtime::InputVersions::FIRST,
    name: "grow",
    doc: "",
    location: HERE,
    input: DataType::of::<serde_json::Value>(),
    output: DataType::of::<serde_json::Value>(),
    error: || true.into(),
    gates: &[],
    messages: &[],
    effects: None,
    policies: &[],
    schedule: None,
    graph: &[
        Shape::Decision { id: "\"kind\" #1", line: 1, column: 5 },
        Shape::Part { id: "oak", part: "tree", line: 2, column: 5 },
        Shape::Step { id: "second", step: "water", line: 3, column: 5 },
        Shape::Return { line: 4, column: 5 },
        Shape::Unreachable {
            line: 5,
            column: 5,
            body: &[
                Shape::Loop {
                    label: "loop",
                    name: None,
                    bound: LoopBound::Endless,
                    head_ends: false,
                    line: 5,
                    column: 5,
                    body: &[Shape::Step { id: "wait", step: "wait", line: 6, column: 9 }],
                },
                Shape::Return { line: 7, column: 5 },
            ],
        },
    ],
    steps: &[],
    children: &[],
    parts: &[Callee { id: "oak", it: || &TREE }],
    fingerprint: 0,
    run: |_, _| unreachable!("only drawn"),
};

#[test]
fn a_match_on_a_durable_call_is_named_after_it() {
    let gate = Shape::Gate { id: "manager", line: 1, column: 5 };
    let arms = [Arm { label: "Ok(yes)", body: &[] }, Arm { label: "Err(_)", body: &[] }];
    let asked = |label, arms: &[Arm], before| question(label, arms, before);
    let code = "ctx.suspend::<Approval>(\"manager\").timeou…";
    assert_eq!(asked(code, &arms, Some(&gate)), "match manager");
    assert_eq!(asked("order.kind", &arms, Some(&gate)), "order.kind");
    assert_eq!(asked(code, &arms, None), code);
    let arms = [Arm { label: "then", body: &[] }];
    assert_eq!(asked("let Ok(_) = ctx.suspend", &arms, Some(&gate)), "let Ok(_) = ctx.suspend");
}

#[test]
fn branches_of_a_scope_fork_and_join_under_its_policy() {
    fn drawn(policy: ParallelPolicy) -> String {
        let sides = Shape::Parallel {
            policy: Some(policy),
            limit: Some("4"),
            line: 1,
            column: 5,
            arms: Box::leak(Box::new([
                Arm { label: "a", body: &[Shape::Step { id: "a", step: "a", line: 2, column: 5 }] },
                Arm { label: "b", body: &[Shape::Step { id: "b", step: "b", line: 3, column: 5 }] },
            ])),
        };
        let last = Shape::Step { id: "last", step: "last", line: 4, column: 5 };
        let graph: &'static [Shape] = Box::leak(Box::new([sides, last]));
        let flow: &'static FlowDescriptor = Box::leak(Box::new(FlowDescriptor { graph, parts: &[], ..FLOW }));
        Graph::of(flow, &Registry::default()).mermaid()
    }
    let joined = drawn(ParallelPolicy::FailFast);
    for line in ["n1(\"side by side · fail_fast · limit 4\")", "n2 --> n4", "n3 --> n4", "n4 --> n5"] {
        assert!(joined.contains(line), "{line} in {joined}");
    }
    let detached = drawn(ParallelPolicy::Detach);
    assert!(detached.contains("n1 --> n4") && !detached.contains("n2 -->"), "{detached}");
}

#[test]
fn a_part_that_calls_itself_is_drawn_once() {
    let expected = r##"flowchart TD
    start(["grow"])
    n1[\"#quot;kind#quot; #35;1"\]
    n5["second: water"]
    n6{{"loop · unreachable · unbounded"}}
    n7["wait · unreachable"]
    done(["end"])
    subgraph g0["oak: tree"]
        n2{"depth #lt; 3"}
        n3[["child: tree"]]
        n4>"Grown"]
    end
    start --> n1
    n1 --> n2
    n2 -->|"then"| n3
    n3 --> n4
    n2 -->|"else"| n4
    n4 --> n5
    n6 -->|"each"| n7
    n7 --> n6
    n5 -->|"return"| done
    classDef unbounded stroke-width:4px
    class n6 unbounded
    classDef unreachable stroke-dasharray:4 4,opacity:0.5
    class n6,n7 unreachable
"##;
    assert_eq!(Graph::of(&FLOW, &Registry::default()).mermaid(), expected);
}

#[test]
fn as_json_parts_are_named_and_every_node_has_its_place() {
    let json = serde_json::to_value(Graph::of(&FLOW, &Registry::default())).unwrap();
    assert_eq!(
        json["tree"],
        serde_json::json!([
            {"kind": "decision", "id": "\"kind\" #1", "line": 1, "column": 5},
            {"kind": "part", "id": "oak", "part": "tree", "line": 2, "column": 5},
            {"kind": "step", "id": "second", "step": "water", "line": 3, "column": 5},
            {"kind": "return", "line": 4, "column": 5},
            {"kind": "loop", "label": "loop", "marks": ["unreachable", "unbounded"], "line": 5, "column": 5, "body": [
                {"kind": "step", "id": "wait", "step": "wait", "marks": ["unreachable"], "line": 6, "column": 9},
            ]},
            {"kind": "return", "marks": ["unreachable"], "line": 7, "column": 5},
        ])
    );
    assert_eq!(
        json["parts"]["tree"][0]["arms"],
        serde_json::json!([{"label": "then", "body": [
            {"kind": "part", "id": "child", "part": "tree", "line": 3, "column": 5},
        ]}])
    );
    let node = json["nodes"].as_array().unwrap().iter().find(|node| node["label"] == "wait").unwrap();
    assert_eq!((&node["marks"], &node["column"]), (&serde_json::json!(["unreachable"]), &9.into()));
    assert_eq!(json["groups"][0]["part"], "tree");
}
