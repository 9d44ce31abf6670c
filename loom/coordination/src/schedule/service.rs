//! What makes every worker of a program with scheduled flows see to their schedules.
//! Not the schedules: those are executions.

use loom_runtime::{
    __v1::{SERVICES_V1, linkme},
    Flow as _, Registry, RegistryError, Service,
    kernel::Payload,
};

use super::{
    control::{Control, TOPIC},
    cron::Cron,
    keeper::Keeper,
    run_id,
    spec::Spec,
    state::State,
};

#[cfg(not(target_family = "wasm"))]
#[linkme::distributed_slice(SERVICES_V1)]
#[linkme(crate = linkme)]
static SCHEDULES: fn(&Registry) -> Vec<Result<Service, RegistryError>> = services;

fn services(registry: &Registry) -> Vec<Result<Service, RegistryError>> {
    let scheduled = registry.flows().filter_map(|flow| Some((flow, flow.schedule?)));
    let service = |(flow, schedule): (&'static loom_runtime::FlowDescriptor, _)| {
        let spec = Spec::from(schedule);
        let wrong = |reason: String| {
            let (flow, location) = (flow.name, flow.location.to_string());
            RegistryError::Schedule { flow, location, reason }
        };
        Cron::new(&spec.cron, &spec.time_zone).map_err(wrong)?;
        let json = |what: Result<Payload, loom_runtime::kernel::InvalidPayload>| what.map_err(|e| wrong(e.0));
        let execution = run_id::of_keeper(flow.name);
        Ok(Service {
            // One flow for each schedule: a program without this one leaves its keeper alone.
            flow: loom_runtime::FlowDescriptor { name: execution.clone().leak(), ..*Keeper::DESCRIPTOR },
            execution,
            input: json(Payload::encode(&State::new(flow.name, spec.clone())))?,
            told: (TOPIC, json(Payload::encode(&Control::Deployed(spec)))?),
        })
    };
    scheduled.map(service).collect()
}
