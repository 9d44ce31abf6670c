//! The futures of messages and updates from outside.
//! Not the way in for them: that is [`crate::App::send`] and [`crate::Handle::update`].

use std::{
    future::Future,
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll},
};

use kernel::{
    FrameId, Message, Payload, Reply, SourceLine,
    machine::{Cx, Op, Settled},
};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};

use super::{
    ctx::{Read, Stage, decoded},
    place::{Place, placed},
};
use crate::Received;

/// `ctx.receive::<T>("topic")`: a future of the next message on a topic that nobody has taken.
///
/// Messages are taken in the order of their coming, also those that came before the wait; of several waits on one
/// topic, the one that was begun first takes the first. A message that does not read as `T` is dead-lettered, with an
/// event of its own, and the wait goes on; but code that is not the log's leaves it, in the inbox, to code that is. The
/// sender of an update is told that it was accepted.
#[must_use = "nothing is received until it is awaited"]
pub struct Receive<T> {
    cx: Cx,
    place: Place,
    topic: &'static str,
    stage: Stage<()>,
    read: Read<T>,
    check: fn(&Payload) -> Result<(), String>,
}

placed!(Receive<T>);

impl<T> Receive<T> {
    pub(super) fn new(cx: Cx, place: Place, topic: &'static str) -> Self
    where
        T: Received,
    {
        Self { cx, place, topic, stage: Stage::Inert(()), read: Payload::decode, check: readable::<T> }
    }

    /// Takes updates: the sender waits for a reply, which the flow gives. Written in place, with its type, the reply is
    /// part of what the flow tells of itself: `ctx.receive::<u32>("deposit").update::<u32>()`.
    pub fn update<R: Serialize + JsonSchema>(self) -> ReceiveUpdate<T, R> {
        ReceiveUpdate { receive: self, reply: PhantomData }
    }

    fn poll_message(&mut self, context: &mut Context<'_>) -> Poll<(T, Message)> {
        let Self { cx, place, topic, stage, read, check } = self;
        let settled = stage
            .poll(context, |()| place.call(cx, topic, Op::Receive { topic: (*topic).into(), check: *check }));
        let Poll::Ready(Settled::Received(message)) = settled else { return Poll::Pending };
        let what = format!("a message on `{topic}`");
        match decoded(cx, place.frame(), &what, read(&message.body)) {
            Some(body) => Poll::Ready((body, message)),
            None => Poll::Pending,
        }
    }
}

fn readable<T: DeserializeOwned>(body: &Payload) -> Result<(), String> {
    body.decode::<T>().map(drop).map_err(|e| e.0)
}

// What `T` has to be, `Ctx::receive` says, once.
impl<T> Future for Receive<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let Poll::Ready((body, message)) = self.poll_message(context) else { return Poll::Pending };
        if let (Some(reply_to), Some(frame)) = (message.reply_to, self.place.frame()) {
            let accepted = Reply::Accepted(Payload::null());
            self.cx.reply(&replied(&frame), self.place.line(), reply_to, accepted);
        }
        Poll::Ready(body)
    }
}

fn replied(frame: &FrameId) -> FrameId {
    FrameId::compose(Some(frame), "reply", &[""; 0])
}

/// `ctx.receive::<T>("topic").update::<R>()`: a future of the next update.
#[must_use = "nothing is received until it is awaited"]
pub struct ReceiveUpdate<T, R> {
    receive: Receive<T>,
    reply: PhantomData<fn(R)>,
}

impl<T, R> ReceiveUpdate<T, R> {
    /// As for every durable call.
    pub fn id(mut self, id: impl Into<std::borrow::Cow<'static, str>>) -> Self {
        self.receive = self.receive.id(id);
        self
    }

    /// As for every durable call.
    pub fn key(mut self, key: impl std::fmt::Display) -> Self {
        self.receive = self.receive.key(key);
        self
    }
}

impl<T, R: Serialize> Future for ReceiveUpdate<T, R> {
    type Output = Update<T, R>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Poll::Ready((value, message)) = self.receive.poll_message(context) else { return Poll::Pending };
        let Some(frame) = self.receive.place.frame() else { return Poll::Pending };
        let (cx, line) = (self.receive.cx.clone(), self.receive.place.line());
        let desk = Desk { cx, frame: replied(&frame), line, reply_to: message.reply_to };
        Poll::Ready(Update { value, by: message.by, desk, reply: PhantomData })
    }
}

/// An update that came in: a value, and somebody who waits for a reply. Replying is the last thing that is done with
/// it; an update that is dropped without a reply is rejected.
#[must_use = "somebody waits for the reply"]
pub struct Update<T, R> {
    /// What is asked for.
    pub value: T,
    /// Who asks.
    pub by: String,
    desk: Desk,
    reply: PhantomData<fn(R)>,
}

struct Desk {
    cx: Cx,
    frame: FrameId,
    line: SourceLine,
    /// Taken with the reply.
    reply_to: Option<String>,
}

impl Desk {
    fn reply(&mut self, reply: Reply) {
        if let Some(reply_to) = self.reply_to.take() {
            self.cx.reply(&self.frame, self.line.clone(), reply_to, reply);
        }
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.reply(Reply::Rejected("the flow did not reply".into()));
    }
}

impl<T, R: Serialize> Update<T, R> {
    /// It was done: the sender gets `reply`.
    pub fn accept(mut self, reply: &R) {
        match Payload::encode(reply) {
            Ok(reply) => self.desk.reply(Reply::Accepted(reply)),
            Err(reason) => {
                let message = format!("a reply cannot be written as JSON: {reason}");
                let report = kernel::ParkReport::new(kernel::Fault::Unserializable, message);
                self.desk.cx.raise(report.frame(&self.desk.frame));
            }
        }
    }

    /// It is refused: the sender gets `reason`.
    pub fn reject(mut self, reason: impl Into<String>) {
        self.desk.reply(Reply::Rejected(reason.into()));
    }
}
