//! What changed from one shape file to another, a sentence an item: what a reviewer wants to know first.
//! Not the whole difference: `diff` has the lines.

use serde_json::{Map, Value};

use super::document::KINDS;

/// Longer values are not written out.
const LONGEST: usize = 60;

/// `agent support: max_turns 8 → 20, tools + refund`, a line for every item that is new, gone or another. Nothing when
/// one of the two is no document.
pub(super) fn between(old: &Value, new: &Value) -> String {
    let mut text = String::new();
    if !old.is_object() || !new.is_object() {
        return text;
    }
    for kind in KINDS.iter().chain(["types"].iter()) {
        let (old, new) = (&old[*kind], &new[*kind]);
        for name in keys(old, new) {
            let what = match (old.get(name), new.get(name)) {
                (None, _) => "new".to_owned(),
                (_, None) => "gone".to_owned(),
                (Some(old), Some(new)) if old == new => continue,
                (Some(_), Some(_)) if *kind == "types" => "another schema".to_owned(),
                (Some(old), Some(new)) => of_item(old, new),
            };
            text.push_str(&format!("  {} {name}: {what}\n", singular(kind)));
        }
    }
    text
}

fn singular(kind: &str) -> &str {
    match kind {
        "policies" => "policy",
        kind => kind.strip_suffix('s').unwrap_or(kind),
    }
}

/// The keys of both objects, in order, each once.
fn keys<'d>(old: &'d Value, new: &'d Value) -> Vec<&'d String> {
    let mut keys: Vec<_> = [old, new].into_iter().filter_map(Value::as_object).flat_map(Map::keys).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn of_item(old: &Value, new: &Value) -> String {
    let changed = keys(old, new).into_iter().filter(|key| old.get(key) != new.get(key));
    let said: Vec<_> = changed
        .map(|key| {
            let of = |item: &Value| item.get(key).cloned().unwrap_or_default();
            format!("{key} {}", of_value(key, &of(old), &of(new)))
        })
        .collect();
    said.join(", ")
}

/// `8 → 20`, `+ refund − cancel`, `tokens 5 → none`, or that it is another.
fn of_value(key: &str, old: &Value, new: &Value) -> String {
    // Schemas and graphs are for the lines below.
    let has_lines = ["input", "output", "error", "arguments", "state", "data", "graph", "message", "reply"]
        .contains(&key);
    match (old, new) {
        (Value::Array(old), Value::Array(new)) if !has_lines => of_list(old, new),
        (Value::Object(_), Value::Object(_)) if !has_lines => of_item(old, new),
        (Value::Null, Value::Object(_)) => "new".to_owned(),
        (Value::Object(_), Value::Null) => "gone".to_owned(),
        _ => match (short(old), short(new)) {
            (Some(old), Some(new)) => format!("{old} → {new}"),
            _ => "changed".to_owned(),
        },
    }
}

fn of_list(old: &[Value], new: &[Value]) -> String {
    let missing = |from: &[Value], of: &[Value], sign: &str| {
        let missing = of.iter().filter(|item| !from.contains(item)).filter_map(short);
        missing.map(|item| format!("{sign} {item}")).collect::<Vec<_>>()
    };
    let mut said = missing(old, new, "+");
    said.extend(missing(new, old, "−"));
    if said.is_empty() { "in another order".to_owned() } else { said.join(" ") }
}

fn short(value: &Value) -> Option<String> {
    let text = match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(_) | Value::Object(_) => return None,
    };
    (text.chars().count() <= LONGEST && !text.contains('\n')).then_some(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::between;

    #[test]
    fn every_kind_of_item_says_what_changed() {
        let old = json!({
            "agents": {"support": {
                "model": "small", "max_turns": 8, "tools": ["find-order", "cancel"], "skills": ["a", "b"],
                "budget": {"tokens": 5, "usd_micros": null}, "instructions": "Be short.\nBe kind.",
            }},
            "events": {"order.placed": {"version": 1, "upcasters": 0, "data": {"type": "object"}}},
            "flows": {"lunch": {"schedule": "0 9 * * * UTC", "graph": ["step a"]}, "old": {}},
            "policies": {"careful": {"allows": ["*"], "denies": []}},
            "projections": {"totals": {"folds": ["event order.placed"], "version": 1}},
            "skills": {"refunds": {"file": "refunds.md"}},
            "tools": {"find-order": {"description": "Look up.", "arguments": {"a": 1}}},
            "types": {"Order": {"type": "object"}},
        });
        let new = json!({
            "agents": {"support": {
                "model": null, "max_turns": 20, "tools": ["find-order", "refund"], "skills": ["b", "a"],
                "budget": {"tokens": 5, "usd_micros": 250_000}, "instructions": "Be short.",
            }},
            "events": {"order.placed": {"version": 2, "upcasters": 1, "data": "OrderPlaced"}},
            "flows": {"lunch": {"graph": ["step b"]}},
            "policies": {"careful": {"allows": ["*"], "denies": ["mail.*"]}},
            "projections": {"totals": {"folds": ["event order.placed", "lifecycle"], "version": 2}},
            "skills": {"refunds": {"file": "money.md"}},
            "steps": {"charge": {}},
            "tools": {"find-order": {"description": "Look it up.", "arguments": {"a": 2}}},
            "types": {"Order": {"type": "string"}},
        });
        assert_eq!(
            between(&old, &new),
            "  agent support: budget usd_micros none → 250000, instructions changed, max_turns 8 → 20, \
             model small → none, skills in another order, tools + refund − cancel\n  \
             event order.placed: data changed, upcasters 0 → 1, version 1 → 2\n  \
             flow lunch: graph changed, schedule 0 9 * * * UTC → none\n  \
             flow old: gone\n  \
             policy careful: denies + mail.*\n  \
             projection totals: folds + lifecycle, version 1 → 2\n  \
             skill refunds: file refunds.md → money.md\n  \
             step charge: new\n  \
             tool find-order: arguments changed, description Look up. → Look it up.\n  \
             type Order: another schema\n"
        );
    }

    #[test]
    fn what_is_no_document_says_nothing() {
        assert_eq!(between(&json!(null), &json!({"flows": {"a": {}}})), "");
    }
}
