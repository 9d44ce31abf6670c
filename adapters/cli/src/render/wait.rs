//! What an execution waits for, with the commands that end the waiting.
//! Not the finding out: that is [`crate::waits`].

use loom_runtime::Timestamp;

use super::{
    instant::with_distance,
    schema::{hint, sample},
    shell::{answer, command},
    text::shorten,
};
use crate::waits::Wait;

/// One block of lines per wait.
pub(crate) fn waits(waits: &[Wait], execution: &str, program: &str, now: Timestamp) -> String {
    let mut text = String::new();
    let mut line = |line: String| {
        text.push_str(&line);
        text.push('\n');
    };
    for wait in waits {
        match wait {
            Wait::Gate { frame, address, expires_at, schema } => {
                let until = expires_at.map(|at| format!(", until {}", with_distance(at, now)));
                line(format!("gate {frame}{}", until.unwrap_or_default()));
                line(format!("  expects  {}", shorten(&hint(schema), 160)));
                line(format!("  answer   {}", answer(program, address, schema)));
            }
            Wait::Timer { frame, due } => {
                line(format!("timer {frame}, due {}", with_distance(*due, now)));
                line(format!("  a worker goes on with it then: {}", command(&[program, "worker"])));
            }
            Wait::Retry { frame, attempt, due } => {
                line(format!("attempt {} of {frame}, due {}", attempt + 1, with_distance(*due, now)));
                line(format!("  a worker makes it then: {}", command(&[program, "worker"])));
            }
            Wait::Verdict { frame, attempt, reason, schema } => {
                line(format!("a verdict on {frame}: nobody knows how attempt {attempt} ended ({reason})"));
                let result = schema.as_ref().map_or(serde_json::Value::Null, sample).to_string();
                for (label, verdict) in [
                    ("it happened", &["done", "--result", &result][..]),
                    ("it did not ", &["again"][..]),
                    ("give it up ", &["give-up"][..]),
                ] {
                    let words = [&[program, "verdict", execution, frame.as_str()][..], verdict].concat();
                    line(format!("  {label}  {}", command(&words)));
                }
            }
            Wait::Step { frame, attempt } => line(format!("step {frame}, attempt {attempt}")),
        }
    }
    text
}
