//! The messages that came to a run and what was replied, as programs read them.
//! Not what is still in the inbox: that is pending.

use kernel::{Envelope, Event, Message, Payload, Reply, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use super::instant;

/// A message that the owner has taken in.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Received {
    /// On which topic.
    pub topic: String,
    /// By whom.
    pub by: String,
    /// The event that says so.
    pub sequence: u64,
    #[serde(serialize_with = "instant::exactly")]
    #[schemars(with = "String")]
    /// When it was taken in.
    pub at: Timestamp,
    /// What it says.
    #[schemars(with = "serde_json::Value")]
    pub body: Payload,
    /// The frame that took it; absent when nobody did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<String>,
    /// Whether its sender waits for a reply, or has one.
    pub expects_reply: bool,
    /// The reply: `{accepted: value}` or `{rejected: reason}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub reply: Option<Reply>,
    /// Why nobody will ever take it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dead_letter: Option<String>,
    #[serde(skip)]
    reply_to: Option<String>,
}

impl Received {
    fn of(message: &Message, envelope: &Envelope) -> Self {
        let Message { topic, body, by, reply_to } = message.clone();
        let (sequence, at, expects_reply) = (envelope.sequence, envelope.at, reply_to.is_some());
        let (frame, reply, dead_letter) = (None, None, None);
        Self { topic, by, sequence, at, body, frame, expects_reply, reply, dead_letter, reply_to }
    }

    /// Notes what the next event of a log says of messages.
    pub(super) fn note(received: &mut Vec<Self>, envelope: &Envelope) {
        match &envelope.event {
            Event::MessageReceived(e) => {
                let frame = Some(e.frame.to_string());
                received.push(Self { frame, ..Self::of(&e.message, envelope) });
            }
            Event::MessageDeadLettered(e) => {
                let dead_letter = Some(e.reason.clone());
                // One that was taken, and not replied to before the end, is there already.
                let reply_to = e.message.reply_to.as_ref();
                let taken =
                    received.iter_mut().find(|one| reply_to.is_some() && one.reply_to.as_ref() == reply_to);
                match taken {
                    Some(taken) => taken.dead_letter = dead_letter,
                    None => received.push(Self { dead_letter, ..Self::of(&e.message, envelope) }),
                }
            }
            Event::UpdateAnswered(e) => {
                let asked = received.iter_mut().rev().find(|one| one.reply_to.as_ref() == Some(&e.reply_to));
                if let Some(asked) = asked {
                    asked.reply = Some(e.reply.clone());
                }
            }
            Event::ContinuedAsNew(_) => received.clear(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use kernel::{DeadLetter, MessageReceived, Meta};

    use super::*;

    #[test]
    fn one_that_was_taken_and_never_replied_to_is_told_of_once() {
        let message = Message {
            topic: "ask".into(),
            body: Payload::null(),
            by: "ann".into(),
            reply_to: Some("k".into()),
        };
        let (frame, reason) = (kernel::FrameId::parsed("ask#0"), "the execution ended".to_owned());
        let taken = Event::MessageReceived(MessageReceived { frame, message: message.clone() });
        let dead = Event::MessageDeadLettered(DeadLetter { message, reason });
        let mut received = Vec::new();
        for (sequence, event) in [(4, taken), (5, dead)] {
            let execution = "o".parse().expect("an id");
            let (at, meta) = (Timestamp::EPOCH, Meta::default());
            Received::note(&mut received, &Envelope { execution, sequence, at, event, meta });
        }
        let [one] = &received[..] else { panic!("{received:?}") };
        assert_eq!((one.sequence, one.frame.as_deref()), (4, Some("ask#0")));
        assert!(one.expects_reply && one.reply.is_none());
        assert_eq!(one.dead_letter.as_deref(), Some("the execution ended"));
    }
}
