//! `start`: begins an execution, and runs it until it rests.
//! Not a worker: nothing else that is due is taken up.

use loom_runtime::{Lane, kernel::Payload};

use super::{Verbs, flow};
use crate::{
    args::Start,
    error::CliError,
    exit::Exit,
    input,
    render::{
        schema::{hint, sample},
        shell::command,
    },
};

impl Verbs<'_> {
    pub(super) async fn start(&mut self, args: Start) -> Result<Exit, CliError> {
        let flow = flow(self.app.registry(), &args.flow)?;
        let input = match (&args.input, &args.input_file, &args.json_input) {
            (Some(json), _, _) => input::argument("input", json)?,
            (_, Some(path), _) => input::file(self.console, path)?,
            (_, _, Some(json)) => input::word(self.console, "input", json)?,
            _ => Payload::null(),
        };
        let mut start = self.app.start_dynamic(flow.name, input);
        if let Some(id) = args.id {
            start = start.id(id);
        }
        if let Some(priority) = args.priority {
            start = start.priority(priority);
        }
        if let Some(key) = args.lane {
            let lane = Lane::new(key);
            start = start.lane(args.at_most.map_or(lane.clone(), |running| lane.at_most(running)));
        }
        start = if args.detach.set { start.detached() } else { start.alone() };
        let started = start.await.map_err(|error| {
            let misfit = matches!(error, loom_runtime::StartError::Input { .. });
            let error = CliError::from(error);
            if !misfit {
                return error;
            }
            let schema = flow.input.schema().to_value();
            let example =
                command(&[&self.console.program, "start"], &[flow.name, &sample(&schema).to_string()], &[]);
            error.help(format!("it takes {}:\n  {example}", hint(&schema)))
        });
        let id = started?;
        if args.detach.set {
            return self.hand_over(&id, id.as_str()).await;
        }
        Ok(self.run_on(&id).await?.0)
    }
}
