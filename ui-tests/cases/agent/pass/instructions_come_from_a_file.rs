//! What an item says may stand in a file, be put together, or be a block comment.
#![deny(warnings)]

use loom::prelude::*;

/// Answer in one line.
#[doc = include_str!("instructions.md")]
#[agent]
async fn answer(ctx: Ctx, question: String) -> loom::Result<String> {
    ctx.run(look_up(question)).await
}

#[doc = concat!("Looks up ", "a word.")]
#[tool]
async fn look_up(word: String) -> loom::Result<String> {
    Ok(word)
}

/** Spells a word:
 *
 *   - letter by letter
 */
#[tool]
async fn spell(word: String) -> loom::Result<String> {
    Ok(word)
}

fn main() {
    let said = <answer as loom::Agent>::AGENT.instructions;
    assert_eq!(said, "Answer in one line.\nBe kind.");
    assert_eq!(<look_up as loom::Step>::DESCRIPTOR.doc, "Looks up a word.");
    assert_eq!(<spell as loom::Step>::DESCRIPTOR.doc, "Spells a word:\n\n  - letter by letter");
}
