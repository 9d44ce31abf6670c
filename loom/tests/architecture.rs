//! The laws of the house as a test: who may name whom, what each file says of itself, how long it may be.
//! Not style: formatting and lints have their own tools.

#![allow(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline", "--locked"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap()
}

/// The folders of the workspace's packages, by package name.
fn members(metadata: &Value) -> BTreeMap<String, String> {
    let members = metadata["workspace_members"].as_array().unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter().filter(|p| members.contains(&p["id"]));
    let root = root();
    packages
        .map(|package| {
            let folder = Path::new(text(package, "manifest_path")).parent().unwrap();
            let folder = folder.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
            (text(package, "name").to_owned(), folder)
        })
        .collect()
}

/// How far out a folder is: it may name what is further in, and nothing else.
fn ring(folder: &str) -> u8 {
    match folder {
        "loom-runtime/kernel" => 0,
        "loom-runtime" => 1,
        _ if folder.starts_with("loom/") => 2,
        // It is the front of all the others.
        "adapters/cli" => 4,
        _ if folder.starts_with("adapters/") => 3,
        "loom" => 5,
        _ => 6,
    }
}

/// Programs depend on the facade alone: what an adapter can encrypt, they must be able to turn on.
#[test]
fn encryption_is_a_feature_of_the_facade() {
    let metadata = metadata();
    let facade =
        metadata["packages"].as_array().unwrap().iter().find(|p| p["name"] == "loom-durable").unwrap();
    let turned_on: BTreeSet<_> =
        facade["features"]["tls"].as_array().unwrap().iter().map(|on| on.as_str().unwrap()).collect();
    let mut adapters = BTreeSet::new();
    for package in metadata["packages"].as_array().unwrap() {
        let of_house = text(package, "name").strip_prefix("loom-durable-");
        if let (Some(name), true) = (of_house, package["features"].get("tls").is_some()) {
            let dependency =
                facade["dependencies"].as_array().unwrap().iter().find(|d| d["name"] == package["name"]);
            let rename = dependency.and_then(|dependency| dependency["rename"].as_str());
            adapters.insert(format!("{}?/tls", rename.unwrap_or(name)));
        }
    }
    assert!(!adapters.is_empty());
    assert_eq!(turned_on, adapters.iter().map(String::as_str).collect());
}

#[test]
fn arrows_point_inward() {
    let metadata = metadata();
    let members = members(&metadata);
    let mut wrong = Vec::new();
    for package in metadata["packages"].as_array().unwrap() {
        let Some(folder) = members.get(text(package, "name")) else { continue };
        // Tests may look from outside; the code may not.
        let code = package["dependencies"].as_array().unwrap().iter().filter(|d| d["kind"] != "dev");
        for named in code.filter_map(|d| members.get(text(d, "name"))) {
            let macros = (folder == "loom-macros", named == "loom-macros");
            let allowed = match macros {
                (true, _) => false,
                (false, true) => ring(folder) >= 5,
                (false, false) => ring(named) < ring(folder),
            };
            if !allowed {
                wrong.push(format!("{folder} names {named}"));
            }
        }
    }
    assert!(wrong.is_empty(), "kernel ← runtime ← rooms ← adapters ← command line ← facade: {wrong:#?}");
}

/// What would bring the world into the kernel.
const WORLDLY: [&str; 14] = [
    "tokio",
    "async-std",
    "smol",
    "mio",
    "socket2",
    "rand",
    "getrandom",
    "fastrand",
    "uuid",
    "chrono",
    "jiff",
    "sqlx",
    "reqwest",
    "tracing",
];

#[test]
fn the_kernel_depends_on_nothing_of_the_world() {
    let metadata = metadata();
    let nodes: BTreeMap<_, _> = metadata["resolve"]["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| (text(node, "id"), node))
        .collect();
    let names: BTreeMap<_, _> =
        metadata["packages"].as_array().unwrap().iter().map(|p| (text(p, "id"), text(p, "name"))).collect();
    let kernel = names.iter().find(|(_, name)| **name == "loom-durable-kernel").unwrap().0;
    let (mut open, mut seen) = (vec![*kernel], BTreeSet::new());
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        assert!(!WORLDLY.contains(&names[id]), "the kernel's dependency tree has {}", names[id]);
        for dependency in nodes[id]["deps"].as_array().unwrap() {
            let kinds = dependency["dep_kinds"].as_array().unwrap();
            if kinds.iter().any(|kind| kind["kind"].is_null()) {
                open.push(text(dependency, "pkg"));
            }
        }
    }
    assert!(seen.len() > 3, "the tree was walked");
}

/// Every file with one of these endings that belongs to the project.
fn files(ending: &str) -> Vec<PathBuf> {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let found: Vec<_> = listed
        .lines()
        .filter(|l| l.ends_with(ending))
        .map(PathBuf::from)
        .filter(|p| root().join(p).exists())
        .collect();
    assert!(!found.is_empty(), "no {ending} files: is this a git checkout?");
    found
}

/// Samples for the compiler, and what macros expand to, are no rooms of the house.
fn is_sample(path: &Path) -> bool {
    let path = path.to_str().unwrap();
    path.starts_with("ui-tests/cases/") || path.contains("/expand/") || path.contains("/samples/")
}

#[test]
fn every_file_says_what_it_is() {
    let silent: Vec<_> = files(".rs")
        .into_iter()
        .filter(|path| !is_sample(path))
        .filter(|path| !fs::read_to_string(root().join(path)).unwrap().starts_with("//! "))
        .collect();
    assert!(silent.is_empty(), "these open without `//!`: {silent:#?}");
}

#[test]
fn no_file_has_two_jobs() {
    let names = ["utils.rs", "util.rs", "common.rs", "helpers.rs", "misc.rs"];
    let long: Vec<_> = files(".rs")
        .into_iter()
        .filter(|path| !is_sample(path))
        .filter(|path| {
            let lines = fs::read_to_string(root().join(path)).unwrap().lines().count();
            let is_test = path.components().any(|part| part.as_os_str() == "tests");
            let nameless = names.iter().any(|name| path.file_name().unwrap() == *name);
            nameless || lines > if is_test { 1_000 } else { 700 }
        })
        .collect();
    assert!(long.is_empty(), "over 700 lines, or named after nothing: {long:#?}");
}

#[test]
fn every_link_leads_somewhere() {
    let mut dead = Vec::new();
    for path in files(".md") {
        let content = fs::read_to_string(root().join(&path)).unwrap();
        for target in content.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = target.split('#').next().unwrap();
            if file.is_empty() || target.contains("://") || target.contains("crate::") || target.contains(' ')
            {
                continue;
            }
            if !root().join(&path).parent().unwrap().join(file).exists() {
                dead.push(format!("{}: {target}", path.display()));
            }
        }
    }
    assert!(dead.is_empty(), "{dead:#?}");
}

#[test]
fn every_folder_has_its_paragraph() {
    let map = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let missing: Vec<_> = members(&metadata())
        .into_values()
        .filter(|folder| !map.contains(&format!("**`{folder}/`**")))
        .collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md has no paragraph that opens with these: {missing:?}");
}

#[test]
fn packages_are_named_after_their_folders() {
    for (name, folder) in members(&metadata()) {
        let last = folder.rsplit('/').next().unwrap();
        let fits = match folder.as_str() {
            "loom" => name == "loom-durable",
            "benches" => name == "loom-benches",
            _ if folder.starts_with("examples/") => name == last,
            _ => name == format!("loom-durable-{}", last.trim_start_matches("loom-")),
        };
        assert!(fits, "{folder} holds the package {name}");
    }
}
