//! What an execution waits for, with the commands that end the waiting.
//! Not the finding out: that is [`crate::waits`].

use loom_runtime::{
    Status, Timestamp,
    ports::ExecutionRow,
    view::{Pending, Wait},
};

use super::{
    instant::with_distance,
    schema::{hint, sample},
    shell::{answer, command, tell},
    text::shorten,
};

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
                line(format!("  a worker goes on with it then: {}", command(&[program, "worker"], &[], &[])));
            }
            Wait::Retry { frame, attempt, due } => {
                line(format!("attempt {} of {frame}, due {}", attempt + 1, with_distance(*due, now)));
                line(format!("  a worker makes it then: {}", command(&[program, "worker"], &[], &[])));
            }
            Wait::Verdict { frame, attempt, reason, schema } => {
                line(format!("a verdict on {frame}: nobody knows how attempt {attempt} ended ({reason})"));
                let result = schema.as_ref().map_or(serde_json::Value::Null, sample).to_string();
                let attempt = attempt.to_string();
                for (label, verdict, options) in [
                    ("it happened", "done", &["--result", &result, "--attempt", &attempt][..]),
                    ("it did not ", "again", &["--attempt", &attempt]),
                    ("give it up ", "give-up", &["--attempt", &attempt]),
                ] {
                    let what = [execution, frame.as_str(), verdict];
                    line(format!("  {label}  {}", command(&[program, "verdict"], &what, options)));
                }
            }
            Wait::Message { frame, topic, schema, reply } => {
                let on = if frame == topic { String::new() } else { format!(", on {topic}") };
                line(format!("message {frame}{on}"));
                if let Some(schema) = schema {
                    let (label, verb) =
                        if reply.is_some() { ("update", "update") } else { ("send  ", "send") };
                    line(format!("  expects  {}", shorten(&hint(schema), 160)));
                    line(format!("  {label}   {}", tell(program, verb, execution, topic, schema)));
                }
                if let Some(reply) = reply {
                    line(format!("  replies  {}", shorten(&hint(reply), 160)));
                }
            }
            Wait::Child { frame, child, status } if *status == Some(Status::Parked.name()) => {
                line(format!("child {frame}, as {child}, which is parked"));
                line(format!("  why      {}", command(&[program, "show"], &[child], &[])));
            }
            Wait::Child { frame, child, .. } => line(format!("child {frame}, as {child}")),
            Wait::Step { frame, attempt } => line(format!("step {frame}, attempt {attempt}")),
        }
    }
    text
}

/// What was said and is not taken in yet, and who takes it in.
pub(crate) fn pending(pending: &[Pending], row: &ExecutionRow, program: &str) -> String {
    let mut text = String::new();
    for said in pending {
        text.push_str(&match said {
            Pending::Answer { frame, by, .. } => {
                format!("gate {frame}: answered by {by}, not taken in yet\n")
            }
            Pending::Cancel { reason, by, .. } => format!("cancelled by {by}, not taken in yet: {reason}\n"),
            Pending::Verdict { frame, by, .. } => {
                format!("a verdict on {frame}: given by {by}, not taken in yet\n")
            }
            Pending::Message { topic, by, expects_reply, .. } => {
                let waits = if *expects_reply { ", who waits for a reply" } else { "" };
                format!("message on {topic}: from {by}{waits}, not taken in yet\n")
            }
            Pending::Retry { .. } => "to be tried again, not taken in yet\n".to_owned(),
        });
    }
    // Whoever parked it had it, and could not take it in.
    let was_left = |said: &Pending| said.helps() && said.at() <= row.updated_at;
    if row.status == Status::Parked && pending.iter().any(was_left) {
        text.push_str(&format!(
            "  it waits for code that comes to where the log ends: deploy that, and a worker takes it in\n  \
             or drop the flow as it is: {}\n",
            command(&[program, "cancel"], &[row.id.as_str()], &["--force"])
        ));
    } else if !pending.is_empty() {
        let when = if pending.iter().any(Pending::helps) { "" } else { ", once the flow waits for it" };
        text.push_str(&format!(
            "  a worker takes it in{when}: {}\n",
            command(&[program, "worker"], &[], &[])
        ));
    }
    text
}
