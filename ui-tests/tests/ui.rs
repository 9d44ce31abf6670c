//! Compiles the cases under `cases/`: those in `pass` must compile, those in `fail` must fail with the
//! text beside them, which `TRYBUILD=overwrite` writes anew. What compiled code does is tested elsewhere.

#[test]
fn cases() {
    let cases = trybuild::TestCases::new();
    cases.pass("cases/*/pass/*.rs");
    cases.compile_fail("cases/*/fail/*.rs");
}
