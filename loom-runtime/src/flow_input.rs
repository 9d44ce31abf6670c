//! The input of a flow, as a log holds it: of the version of today, or of an older one.
//! Not what is done with it: the flow gets it, and the log is left as it is.

use std::any::type_name;

use kernel::{Fault, ParkReport, Payload};

use crate::{Flow, InputVersions, upcaster::Chain};

/// Reads the recorded input of `F`, which has this version.
///
/// # Errors
/// It does not read: the report names the version, and the upcaster that is missing or to blame.
pub(crate) fn read<F: Flow>(input: &Payload, version: u32) -> Result<F::Input, ParkReport> {
    let InputVersions { current, oldest, upcasters } = F::DESCRIPTOR.versions;
    let chain = Chain { current, oldest, upcasters };
    chain.read(version, input, F::upcast_input).map_err(|reason| {
        let (flow, ty) = (F::DESCRIPTOR.name, type_name::<F::Input>());
        let versions = if version == current {
            format!("version {version}")
        } else {
            format!("version {version}; this program writes {current}")
        };
        let message = format!("the input of flow `{flow}` ({versions}) does not read as {ty}: {reason}");
        let report = ParkReport::new(Fault::Undecodable, message);
        if version > current {
            return ParkReport { help: "run a build that is at least as new as the one that wrote it".into(), ..report };
        }
        let help = if version == current {
            let next = current + 1;
            format!(
                "make the type read what was written (`#[serde(default)]`, `#[serde(alias = \"…\")]`); or count the version \
                 up and say how: `#[flow(version = {next}, upcast({current} => from_v{current}))]`; and deploy"
            )
        } else {
            format!("mend the upcasters of `#[flow(version = {current}, upcast(..))]` on `{flow}`, and deploy")
        };
        ParkReport { help, ..report }
    })
}
