//! `graph`: the static graph of a flow, as a Mermaid flowchart or as nodes and edges.
//! Not drawn here: whatever shows Mermaid draws it.

use super::{Program, flow};
use crate::{args, error::CliError, exit::Exit, render::graph::Graph};

impl Program<'_> {
    pub(super) fn graph(&mut self, args: args::Graph) -> Result<Exit, CliError> {
        let graph = Graph::of(flow(self.registry, &args.flow)?, self.registry);
        if self.json {
            self.print_json(&graph)?;
        } else {
            self.console.print(&graph.mermaid());
        }
        Ok(Exit::Done)
    }
}
