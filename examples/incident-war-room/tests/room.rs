//! The room does what it says: nothing while it simulates, one plan afterwards.
//! Not the simulation itself: the runtime's tests hold that.

use incident_war_room::{app, incident::Plan, room, site::Site};
use loom::{ExecutionId, Memory, Status};

#[tokio::test]
async fn one_plan_is_carried_out_and_the_others_only_simulated() -> loom::Result<()> {
    let site = Site::default();
    let app = app(site.clone(), Memory::new())?;
    let told = room::run(&app, &site).await?;
    assert_eq!(told.before.len(), 3, "three looks, and nothing simulated: {:?}", told.before);
    let plans: Vec<_> = told.forecasts.iter().map(|report| (report.plan, report.told.as_str())).collect();
    let everybody = "the whole company";
    assert_eq!(plans, [(Plan::RollBack, "the team"), (Plan::ScaleUp, everybody), (Plan::Restart, everybody)]);
    assert_eq!((told.outcome.plan, told.outcome.p99_ms), (Plan::RollBack, 190));
    let done: Vec<_> = site.done().split_off(3);
    assert_eq!(done, ["carry out RollBack", "measure", "tell the team: 190 ms"]);
    assert_eq!(told.live.as_str(), "incident-7-winner");
    let alarm: ExecutionId = "incident-7".parse()?;
    assert_eq!(app.until(&alarm, &[]).await?, Status::Cancelled);
    Ok(())
}
