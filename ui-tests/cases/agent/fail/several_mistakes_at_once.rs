//! Every mistake is reported, each at its own place.

use loom::prelude::*;

#[agent(model = "", max_turns = 0, name = "The Agent")]
async fn support(question: String) -> String;

fn main() {
    let _ = support("why?".to_owned());
}
