//! The machine of an execution that came to this worker: one that was just born, or one that has seen its log.
//! Not the reading of that log: that is `rehydrate`.

use std::sync::Arc;

use kernel::{
    Event, Fault, Machine, ParkReport,
    machine::{Config, Input},
};
use tokio::time::Instant;

use super::{Driver, Gone, Nudge, Origin};
use crate::{Ctx, FlowDescriptor, ports::TakeUp, worker::signals};

impl Driver {
    /// A machine that has seen the log and is live; or about to park, where the flow cannot be run.
    pub(super) async fn revive(&mut self, origin: Origin) -> Result<Machine, Gone> {
        let careful = matches!(&origin, Origin::Claimed(claim) if claim.row.takeovers > 0);
        let (mut fault, mut reason) = (None, String::new());
        let (flow, base, next, first) = match origin {
            Origin::Created(first) => {
                let Event::ExecutionStarted(started) = &first.event else {
                    return Err(Gone::Lost("created without a start".into()));
                };
                self.share = Some(self.engine.room.born(started.input.len() as u64));
                (started.flow.clone(), 0, 1, Some(first))
            }
            Origin::Claimed(claim) => {
                let (row, limit) = (claim.row, self.engine.options.takeovers);
                if claim.take_up == TakeUp::TakenOver && row.takeovers > limit {
                    fault = Some(self.poisoned(&row).await);
                }
                signals::why(claim.take_up).clone_into(&mut reason);
                (row.flow, row.base, row.next, None)
            }
        };
        self.flow.clone_from(&flow);
        self.taken_up = next;
        let descriptor = self.engine.registry.flow(&flow);
        if descriptor.is_none() {
            let message = format!("this program has no flow `{flow}`");
            fault = fault.or_else(|| Some(ParkReport::new(Fault::MissingFlow, message)));
        }
        let mut machine = self.machine(descriptor);
        if careful {
            machine.be_careful();
        }
        if let Some(report) = fault {
            self.offer(&mut machine, Input::Fault(report));
        }
        match first {
            Some(first) => {
                self.offer(&mut machine, Input::Recorded(*first));
                self.run = Some(machine.state().run);
                self.signals().started(self.fence);
            }
            None => {
                let begun = Instant::now();
                self.replay(&mut machine, base, next).await?;
                self.run = Some(machine.state().run);
                self.signals().taken_up(self.fence, &reason, next - base.min(next), begun.elapsed());
            }
        }
        let worker = self.engine.worker.clone();
        self.offer(&mut machine, Input::Live { worker, reason });
        Ok(machine)
    }

    /// A machine that has seen nothing; without a flow, for what is only to end.
    fn machine(&self, descriptor: Option<&'static FlowDescriptor>) -> Machine {
        let (limits, nudges, engine) = (self.engine.limits, self.nudges.clone(), self.engine.clone());
        let config = Config {
            execution: self.execution.clone(),
            generation: self.fence,
            code: self.engine.code(&self.flow),
            input_version: descriptor.map_or(0, |flow| flow.versions.current),
            history: limits.history,
            alarm: Arc::new(move || {
                // Without a driver there is no flow that could be touched.
                let _ = nudges.send(Nudge::Alarm);
            }),
        };
        let spawn = Box::new(move |cx, input| -> kernel::machine::FlowFuture {
            let Some(flow) = descriptor else { return Box::pin(std::future::pending()) };
            let (registry, budgets) = (engine.registry.clone(), engine.budgets.clone());
            // Without a cooperative budget: a wide join of recorded steps would use it up and spin.
            Box::pin(tokio::task::unconstrained((flow.run)(
                Ctx::new(cx, limits, flow, registry, budgets, None),
                input,
            )))
        });
        Machine::new(config, spawn)
    }
}
