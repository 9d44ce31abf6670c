//! `cargo loom shape` with a cargo that only pretends: which tests it runs, and what it makes of them.
//! Not a real crate: `examples/checkout` has a shape file.
#![cfg(unix)]

use std::{fs, os::unix::fs::PermissionsExt as _, process::Command};

/// Runs it with a cargo that does what the script says; gives exit code, standard output and standard error.
fn cargo_loom(script: &str, args: &[&str]) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let cargo = folder.path().join("cargo");
    fs::write(&cargo, format!("#!/bin/sh\n{script}\n")).expect("a script");
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).expect("it can be run");
    let output = Command::new(env!("CARGO_BIN_EXE_cargo-loom"))
        .arg("loom")
        .args(args)
        .env("CARGO", &cargo)
        .output()
        .expect("it runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn it_runs_the_shape_test_with_the_write_switch() {
    let script = r#"echo "$LOOM_SHAPE: $@" >&2
printf 'shop\tsame\nshop\twritten\nshop\tsame\ntill\tsame\n' >> "$LOOM_SHAPE_LOG""#;
    let (code, out, err) = cargo_loom(script, &["shape", "-p", "shop", "-p", "till", "--", "--all-features"]);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(err, "write: test --package shop --package till --all-features shape\n");
    assert_eq!(
        out,
        "shop: loom.shape.json is written; read the difference and commit it\ntill: loom.shape.json is up to date\n"
    );
    let (_, _, err) = cargo_loom(script, &["shape", "--check", "--workspace", "--test", "form"]);
    assert_eq!(err, "check: test --workspace form\n");
}

#[test]
fn without_such_a_test_it_shows_one() {
    let (code, out, err) = cargo_loom("echo 'running 0 tests'", &["shape"]);
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(
        err.contains("no test with `shape` in its name") && err.contains("loom::shape::check!(my_library)"),
        "{err}"
    );
}

#[test]
fn what_the_test_says_is_passed_on() {
    let script = r#"printf 'shop\tdiffers\n' >> "$LOOM_SHAPE_LOG"
echo 'running 1 test'; echo 'failures:'; echo '+ "step refund"'; exit 101"#;
    let (code, _, err) = cargo_loom(script, &["shape", "--check"]);
    assert_eq!(code, Some(1));
    assert!(
        err.contains("out of date") && err.contains("+ \"step refund\"") && !err.contains("running 1"),
        "{err}"
    );
    let (_, _, err) = cargo_loom("exit 101", &["shape"]);
    assert!(err.contains("`cargo test` failed"), "{err}");
}
