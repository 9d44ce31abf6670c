//! Colours, where a terminal shows them.
//! Nothing is said by colour alone.

use loom_runtime::Status;

/// Colours text, or does not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint(pub(crate) bool);

impl Paint {
    pub(crate) fn status(self, status: Status) -> String {
        let colour = match status {
            Status::Completed => "32",
            Status::Failed | Status::Parked => "31",
            Status::Suspended => "33",
            Status::Running => "36",
            Status::Cancelled => "2",
        };
        self.with(colour, status.name())
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    pub(crate) fn red(self, text: &str) -> String {
        self.with("31", text)
    }

    pub(crate) fn yellow(self, text: &str) -> String {
        self.with("33", text)
    }

    fn with(self, colour: &str, text: &str) -> String {
        if self.0 && !text.is_empty() { format!("\u{1b}[{colour}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}
