//! Tests of flows: virtual time, a crash at every event, mocks of steps, scripted gates, golden logs, cassettes.
//! Not a simulator of stores and networks, and nothing that a program uses: it is for `#[cfg(test)]`.

#[doc(hidden)]
pub mod __v1;
mod bodies;
mod cassette;
mod chance;
mod compare;
mod disturbance;
mod golden;
mod mock;
mod rounds;
mod script;
mod tally;
mod test;
mod timeline;
mod verdict;
mod wire;
mod world;

pub use golden::replay;
pub use mock::{StepFunction, Stub};
pub use tally::Tally;
pub use test::Test;
pub use timeline::{Mark, timeline};

/// Asserts which steps have settled, in the order of their outcomes in the log: those of everything that the test has run,
/// one execution after another.
///
/// Steps are named by their functions; a step in a loop stands there as often as it ran. When it is not so, the panic shows
/// both lists and the log as a timeline.
///
/// ```text
/// assert_steps!(test, [reserve, ship, ship, charge]);
/// ```
#[macro_export]
macro_rules! assert_steps {
    ($test:expr, [$($step:ty),* $(,)?] $(,)?) => {
        $test.assert_steps(&[$(<$step as $crate::__v1::Step>::DESCRIPTOR.name),*])
    };
}
