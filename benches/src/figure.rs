//! A figure: median and spread of several runs, beside its peer.
//! Not a statistics library: what people need to judge a number on a noisy machine.

use std::time::{Duration, Instant};

use serde_json::json;

pub(crate) struct Report {
    json: bool,
    pub(crate) runs: usize,
}

/// How a figure is read.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    /// Things a second, from how many there were in a run.
    PerSecond(u64),
    /// Microseconds a thing, from how many there were in a run.
    MicrosEach(u64),
    /// Milliseconds a run.
    Millis,
}

impl Unit {
    fn of(self, took: Duration) -> f64 {
        match self {
            Self::PerSecond(things) => things as f64 / took.as_secs_f64(),
            Self::MicrosEach(things) => took.as_secs_f64() * 1e6 / things as f64,
            Self::Millis => took.as_secs_f64() * 1e3,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::PerSecond(_) => "/s",
            Self::MicrosEach(_) => "µs each",
            Self::Millis => "ms",
        }
    }
}

/// Median, least and most of a figure.
#[derive(Clone, Copy)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    least: f64,
    most: f64,
}

impl Spread {
    /// Of runs that were timed elsewhere.
    pub(crate) fn of(unit: Unit, runs: &[Duration]) -> Self {
        let mut figures: Vec<f64> = runs.iter().map(|took| unit.of(*took)).collect();
        figures.sort_by(f64::total_cmp);
        let at = |index: usize| figures.get(index).copied().unwrap_or_default();
        Self { median: at(figures.len() / 2), least: at(0), most: at(figures.len().saturating_sub(1)) }
    }
}

impl Report {
    pub(crate) fn new(json: bool, runs: usize) -> Self {
        Self { json, runs }
    }

    pub(crate) fn heading(&self, question: &str) {
        if !self.json {
            println!("\n{question}");
        }
    }

    /// Times `run` once to warm up and then `runs` times; what it gives back is how long the measured part took.
    pub(crate) async fn time<F>(&self, unit: Unit, mut run: F) -> loom::Result<Spread>
    where
        F: AsyncFnMut() -> loom::Result<Duration>,
    {
        run().await?;
        let mut runs = Vec::new();
        for _ in 0..self.runs {
            runs.push(run().await?);
        }
        Ok(Spread::of(unit, &runs))
    }

    /// Prints a figure, and how it stands to its peer.
    pub(crate) fn print(
        &self,
        question: &str,
        what: &str,
        unit: Unit,
        figure: Spread,
        peer: Option<(&str, Spread)>,
    ) {
        let Spread { median, least, most } = figure;
        if self.json {
            let peer = peer.map(
                |(name, peer)| json!({"name": name, "median": peer.median, "ratio": median / peer.median}),
            );
            let line = json!({
                "question": question, "what": what, "unit": unit.name(),
                "median": median, "least": least, "most": most, "runs": self.runs, "peer": peer,
            });
            return println!("{line}");
        }
        let spread = format!("{} .. {}", number(least), number(most));
        print!("  {what:<44} {:>10} {:<8} ({spread})", number(median), unit.name());
        match peer {
            Some((name, peer)) => {
                println!("   {:.2} × {name} ({})", median / peer.median, number(peer.median))
            }
            None => println!(),
        }
    }

    /// Prints a number that is not a time.
    pub(crate) fn print_count(&self, question: &str, what: &str, value: f64, unit: &str) {
        if self.json {
            println!("{}", json!({"question": question, "what": what, "unit": unit, "value": value}));
        } else {
            println!("  {what:<44} {:>10} {unit}", number(value));
        }
    }
}

fn number(value: f64) -> String {
    if value >= 1000.0 {
        let digits = format!("{value:.0}");
        let mut grouped = String::new();
        for (i, digit) in digits.chars().enumerate() {
            if i > 0 && (digits.len() - i).is_multiple_of(3) {
                grouped.push(',');
            }
            grouped.push(digit);
        }
        grouped
    } else if value >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// How long a future takes.
pub(crate) async fn timed<T>(work: impl Future<Output = loom::Result<T>>) -> loom::Result<Duration> {
    let start = Instant::now();
    work.await?;
    Ok(start.elapsed())
}
