//! The keys of the attributes: what editors complete is what the parser takes, and what its help lists. Not what a key
//! means.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;

use super::ATTRIBUTES;

/// An item that each attribute goes on. What is wrong with it otherwise does not matter.
fn item(attribute: &str) -> TokenStream {
    let source = match attribute {
        "event" | "skill" => "struct Sample;",
        "projection" => "impl Sample {}",
        "policy" => "const SAMPLE: Policy = Policy::new();",
        _ => "async fn sample(ctx: Ctx) -> Result<(), E> { Ok(()) }",
    };
    source.parse().expect("tokens")
}

fn expansion(attribute: &str, args: &str) -> String {
    let (_, expand) = ATTRIBUTES.iter().find(|(name, _)| *name == attribute).expect("an attribute");
    expand(args.parse().expect("tokens"), item(attribute)).to_string()
}

/// The constants in a module of hints.
fn completed(attribute: &str, args: &str, module: &str) -> BTreeSet<String> {
    let text = expansion(attribute, args);
    let (_, rest) = text.split_once(&format!("mod {module} ")).expect("a module of hints");
    let (constants, _) = rest.split_once("use self").expect("the import");
    constants
        .split("pub const ")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once(' ')?.0.to_owned()))
        .collect()
}

/// Whether the parser knows a key, whatever it says of its value.
fn takes(attribute: &str, args: &str, key: &str) -> bool {
    !expansion(attribute, args).contains(&format!("unknown key `{key}`"))
}

#[test]
fn what_is_completed_is_what_is_taken() {
    let of = |name: &'static str| completed(name, "x", &format!("__loom_{name}"));
    let lists = [("step", "retry"), ("tool", "retry"), ("agent", "budget"), ("test", "faults")];
    let inner =
        lists.map(|(name, list)| completed(name, &format!("{list}()"), &format!("__loom_{name}_{list}")));
    let all: BTreeSet<_> =
        ATTRIBUTES.iter().flat_map(|(name, _)| of(name)).chain(inner.iter().flatten().cloned()).collect();
    assert!(all.len() > 20, "{all:?}");

    for (name, _) in ATTRIBUTES {
        let completed = of(name);
        let taken: BTreeSet<_> = all.iter().filter(|key| takes(name, key, key)).cloned().collect();
        assert_eq!(completed, taken, "{name}");
        let help = expansion(name, "nonsense");
        for key in &completed {
            let listed = ["`", " = ", "(", ","].iter().any(|end| help.contains(&format!("`{key}{end}")));
            assert!(listed, "the help of `{name}` does not list `{key}`: {help}");
        }
    }
    for ((name, list), completed) in lists.iter().zip(&inner) {
        let taken = all.iter().filter(|key| takes(name, &format!("{list}({key})"), key)).cloned().collect();
        assert_eq!(*completed, taken, "{name}: {list}");
    }
}

#[test]
fn an_attribute_without_arguments_carries_no_hints() {
    for (name, _) in ATTRIBUTES {
        assert!(!expansion(name, "").contains("rust_analyzer"), "{name}");
    }
}
