//! The program, run step by step by hand.

use crate::program::{Program, Step, mix};

/// Value of a datum; None: failed.
pub type Value = Option<Vec<i64>>;

/// What every datum of every rank ends with.
pub fn run(program: &Program) -> Vec<Vec<Value>> {
    let zero: Value = Some(vec![0; program.elements]);
    let mut state = vec![vec![zero; program.data]; program.ranks];
    for (number, step) in program.steps.iter().enumerate() {
        match step {
            Step::Compute {
                rank,
                sources,
                target,
                fails,
            } => {
                if !program.takes_part(*rank, number) {
                    continue;
                }
                let mut sums = Some(vec![0i64; program.elements]);
                for source in sources {
                    sums = match (&sums, &state[*rank][*source]) {
                        (Some(sums), Some(values)) => Some(
                            sums.iter()
                                .zip(values)
                                .map(|(a, b)| a.wrapping_add(*b))
                                .collect(),
                        ),
                        _ => None,
                    };
                }
                let runs = !fails && !program.is_cancelled(number, *rank);
                state[*rank][*target] = sums.filter(|_| runs).map(|sums| {
                    let mixed = |(at, sum): (usize, &i64)| mix(number, at, *sum);
                    sums.iter().enumerate().map(mixed).collect()
                });
            }
            Step::Message {
                from,
                to,
                source,
                target,
                elements,
                ..
            } => {
                if !program.takes_part(*to, number) {
                    continue;
                }
                let sent = program.takes_part(*from, number)
                    && !program.is_cancelled(number, *from)
                    && !program.is_cancelled(number, *to);
                let given = state[*from][*source].clone().filter(|_| sent);
                let whole = *elements == program.elements;
                let kept = state[*to][*target].clone();
                state[*to][*target] = match (given, kept) {
                    (Some(given), _) if whole => Some(given),
                    (Some(given), Some(mut kept)) => {
                        kept[..*elements].copy_from_slice(&given[..*elements]);
                        Some(kept)
                    }
                    _ => None,
                };
            }
            Step::Sum { world, datum } => {
                let members = &program.worlds[*world];
                let all = members.iter().all(|rank| {
                    let rank = *rank;
                    program.takes_part(rank, number) && !program.is_cancelled(number, rank)
                });
                let mut sum = Some(vec![0i64; program.elements]);
                for rank in members {
                    sum = match (&sum, &state[*rank][*datum]) {
                        (Some(sum), Some(values)) if all => Some(
                            sum.iter()
                                .zip(values)
                                .map(|(a, b)| a.wrapping_add(*b))
                                .collect(),
                        ),
                        _ => None,
                    };
                }
                for (rank, data) in state.iter_mut().enumerate() {
                    if program.takes_part(rank, number) {
                        data[*datum] = sum.clone();
                    }
                }
            }
        }
    }
    state
}
