//! Holds the flows and steps of the planner against `loom.shape.json`; `cargo loom shape` writes it.
//! Not what they do: that is `migrating.rs`.

#[test]
fn shape() {
    loom::shape::check!(schema_migration_planner);
}
