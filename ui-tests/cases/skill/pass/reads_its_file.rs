//! The file is relative to this one, and its name to the struct's.
#![deny(warnings, missing_docs, unused_qualifications)]
#![forbid(unsafe_code)]

use loom::Skill;
use loom::prelude::*;

/// When a customer gets money back.
#[skill(file = "refunds.md")]
pub struct RefundRules;

/// The same.
#[skill(file = "../pass/refunds.md", name = "refunds")]
struct Other;

fn main() {
    let skill = RefundRules::DESCRIPTOR;
    assert_eq!((skill.name, skill.description), ("refund-rules", "When a customer gets money back."));
    assert!((skill.instructions)().starts_with("Money"));
    assert_eq!(Other::DESCRIPTOR.name, "refunds");
}
