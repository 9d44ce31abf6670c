//! What two crates of flows register in one program, in debug and in release with LTO: the linker must not decide.
//! Not the checks of a registry by hand: `runtime/wiring.rs` has those.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Mutex,
};

/// Builds the programs of `tests/registry/`; where they are. A folder of its own under the target folder keeps their
/// dependencies between runs; both profiles take turns in it.
fn build(profile: &str) -> PathBuf {
    let loom = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("registry");
    let workspace = folder.join("workspace");
    {
        static COPYING: Mutex<()> = Mutex::new(());
        let _turn = COPYING.lock().expect("the other copies well");
        copy(&loom.join("tests/registry"), &workspace, loom);
        // The versions that this workspace has. Cargo drops from it what is not needed.
        let (ours, lock) = (loom.join("../Cargo.lock"), workspace.join("Cargo.lock"));
        let age = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
        if age(&lock) < age(&ours) {
            fs::copy(ours, lock).expect("the lock file can be copied");
        }
    }
    let output = Command::new(env!("CARGO"))
        .args(["build", "--offline", "--bins", "--profile", profile])
        .current_dir(&workspace)
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .env("CARGO_INCREMENTAL", "0")
        .env_remove("RUSTFLAGS")
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder.join("target").join(if profile == "dev" { "debug" } else { profile })
}

/// Copies what has changed, so that cargo builds only that; the path of Loom is made absolute.
fn copy(from: &Path, to: &Path, loom: &Path) {
    fs::create_dir_all(to).expect("a folder under the target folder");
    for entry in fs::read_dir(from).expect("the folder of crates") {
        let from = entry.expect("an entry").path();
        let to = to.join(from.file_name().unwrap_or_default());
        if from.is_dir() {
            copy(&from, &to, loom);
            continue;
        }
        let text = fs::read_to_string(&from).expect("a source file");
        let text = text.replace("path = \"../..\"", &format!("path = {loom:?}"));
        if fs::read_to_string(&to).ok().as_ref() != Some(&text) {
            fs::write(&to, text).expect("a copy");
        }
    }
}

/// What a program prints.
fn run(folder: &Path, program: &str) -> Vec<String> {
    let output = Command::new(folder.join(program)).output().expect("the program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

fn proves(profile: &str) {
    let folder = build(profile);
    assert_eq!(
        run(&folder, "both"),
        [
            "flow checkout orders/src/lib.rs:16",
            "flow refund orders/src/lib.rs:24",
            "flow remind letters/src/lib.rs:12",
            "step charge orders/src/lib.rs:10",
            "step post letters/src/lib.rs:7",
            "built",
        ],
        "{profile}"
    );
    // Why `loom::link!` is there: a crate that nobody names is not even loaded.
    assert_eq!(
        run(&folder, "forgotten"),
        [
            "flow checkout orders/src/lib.rs:16",
            "flow refund orders/src/lib.rs:24",
            "step charge orders/src/lib.rs:10",
            "built"
        ],
        "{profile}"
    );
    let clash = run(&folder, "clash");
    let refused: Vec<_> = clash.iter().filter(|line| line.starts_with("refused: ")).collect();
    let [flow, step] = &refused[..] else { panic!("{profile}: {clash:#?}") };
    assert!(
        flow.contains("flow `checkout` is defined twice: at orders/src/lib.rs:16 and at rival/src/lib.rs:12"),
        "{flow}"
    );
    assert!(
        step.contains("step `charge` is defined twice: at orders/src/lib.rs:10 and at rival/src/lib.rs:7"),
        "{step}"
    );
    assert!(!clash.contains(&"built".to_owned()));
}

#[test]
fn a_debug_build_registers_all_that_is_linked() {
    proves("dev");
}

#[test]
fn a_release_build_with_lto_registers_the_same() {
    proves("proof");
}
