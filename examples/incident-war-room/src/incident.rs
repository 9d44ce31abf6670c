//! The incident as a flow: look at everything at once, let a person choose a plan, carry it out, measure again.
//! Nothing here knows that it will be forked or simulated.

use loom::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::site::Site;

/// What to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Plan {
    /// Back to the release before.
    RollBack,
    /// More machines.
    ScaleUp,
    /// Start everything again, and hope.
    Restart,
}

/// What a diagnosis found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Where it looked.
    pub place: String,
    /// What it saw.
    pub saw: String,
}

/// How the incident ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// The plan that was carried out.
    pub plan: Plan,
    /// The 99th percentile of response times afterwards, in milliseconds.
    pub p99_ms: u32,
    /// What it costs, in euros a day.
    pub cost: u32,
    /// Who was told.
    pub told: String,
}

/// Look at one place.
#[step(reads, effects("metrics.read"))]
pub async fn diagnose(site: Res<Site>, place: String) -> loom::Result<Finding> {
    site.act(format!("look at {place}"));
    let saw = match place.as_str() {
        "deploys" => "release 41 went out 12 minutes ago",
        "database" => "queries as fast as yesterday",
        _ => "p99 is 2,400 ms, it was 180 ms",
    };
    Ok(Finding { place, saw: saw.into() })
}

/// Carry a plan out. Never twice by itself: a second rollback is another incident.
#[step(at_most_once, effects("site.write"))]
pub async fn carry_out(site: Res<Site>, plan: Plan) -> loom::Result<u32> {
    site.act(format!("carry out {plan:?}"));
    Ok(match plan {
        Plan::RollBack => 0,
        Plan::ScaleUp => 900,
        Plan::Restart => 0,
    })
}

/// Measure response times.
#[step(reads, effects("metrics.read"))]
pub async fn measure(site: Res<Site>, plan: Plan) -> loom::Result<u32> {
    site.act("measure");
    Ok(match plan {
        Plan::RollBack => 190,
        Plan::ScaleUp => 650,
        Plan::Restart => 2_300,
    })
}

/// Tell the people who wait for news.
#[step(effects("mail.send"))]
pub async fn tell(site: Res<Site>, whom: String, p99_ms: u32) -> loom::Result<String> {
    site.act(format!("tell {whom}: {p99_ms} ms"));
    Ok(whom)
}

/// One incident, from the alarm to the report.
#[flow]
pub async fn incident(ctx: Ctx, places: Vec<String>) -> loom::Result<Report> {
    let looks = places.iter().map(|place| ctx.run(diagnose(place.clone())).key(place));
    try_join_all(looks).await?;
    let plan = ctx.suspend::<Plan>("plan").timeout(hours(4)).await?;
    let cost = ctx.run(carry_out(plan)).await?;
    ctx.sleep(millis(200)).await; // until the numbers mean something: minutes, at a real site
    let p99_ms = ctx.run(measure(plan)).await?;
    let whom = if p99_ms > 500 { "the whole company" } else { "the team" };
    let told = ctx.run(tell(whom.into(), p99_ms)).await?;
    Ok(Report { plan, p99_ms, cost, told })
}
