//! Cassettes: what a step has answered once, in a file, to be answered again where the world is not.
//! Not mocks, which are written by hand, and not logs: a cassette knows inputs and outcomes, and no executions.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use loom_runtime::{
    __v1::{Step, StepDescriptor, StepEnv},
    Payload, RetryClass,
    kernel::{Failed, machine::AttemptEnd},
};
use serde::{Deserialize, Serialize};

use crate::{
    Test,
    bodies::{Place, StandIn},
    golden::{blessed, write},
    mock::StepFunction,
    world::World,
};

/// A file of what one step has answered.
#[derive(Serialize, Deserialize)]
struct Cassette {
    /// The step's name.
    step: String,
    /// In the order in which it was called.
    calls: Vec<Call>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Call {
    input: Payload,
    answer: Answer,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Returned(Payload),
    Failed { failure: Failed, retry: Retry },
}

/// [`RetryClass`], in a file.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Retry {
    Transient,
    Permanent,
    AfterMillis(u64),
}

impl Answer {
    /// What is kept of how an attempt ended: what the step itself said.
    fn of(end: &AttemptEnd) -> Option<Self> {
        match end.clone() {
            AttemptEnd::Returned(output) => Some(Self::Returned(output)),
            AttemptEnd::Failed { failure, class } => {
                let retry = match class {
                    RetryClass::Transient => Retry::Transient,
                    RetryClass::Permanent => Retry::Permanent,
                    RetryClass::After(pause) => {
                        Retry::AfterMillis(u64::try_from(pause.as_millis()).unwrap_or(u64::MAX))
                    }
                };
                Some(Self::Failed { failure, retry })
            }
            _ => None,
        }
    }

    fn end(self) -> AttemptEnd {
        match self {
            Self::Returned(output) => AttemptEnd::Returned(output),
            Self::Failed { failure, retry } => {
                let class = match retry {
                    Retry::Transient => RetryClass::Transient,
                    Retry::Permanent => RetryClass::Permanent,
                    Retry::AfterMillis(millis) => RetryClass::After(Duration::from_millis(millis)),
                };
                AttemptEnd::Failed { failure, class }
            }
        }
    }
}

/// A cassette in a recorder, for one round.
struct Recorder {
    file: PathBuf,
    /// As the test names it.
    place: String,
    cassette: Cassette,
    /// Which calls were answered again, and for what.
    used: Vec<bool>,
    /// What has returned once returns the same again: a crash does not move the tape.
    returned: BTreeMap<Place, usize>,
}

impl Recorder {
    /// The answer to a call: the next one to its input; or the last of them, unless the step itself can be asked.
    fn answer(&mut self, place: &Place, input: &Payload) -> Option<Answer> {
        let calls = &self.cassette.calls;
        let known = self.returned.get(place).copied().filter(|nth| calls[*nth].input == *input);
        let mut fitting = (0..calls.len()).filter(|nth| calls[*nth].input == *input);
        let nth = known
            .or_else(|| fitting.clone().find(|nth| !self.used[*nth]))
            .or_else(|| fitting.next_back().filter(|_| !blessed()))?;
        let answer = calls[nth].answer.clone();
        self.used[nth] = true;
        if matches!(answer, Answer::Returned(_)) {
            self.returned.insert(place.clone(), nth);
        }
        Some(answer)
    }

    /// Keeps what the step has answered, in the file too.
    fn keep(&mut self, place: &Place, input: Payload, answer: Answer) -> Result<(), String> {
        if matches!(answer, Answer::Returned(_)) {
            self.returned.insert(place.clone(), self.cassette.calls.len());
        }
        self.cassette.calls.push(Call { input, answer });
        self.used.push(true);
        let text = serde_json::to_string_pretty(&self.cassette).map_err(|error| error.to_string())?;
        write(&self.file, &(text + "\n"))
    }
}

impl Test {
    /// Lets a file answer for a step, `tests/cassettes/page.json` say, relative to the folder of the package. With `BLESS=1` in
    /// the environment, what the file does not know is asked of the step itself, and kept in the file: inputs, outcomes and
    /// failures as they are, so look at them before you commit it. Without it, nothing outside is asked.
    ///
    /// Inputs are compared as JSON. Calls with the same input are answered in the order in which they were made.
    ///
    /// # Panics
    /// When there is no file and nobody says that it is to be written, and when it is that of another step. A call that the
    /// file does not know fails the test, and names both.
    #[track_caller]
    pub fn record<A, F: StepFunction<A>>(&mut self, step: F, path: impl AsRef<Path>) {
        let _ = step;
        let step = <F::Step as Step>::DESCRIPTOR;
        let (file, place) = (self.folder.join(path.as_ref()), path.as_ref().display().to_string());
        let cassette = match open(&file, &place, step.name) {
            Ok(cassette) => cassette,
            Err(reason) => panic!("{reason}"),
        };
        let used = vec![false; cassette.calls.len()];
        let recorder = Recorder { file, place, cassette, used, returned: BTreeMap::new() };
        self.world.bodies().stand_in(step.name, recording(step, recorder));
    }
}

/// The cassette in a file; an empty one where there is none and it is to be recorded.
fn open(file: &Path, place: &str, step: &str) -> Result<Cassette, String> {
    if !file.exists() {
        return match blessed() {
            true => Ok(Cassette { step: step.to_owned(), calls: Vec::new() }),
            false => Err(format!(
                "there is no cassette at {place}: `BLESS=1 cargo test` records it, with what `{step}` answers now"
            )),
        };
    }
    let text =
        fs::read_to_string(file).map_err(|error| format!("the cassette {place} cannot be read: {error}"))?;
    let cassette: Cassette =
        serde_json::from_str(&text).map_err(|error| format!("{place} is no cassette: {error}"))?;
    if cassette.step != step {
        return Err(format!("the cassette {place} is of step `{}`, and not of `{step}`", cassette.step));
    }
    Ok(cassette)
}

fn recording(step: &'static StepDescriptor, recorder: Recorder) -> StandIn {
    let recorder = Arc::new(Mutex::new(recorder));
    Arc::new(move |input, env: StepEnv| {
        let (recorder, world) = (recorder.clone(), env.resource::<World>());
        let fail = move |reason: String| {
            if let Ok(world) = &world {
                world.fail(reason);
            }
        };
        Box::pin(async move {
            let lock = || recorder.lock().unwrap_or_else(PoisonError::into_inner);
            let cx = env.cx();
            let place = (cx.execution().clone(), cx.frame().clone());
            let known = lock().answer(&place, &input);
            if let Some(answer) = known {
                return answer.end();
            }
            if !blessed() {
                let cassette = lock().place.clone();
                let unknown = format!(
                    "the cassette {cassette} does not know what `{}` answers to {}: `BLESS=1 cargo test` records it",
                    step.name,
                    input.as_str()
                );
                fail(unknown.clone());
                return AttemptEnd::Panicked(unknown);
            }
            let end = (step.invoke)(input.clone(), env).await;
            if let Some(answer) = Answer::of(&end)
                && let Err(reason) = lock().keep(&place, input, answer)
            {
                fail(format!("the cassette of `{}` was not written: {reason}", step.name));
            }
            end
        })
    })
}
