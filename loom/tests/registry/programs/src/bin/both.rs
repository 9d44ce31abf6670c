//! Names one crate in code, and links another.

loom::link!(letters);

fn main() {
    assert_eq!(orders::NAME, "orders");
    programs::print();
}
