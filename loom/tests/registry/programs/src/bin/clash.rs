//! Links two crates that use the same names.

loom::link!(orders, rival);

fn main() {
    programs::print();
}
