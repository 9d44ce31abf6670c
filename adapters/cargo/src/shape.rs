//! Runs `cargo test` with the switches of the shape test, and says what came of it.
//! What a shape is, and how it is compared, is the runtime's.

use std::{
    collections::BTreeMap,
    env, fs,
    process::{Command, Stdio},
};

use clap::Args;

const TEST: &str = "
    // tests/shape.rs
    #[test]
    fn shape() {
        loom::shape::check!(my_library);
    }
";

#[derive(Args)]
pub(crate) struct Shape {
    /// The package; that of the current folder unless given. May be repeated
    #[arg(short, long = "package", value_name = "SPEC")]
    packages: Vec<String>,
    /// All packages of the workspace
    #[arg(long, conflicts_with = "packages")]
    workspace: bool,
    /// Write nothing; fail if a file would change
    #[arg(long)]
    check: bool,
    /// Run the tests whose names contain this
    #[arg(long, value_name = "NAME", default_value = "shape")]
    test: String,
    /// Further arguments of `cargo test`: features, a target, a profile
    #[arg(last = true, value_name = "ARGS")]
    cargo: Vec<String>,
}

/// Runs the tests; what is to be printed.
pub(crate) fn run(args: &Shape) -> Result<String, String> {
    let scratch = tempfile::tempdir().map_err(|error| format!("no temporary folder can be made: {error}"))?;
    let log = scratch.path().join("log");
    // Cargo says which one it is.
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(&cargo)
        .arg("test")
        .args(args.packages.iter().flat_map(|package| ["--package", package]))
        .args(args.workspace.then_some("--workspace"))
        .args(&args.cargo)
        .arg(&args.test)
        .env("LOOM_SHAPE", if args.check { "check" } else { "write" })
        .env("LOOM_SHAPE_LOG", &log)
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("`{}` cannot be run: {error}", cargo.to_string_lossy()))?;
    let held = read(&fs::read_to_string(&log).unwrap_or_default());
    if !output.status.success() {
        // What the compiler says is on standard error already; what a test says is not.
        let said = String::from_utf8_lossy(&output.stdout);
        let failed = said.find("failures:").map_or("", |at| &said[at..]);
        let what = if args.check && held.values().any(|said| said == "differs") {
            "a shape file is out of date; `cargo loom shape` writes it"
        } else {
            "`cargo test` failed, so that not every shape file may have been written"
        };
        return Err(format!("{what}\n{failed}"));
    }
    if held.is_empty() {
        return Err(format!(
            "no test with `{}` in its name called `loom::shape::check!`\nhelp: add one, then run this again:\n{TEST}",
            args.test
        ));
    }
    Ok(held.iter().map(|(package, said)| format!("{package}: {}\n", sentence(said))).collect())
}

/// What became of each package's file. Two tests of one package tell the same.
fn read(log: &str) -> BTreeMap<String, String> {
    let mut held = BTreeMap::new();
    for (package, said) in log.lines().filter_map(|line| line.split_once('\t')) {
        // `written`, then `same`: the second test found what the first had written.
        let kept: &mut String = held.entry(package.to_owned()).or_insert_with(|| said.to_owned());
        if kept == "same" {
            said.clone_into(kept);
        }
    }
    held
}

fn sentence(said: &str) -> &str {
    match said {
        "written" => "loom.shape.json is written; read the difference and commit it",
        "same" => "loom.shape.json is up to date",
        other => other,
    }
}
