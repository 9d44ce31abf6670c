//! `completions`: a script that teaches a shell this command line.
//! Not dynamic: it knows verbs and options, and no executions.

use clap::CommandFactory as _;

use super::Program;
use crate::{
    args::{Cli, Completions},
    error::CliError,
    exit::Exit,
};

impl Program<'_> {
    pub(super) fn completions(&mut self, args: Completions) -> Result<Exit, CliError> {
        let path = std::path::Path::new(&self.console.program);
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or("app").to_owned();
        let mut script = Vec::new();
        clap_complete::generate(args.shell, &mut Cli::command(), name, &mut script);
        self.console.print(&String::from_utf8_lossy(&script));
        Ok(Exit::Done)
    }
}
