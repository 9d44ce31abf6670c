//! The messages that a run has taken in, in a table: who said what on which topic, and the reply.
//! Not those that it has not: that is [`super::wait::pending`].

use loom_runtime::{kernel::Reply, view::Received};

use super::{
    table::Table,
    text::{PAYLOAD, shorten},
};

/// The messages, in the order in which they were taken in.
pub(crate) fn received(received: &[Received]) -> Table {
    let mut table = Table::new(&["TOPIC", "FROM", "EVENT", "SAYS", "REPLY"]);
    for message in received {
        let says = shorten(message.body.as_str(), PAYLOAD);
        table.row([
            message.topic.clone(),
            message.by.clone(),
            message.sequence.to_string(),
            says,
            reply(message),
        ]);
    }
    table
}

fn reply(message: &Received) -> String {
    match (&message.dead_letter, &message.reply) {
        (Some(reason), _) => shorten(&format!("dead letter: {reason}"), 2 * PAYLOAD),
        (None, Some(Reply::Accepted(value))) => shorten(value.as_str(), PAYLOAD),
        (None, Some(Reply::Rejected(reason))) => shorten(&format!("rejected: {reason}"), 2 * PAYLOAD),
        (None, None) if message.expects_reply => "none yet".into(),
        (None, None) => String::new(),
    }
}
