//! Names one crate in code, and forgets the other, which its `Cargo.toml` lists.

fn main() {
    assert_eq!(orders::NAME, "orders");
    programs::print();
}
