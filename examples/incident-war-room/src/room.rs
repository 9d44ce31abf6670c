//! The war room: simulate three plans from the same point, compare, promote the best, and carry it out.
//! It uses nothing that a program of your own could not.

#![allow(clippy::print_stdout, reason = "the room talks")]

use loom::{
    App, Diff, ExecutionId, Simulation, Status, diff,
    kernel::{Outcome, Payload},
};

use crate::{
    incident::{Plan, Report, incident},
    site::Site,
};

/// What is known of each plan before anything is done: how long answers should take, and what it should cost.
const FORECASTS: [(Plan, u32, u32); 3] =
    [(Plan::RollBack, 200, 0), (Plan::ScaleUp, 600, 900), (Plan::Restart, 2_000, 0)];

/// What of a message matters here.
#[derive(serde::Deserialize)]
struct Message {
    whom: String,
}

/// How it went.
#[derive(Debug)]
pub struct Told {
    /// What each simulated plan came to, in the order of the table.
    pub forecasts: Vec<Report>,
    /// What was done to the site before the winner was carried out.
    pub before: Vec<String>,
    /// What the winner came to.
    pub outcome: Report,
    /// What the branch points to.
    pub live: ExecutionId,
}

/// Runs the room on this program.
///
/// # Errors
/// Whatever goes wrong.
pub async fn run(app: &App, site: &Site) -> loom::Result<Told> {
    println!("1. The alarm rings. Three diagnoses, side by side:");
    let places = ["deploys", "database", "latency"].map(str::to_owned).to_vec();
    let alarm = app.start(incident(places)).id("incident-7").await?;
    alarm.until(&[Status::Suspended]).await?;
    app.set_branch("incident-7/live", alarm.id(), "pager").await?;
    for (frame, known) in &alarm.state().await?.frames {
        if let Some(Outcome::Completed(finding)) = &known.outcome {
            let finding: crate::incident::Finding = finding.decode()?;
            println!("   {frame:<20} {}", finding.saw);
        }
    }
    println!("   It waits at the gate `incident-7/plan`.\n");

    println!("2. Three plans from here, simulated: nothing is done to the site.");
    let before = site.done();
    let mut forecasts = Vec::new();
    for (plan, p99, cost) in FORECASTS {
        let simulation = alarm.simulate().gate("plan", &plan).stub("carry_out", &cost).stub("measure", &p99);
        // Whom it would tell, the flow decides; that it is told, is made up.
        let simulation = simulation.answer(|invoke| {
            let Message { whom } = invoke.input.decode().ok()?;
            Payload::encode(&whom).ok().filter(|_| invoke.step == "tell")
        });
        let simulation = simulation.run().await?;
        forecasts.push((report(&simulation)?, simulation));
    }
    println!("   {:<10} {:>8} {:>9}  tells", "plan", "p99", "a day");
    for (report, _) in &forecasts {
        let Report { plan, p99_ms, cost, told } = report;
        println!("   {:<10} {p99_ms:>5} ms {cost:>7} €  {told}", format!("{plan:?}"));
    }
    forecasts.sort_by_key(|(report, _)| (report.p99_ms, report.cost));
    let [(best, first), (_, second), ..] = &forecasts[..] else { return Err(loom::Error::msg("no plans")) };
    println!("\n   The two best, compared frame by frame:");
    print(&diff(&first.log, &second.log)?);
    println!("   Done to the site meanwhile: {}\n", site.done().len() - before.len());
    let untouched = site.done();

    println!("3. {:?} wins: it is forked for real, and the branch is promoted to it.", best.plan);
    let fork = alarm.fork().id("incident-7-winner").by("ann").stub("plan", &best.plan).await?;
    let row = app.promote("incident-7/live", alarm.id(), &fork, "ann").await?;
    println!("   {} → {}, version {}", row.name, row.execution, row.version);
    let late = app.promote("incident-7/live", alarm.id(), alarm.id(), "bob").await;
    println!("   Bob is late: {}", late.err().map_or_else(String::new, |error| error.to_string()));
    alarm.cancel("incident-7-winner goes on", "ann").await?;
    let outcome = app.handle::<incident>(&fork).result().await?;
    println!("   {outcome:?}\n");

    println!("What was done to the site, all in all:");
    site.done().iter().for_each(|line| println!("   {line}"));
    let live = app.branch("incident-7/live").await?.map_or(fork, |row| row.execution);
    let forecasts = forecasts.into_iter().map(|(report, _)| report).collect();
    Ok(Told { forecasts, before: untouched, outcome, live })
}

fn report(simulation: &Simulation) -> loom::Result<Report> {
    match &simulation.outcome {
        Some(Outcome::Completed(report)) => Ok(report.decode()?),
        _ => {
            let asked: Vec<_> = simulation.asked.iter().map(|asked| asked.frame.as_str()).collect();
            Err(loom::Error::msg(format!("the simulation stopped, and asks for {}", asked.join(", "))))
        }
    }
}

fn print(diff: &Diff) {
    diff.to_string().lines().for_each(|line| println!("   {line}"));
}
