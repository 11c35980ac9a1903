//! What a seed makes.

/// A datum of a rank.
pub type Datum = usize;

/// One step, in the global order.
#[derive(Clone, Debug)]
pub enum Step {
    /// A task: overwrites `target` with a mix of `sources`.
    Compute {
        rank: usize,
        sources: Vec<Datum>,
        target: Datum,
        fails: bool,
    },
    /// `elements` of `source` on one rank become those of `target` on another, in a world that both are in. `key`: None: ordered.
    Message {
        world: usize,
        from: usize,
        to: usize,
        source: Datum,
        target: Datum,
        elements: usize,
        key: Option<i64>,
    },
    /// The sum over all ranks of a world, in place.
    Sum { world: usize, datum: Datum },
}

/// A step of one rank that is cancelled before it can start: the number of the step, and the rank.
pub type Cancelled = (usize, usize);

/// What one rank does to the world in the middle of its submissions. How far the others have come then is a matter of
/// time, so what they end with is the oracle's value or a failure.
#[derive(Clone, Copy, Debug)]
pub enum Blow {
    /// It closes, and cancels what has not started.
    Cancel,
    /// It fails the world.
    Fail,
    /// Its MPI_Finalize comes, with the world attached.
    Finalize,
}

pub struct Program {
    pub seed: u64,
    pub ranks: usize,
    /// Who is in each world, in the order of their ranks there. In the first all are.
    pub worlds: Vec<Vec<usize>>,
    pub data: usize,
    /// Elements of a datum.
    pub elements: usize,
    pub steps: Vec<Step>,
    pub cancelled: Vec<Cancelled>,
    /// A rank that submits nothing from this step on, and closes.
    pub leaves: Option<(usize, usize)>,
    /// Ranks that close in the middle, and the steps that each has submitted by then.
    pub closes: Vec<(usize, Vec<usize>)>,
    /// A rank, how many steps it has submitted, and what it does then.
    pub blow: Option<(usize, usize, Blow)>,
    /// Its collectives are.
    pub unguarded: bool,
    /// How far ahead of the global order a rank submits.
    pub window: usize,
    pub tag_limit: u64,
    pub lanes: i32,
    pub delay: u64,
    pub eager: usize,
    pub verify: bool,
    pub level: i32,
}

impl Program {
    pub fn random(seed: u64, ranks: Option<usize>) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let ranks = ranks.unwrap_or(match random.u32(..10) {
            0..6 => random.usize(2..5),
            6..9 => random.usize(5..13),
            _ => random.usize(13..65),
        });
        let data = random.usize(1..6);
        let elements = random.usize(1..40);
        let tag_limit = [1, 4, 64, 64, 1000][random.usize(..5)];
        let count = random.usize(5..if ranks > 20 { 60 } else { 150 });
        let with_failures = random.bool();
        let mut steps = Vec::new();
        let mut cancelled = Vec::new();
        for number in 0..count {
            let rank = random.usize(..ranks);
            let step = match random.u32(..20) {
                0 if ranks <= 12 => Step::Sum {
                    world: 0,
                    datum: random.usize(..data),
                },
                1..9 => {
                    let sources = (0..random.usize(..3)).map(|_| random.usize(..data));
                    Step::Compute {
                        rank,
                        sources: sources.collect(),
                        target: random.usize(..data),
                        fails: with_failures && random.u32(..12) == 0,
                    }
                }
                _ => {
                    let to = random.usize(..ranks);
                    let source = random.usize(..data);
                    let mut target = random.usize(..data);
                    if to == rank && target == source {
                        // The same datum at both ends: neither could go before the other.
                        target = (target + 1) % data;
                        if target == source {
                            continue;
                        }
                    }
                    let whole = random.u32(..3) > 0;
                    Step::Message {
                        world: 0,
                        from: rank,
                        to,
                        source,
                        target,
                        elements: if whole {
                            elements
                        } else {
                            random.usize(..elements + 1)
                        },
                        key: random
                            .bool()
                            .then(|| random.i64(0..tag_limit.min(8) as i64)),
                    }
                }
            };
            if with_failures && random.u32(..25) == 0 {
                let who = match &step {
                    Step::Compute { rank, .. } => *rank,
                    Step::Message { from, to, .. } => [*from, *to][random.usize(..2)],
                    Step::Sum { .. } => random.usize(..ranks),
                };
                cancelled.push((steps.len(), who));
            }
            steps.push(step);
            let _ = number;
        }
        let leaves = (with_failures && random.u32(..6) == 0)
            .then(|| (random.usize(..ranks), random.usize(..steps.len() + 1)));
        Self {
            seed,
            ranks,
            worlds: vec![(0..ranks).collect()],
            data,
            elements,
            cancelled,
            leaves,
            closes: Vec::new(),
            blow: None,
            unguarded: false,
            window: 8,
            tag_limit,
            lanes: random.i32(1..4),
            delay: [0, 3, 30][random.usize(..3)],
            eager: [0, 64, 4096][random.usize(..3)],
            verify: random.u32(..5) == 0,
            level: random.i32(0..4),
            steps,
        }
    }

    /// The same with a blow to the world.
    pub fn disturbed(seed: u64, ranks: Option<usize>) -> Self {
        let mut program = Self::random(seed, ranks);
        let mut random = fastrand::Rng::with_seed(!seed);
        let rank = random.usize(..program.ranks);
        let steps = program.order_of(rank).len();
        let kind = [Blow::Cancel, Blow::Fail, Blow::Finalize][random.usize(..3)];
        program.blow = Some((rank, random.usize(..steps + 1), kind));
        // One in four has no agreements: whatever fails before a collective fails the world.
        program.unguarded = random.u32(..4) == 0;
        program
    }

    /// The same with ranks, but not all, that close in the middle.
    pub fn closed_in_the_middle(seed: u64, ranks: Option<usize>) -> Self {
        Self::random(seed, ranks).closing_in_the_middle()
    }

    /// The same in several worlds, which not all ranks are in; every other one with ranks that close in the middle.
    pub fn across_worlds(seed: u64, ranks: Option<usize>) -> Self {
        let mut program = Self::random(seed, ranks);
        let mut random = fastrand::Rng::with_seed(!seed << 1);
        for _ in 0..random.usize(1..4) {
            let mut members = program.worlds[0].clone();
            random.shuffle(&mut members);
            members.truncate(random.usize(2..program.ranks + 1));
            program.worlds.push(members);
        }
        let worlds = &program.worlds;
        for step in &mut program.steps {
            let chosen = random.usize(..worlds.len());
            match step {
                Step::Message {
                    world, from, to, ..
                } if worlds[chosen].contains(from) && worlds[chosen].contains(to) => {
                    *world = chosen;
                }
                Step::Sum { world, .. } => *world = chosen,
                _ => {}
            }
        }
        program.cancelled.retain(|(number, rank)| {
            let step = &program.steps[*number];
            !matches!(step, Step::Sum { world, .. } if !program.worlds[*world].contains(rank))
        });
        match seed % 2 {
            0 => program,
            _ => program.closing_in_the_middle(),
        }
    }

    fn closing_in_the_middle(mut self) -> Self {
        let program = &mut self;
        let mut random = fastrand::Rng::with_seed(!program.seed);
        if random.bool() {
            program
                .steps
                .retain(|step| !matches!(step, Step::Sum { .. }));
        }
        program.cancelled.clear();
        // They are to declare what waits for what they have not declared.
        program.window = 60;
        program.leaves = None;
        let mut who: Vec<usize> = (0..program.ranks).collect();
        random.shuffle(&mut who);
        who.truncate(random.usize(1..program.ranks));
        let cut = |rank: usize| {
            // Of each datum, key and pair those are the first, so what it leaves out is of no consequence for them.
            let mut order = program.order_of(rank);
            order.truncate(random.usize(..order.len() + 1));
            (rank, order)
        };
        let closes = who.into_iter().map(cut).collect();
        program.closes = closes;
        self
    }

    /// Whether a rank takes part in a step.
    pub fn takes_part(&self, rank: usize, number: usize) -> bool {
        if self.has_left(rank, number) {
            return false;
        }
        if let Some(steps) = self.submitted_by(rank) {
            return steps.contains(&number);
        }
        match &self.steps[number] {
            Step::Compute { rank: of, .. } => *of == rank,
            Step::Message { from, to, .. } => *from == rank || *to == rank,
            Step::Sum { world, .. } => self.worlds[*world].contains(&rank),
        }
    }

    /// What a rank that closes in the middle has submitted by then.
    pub fn submitted_by(&self, rank: usize) -> Option<&[usize]> {
        let mut closes = self.closes.iter();
        let (_, steps) = closes.find(|(who, _)| *who == rank)?;
        Some(steps)
    }

    pub fn has_left(&self, rank: usize, number: usize) -> bool {
        self.leaves
            .is_some_and(|(who, from)| who == rank && number >= from)
    }

    pub fn is_cancelled(&self, number: usize, rank: usize) -> bool {
        self.cancelled.contains(&(number, rank))
    }

    /// The steps of a rank in an order of its own.
    pub fn order_of(&self, rank: usize) -> Vec<usize> {
        if let Some(steps) = self.submitted_by(rank) {
            return steps.to_vec();
        }
        let mut random = fastrand::Rng::with_seed(self.seed ^ (rank as u64 + 1) << 32);
        let mut left: Vec<usize> = (0..self.steps.len())
            .filter(|number| self.takes_part(rank, *number))
            .collect();
        let mut order = Vec::new();
        while !left.is_empty() {
            // Any of the next few that no earlier one comes before.
            let window = left.len().min(self.window);
            let choices: Vec<usize> = (0..window)
                .filter(|at| {
                    left[..*at]
                        .iter()
                        .all(|earlier| !self.is_before(rank, *earlier, left[*at]))
                })
                .collect();
            let at = choices[random.usize(..choices.len())];
            order.push(left.remove(at));
        }
        order
    }

    /// Whether a rank must submit `first` before `second`.
    fn is_before(&self, rank: usize, first: usize, second: usize) -> bool {
        let touched = |number: usize| -> Vec<Datum> {
            match &self.steps[number] {
                Step::Compute {
                    sources, target, ..
                } => sources.iter().copied().chain([*target]).collect(),
                Step::Message {
                    from,
                    to,
                    source,
                    target,
                    ..
                } => {
                    let source = (*from == rank).then_some(*source);
                    let target = (*to == rank).then_some(*target);
                    source.into_iter().chain(target).collect()
                }
                Step::Sum { datum, .. } => vec![*datum],
            }
        };
        let data = touched(second);
        if touched(first).iter().any(|datum| data.contains(datum)) {
            return true;
        }
        match (&self.steps[first], &self.steps[second]) {
            (Step::Sum { world, .. }, Step::Sum { world: world2, .. }) => world == world2,
            (
                Step::Message {
                    world,
                    from,
                    to,
                    key,
                    ..
                },
                Step::Message {
                    world: world2,
                    from: from2,
                    to: to2,
                    key: key2,
                    ..
                },
            ) => (world, from, to, key) == (world2, from2, to2, key2),
            _ => false,
        }
    }
}

/// What a task makes of an element.
pub fn mix(step: usize, element: usize, sum: i64) -> i64 {
    let mixed = (sum as u64)
        .wrapping_add(step as u64 * 1009 + element as u64 + 1)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)) as i64
}
