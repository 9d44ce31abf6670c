//! From a plan that breaks a rule to a small one that breaks it too: fewer executions, faults and disasters, shorter
//! programs.
//! Not the smallest that there is: each change is tried by itself, and kept if the rule is still broken.

use crate::{Dice, Faults, History, Node, Plan, Rule, run};

/// How many worlds are tried at most.
const TRIES: usize = 3_000;

/// How many other seeds are tried, where nothing more can be left out with one.
const SEEDS: usize = 16;

/// A plan that breaks `rule`, as the given one does, and what happens in it; the given one if it does not.
pub fn smallest(plan: &Plan, history: History, rule: Rule) -> (Plan, History) {
    let strikes = history.strikes.clone();
    let mut search = Search { plan: plan.clone(), history, rule, left: TRIES };
    search.attempt(plan.with(strikes));
    loop {
        let before = search.plan.size();
        search.attempt(Plan { delays: false, ..search.plan.clone() });
        search.thin(|plan| Some(&mut plan.executions));
        search.thin(|plan| Some(&mut plan.disasters));
        search.thin(|plan| match &mut plan.faults {
            Faults::Listed(strikes) => Some(strikes),
            Faults::Drawn(_) => None,
        });
        for nth in 0..search.plan.executions.len() {
            search.thin(|plan| Some(&mut plan.executions[nth].acts));
            search.shorten(nth);
        }
        for processes in 1..search.plan.processes {
            let mut fewer = Plan { processes, ..search.plan.clone() };
            fewer.disasters.retain(|disaster| disaster.process < processes);
            if search.attempt(fewer) {
                break;
            }
        }
        let shrank = search.plan.size() < before;
        if search.left == 0 || !(shrank || search.reseed()) {
            return (search.plan, search.history);
        }
    }
}

struct Search {
    plan: Plan,
    history: History,
    rule: Rule,
    left: usize,
}

impl Search {
    /// Keeps a plan if it still breaks the rule.
    fn attempt(&mut self, plan: Plan) -> bool {
        if self.left == 0 || plan == self.plan {
            return false;
        }
        self.left -= 1;
        let history = run(&plan);
        let breaks = history.broken.iter().any(|broken| broken.rule == self.rule);
        if breaks {
            (self.plan, self.history) = (plan, history);
        }
        breaks
    }

    /// Leaves out as much of a list as can be: halves first, then ever less.
    fn thin<T>(&mut self, list: impl Fn(&mut Plan) -> Option<&mut Vec<T>>) {
        let length = |plan: &mut Plan| list(plan).map_or(0, |list| list.len());
        let mut chunk = length(&mut self.plan);
        while chunk > 0 {
            let mut from = 0;
            while from < length(&mut self.plan) {
                let mut fewer = self.plan.clone();
                if let Some(list) = list(&mut fewer) {
                    let until = (from + chunk).min(list.len());
                    list.drain(from..until);
                }
                if !self.attempt(fewer) {
                    from += chunk;
                }
            }
            chunk /= 2;
        }
    }

    /// Leaves an execution out, and lets another seed say when things happen: much may hang on a few milliseconds.
    fn reseed(&mut self) -> bool {
        (0..self.plan.executions.len()).any(|place| {
            (0..SEEDS).any(|nth| {
                let seed = Dice::at(self.plan.seed, &format!("again {nth}")).any() >> 32;
                let mut fewer = Plan { seed, ..self.plan.clone() };
                fewer.executions.remove(place);
                self.attempt(fewer)
            })
        })
    }

    /// Leaves nodes out of a program, or takes what is in them for them.
    fn shorten(&mut self, nth: usize) {
        let mut simpler = self.plan.clone();
        (simpler.executions[nth].program.runs, simpler.executions[nth].program.heeds) = (1, false);
        self.attempt(simpler);
        let mut at = 0;
        while at < self.plan.executions[nth].program.size() {
            let without = |how: fn(Node) -> Vec<Node>| {
                let mut plan = self.plan.clone();
                replace(&mut plan.executions[nth].program.body, &mut at.clone(), how);
                plan
            };
            let gone = without(|_| Vec::new());
            let opened =
                without(|node| match node.bodies().into_iter().flatten().cloned().collect::<Vec<_>>() {
                    inner if inner.is_empty() => vec![node],
                    inner => inner,
                });
            if !self.attempt(gone) && !self.attempt(opened) {
                at += 1;
            }
        }
    }
}

/// Puts others in the place of a node, the `at`th from the front. Answers whether it was found.
fn replace(nodes: &mut Vec<Node>, at: &mut usize, how: fn(Node) -> Vec<Node>) -> bool {
    for place in 0..nodes.len() {
        if *at == 0 {
            let node = nodes.remove(place);
            nodes.splice(place..place, how(node));
            return true;
        }
        *at -= 1;
        if nodes[place].bodies_mut().into_iter().any(|body| replace(body, at, how)) {
            return true;
        }
    }
    false
}
