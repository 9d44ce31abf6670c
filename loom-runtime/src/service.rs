//! Services: executions that a room wants to be there whenever a program works.
//! Not flows of users: they are in no list of the program's flows, and in no shape file.

use linkme::distributed_slice;

use kernel::Payload;

use crate::{FlowDescriptor, Registry, RegistryError};

/// The linked-in rooms that have services.
#[doc(hidden)]
#[distributed_slice]
pub static SERVICES_V1: [fn(&Registry) -> Vec<Result<Service, RegistryError>>];

/// An execution that every worker of the program sees to, under a fixed id: started if it does not exist, and told of
/// the program if it does.
#[derive(Clone, Debug)]
pub struct Service {
    /// Its flow, under a name that no flow of a user's can have. Whoever lacks it does not take the execution up.
    pub flow: FlowDescriptor,
    /// The execution's id.
    pub execution: String,
    /// The input that it is started with.
    pub input: Payload,
    /// What it is told by each worker that begins, if it exists: a topic and a message.
    pub told: (&'static str, Payload),
}
