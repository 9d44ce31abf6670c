//! Holds what the shop registers against `loom.shape.json`; `cargo loom shape` writes it.
//! Not what they do: that is `crash.rs`.

#[test]
fn shape() {
    loom::shape::check!(checkout);
}
