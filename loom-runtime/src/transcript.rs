//! The current text of every frame of a live stream: what a screen shows.
//! Not the outcome of a step: that is in the log, and wins.

use std::collections::BTreeMap;

use kernel::{FrameId, Payload};

use crate::{Chunk, Streamed};

/// Folds [`Streamed`] items to the current text of each frame. Pure: it may be kept on the server or sent along.
///
/// Text is never doubled: a later attempt replaces what an earlier one said, chunks of dead attempts and repeated ones
/// are ignored.
///
/// ```
/// use loom_runtime::{Chunk, FrameId, Streamed, Transcript, kernel::Payload};
/// let frame = FrameId::parsed("draft");
/// let says = |attempt, index, text: &str| {
///     let data = Payload::encode(text).unwrap();
///     Streamed::Chunk(Chunk { frame: frame.clone(), attempt, index, data })
/// };
/// let mut transcript = Transcript::new();
/// for item in [says(1, 0, "Dear"), says(1, 1, " Ad"), says(2, 0, "Dear"), says(1, 2, "a"), says(2, 1, " Ada")] {
///     transcript.fold(&item);
/// }
/// assert_eq!(transcript.text(&frame), Some("Dear Ada"));
/// ```
#[derive(Clone, Debug)]
pub struct Transcript {
    text_of: fn(&Payload) -> String,
    passages: BTreeMap<FrameId, Passage>,
}

/// The text of one frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passage {
    /// What the attempt has said so far.
    pub text: String,
    /// The attempt, from 1.
    pub attempt: u32,
    /// Whether something is missing, or may be: the reader came late, or was slow.
    pub has_gap: bool,
    /// Whether the frame has ended.
    pub ended: bool,
    /// The index of the next chunk.
    next: u64,
    /// Whether the reader has lost something since the last chunk, of this frame or another.
    unsure: bool,
}

impl Default for Transcript {
    fn default() -> Self {
        Self::new()
    }
}

impl Transcript {
    /// Of chunks that are JSON strings; others add nothing.
    pub fn new() -> Self {
        Self::of(|data| data.decode().unwrap_or_default())
    }

    /// Of chunks whose text `text_of` finds.
    pub fn of(text_of: fn(&Payload) -> String) -> Self {
        Self { text_of, passages: BTreeMap::new() }
    }

    /// Takes the next item.
    pub fn fold(&mut self, item: &Streamed) {
        match item {
            Streamed::Chunk(chunk) => self.add(chunk),
            Streamed::Superseded { frame, attempt } => {
                if let Some(passage) = self.passages.get_mut(frame).filter(|known| known.attempt <= *attempt)
                {
                    *passage = Passage { attempt: *attempt, ..Passage::default() };
                }
            }
            Streamed::Ended { frame, .. } => {
                if let Some(passage) = self.passages.get_mut(frame) {
                    passage.ended = true;
                    passage.has_gap |= passage.unsure;
                }
            }
            // The next index shows which frames have lost something; where none comes, it may have been the end.
            Streamed::Lagged { .. } => {
                self.passages.values_mut().filter(|known| !known.ended).for_each(|known| known.unsure = true);
            }
        }
    }

    fn add(&mut self, chunk: &Chunk) {
        let passage = self.passages.entry(chunk.frame.clone()).or_default();
        // After its end a frame speaks again only in another run of the execution.
        if chunk.attempt > passage.attempt || passage.ended {
            *passage = Passage { attempt: chunk.attempt, ..Passage::default() };
        }
        if chunk.attempt < passage.attempt || chunk.index < passage.next {
            return;
        }
        passage.has_gap |= chunk.index > passage.next;
        passage.unsure = false;
        passage.next = chunk.index + 1;
        passage.text.push_str(&(self.text_of)(&chunk.data));
    }

    /// What a frame has said so far.
    pub fn text(&self, frame: &FrameId) -> Option<&str> {
        self.passages.get(frame).map(|passage| passage.text.as_str())
    }

    /// Every frame that has spoken, in order of the ids.
    pub fn passages(&self) -> impl Iterator<Item = (&FrameId, &Passage)> {
        self.passages.iter()
    }
}
