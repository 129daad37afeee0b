//! Two-phase commit as in kraftcheck.ci.bench.systems: sets of managers are bits of a word.
//!
//! `two_phase MANAGERS THREADS` prints the distinct states and the seconds of the search.
//! A message is received once: a second time would change nothing.

use stateright::{Checker, Model, Property};
use std::time::Instant;

#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
struct State {
    prepared: u16,
    committed: u16,
    aborted: u16,
    heard: u16,
    promised: u16,
    manager: u8,
    commit_sent: bool,
    abort_sent: bool,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Step {
    ManagerCommits,
    ManagerAborts,
    ManagerHears(u16),
    Prepares(u16),
    ChoosesToAbort(u16),
    HearsCommit(u16),
    HearsAbort(u16),
}

#[derive(Clone)]
struct TwoPhase {
    managers: u32,
}

impl Model for TwoPhase {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State::default()]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        let undecided = state.manager == 0;
        if undecided && u32::from(state.heard) == (1 << self.managers) - 1 {
            steps.push(Step::ManagerCommits);
        }
        if undecided {
            steps.push(Step::ManagerAborts);
        }
        for one in (0..self.managers).map(|manager| 1u16 << manager) {
            if undecided && state.promised & one != 0 && state.heard & one == 0 {
                steps.push(Step::ManagerHears(one));
            }
            if (state.prepared | state.committed | state.aborted) & one == 0 {
                steps.push(Step::Prepares(one));
                steps.push(Step::ChoosesToAbort(one));
            }
            if state.commit_sent && state.committed & one == 0 {
                steps.push(Step::HearsCommit(one));
            }
            if state.abort_sent && state.aborted & one == 0 {
                steps.push(Step::HearsAbort(one));
            }
        }
    }

    fn next_state(&self, last: &State, step: Step) -> Option<State> {
        let mut state = last.clone();
        match step {
            Step::ManagerCommits => (state.manager, state.commit_sent) = (1, true),
            Step::ManagerAborts => (state.manager, state.abort_sent) = (2, true),
            Step::ManagerHears(one) => state.heard |= one,
            Step::Prepares(one) => (state.prepared, state.promised) = (state.prepared | one, state.promised | one),
            Step::ChoosesToAbort(one) => state.aborted |= one,
            Step::HearsCommit(one) => {
                (state.committed, state.prepared, state.aborted) =
                    (state.committed | one, state.prepared & !one, state.aborted & !one)
            }
            Step::HearsAbort(one) => {
                (state.aborted, state.prepared, state.committed) =
                    (state.aborted | one, state.prepared & !one, state.committed & !one)
            }
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("consistent", |_, state: &State| state.committed == 0 || state.aborted == 0),
            Property::sometimes("never", |_, _: &State| false), // the search ends once every property is decided
        ]
    }
}

fn main() {
    let words: Vec<usize> = std::env::args().skip(1).map(|word| word.parse().expect("MANAGERS THREADS")).collect();
    let start = Instant::now();
    let model = TwoPhase { managers: words[0] as u32 };
    let checker = model.checker().threads(words[1]).spawn_bfs().join();
    assert!(checker.discovery("consistent").is_none());
    println!("states={} seconds={:.3}", checker.unique_state_count(), start.elapsed().as_secs_f64());
}
