//! Prints what a program registers, and what `build()` says to it.
//! Links nothing by itself.

/// One line a flow or step, in the registry's order; then the errors, if any.
pub fn print() {
    let registry = loom::Registry::linked();
    for flow in registry.flows() {
        println!("flow {} {}", flow.name, flow.location);
    }
    for step in registry.steps() {
        println!("step {} {}", step.name, step.location);
    }
    match loom::App::builder().build() {
        Ok(_) => println!("built"),
        Err(refused) => refused.errors.iter().for_each(|error| println!("refused: {error}")),
    }
}
