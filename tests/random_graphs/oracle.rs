//! The sequential model: interprets a program one step at a time and says what must
//! come out. It shares nothing with norn. In order, it runs bodies as early as it can
//! in submission order; at random, it takes any step that is possible, which shows
//! that a program's outcome does not depend on timing.

use std::collections::{BTreeMap, BTreeSet};

use crate::program::{Mode, Op, Program, Token, mix};
use crate::timeline::{Causes, Ending, State, Timelines, Tree};

/// How something ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Never submitted, because its parent's body did not get there.
    Absent,
    Done,
    Failed(i32),
    Propagated,
    Cancelled,
}

impl End {
    pub fn failed(self) -> bool {
        !matches!(self, End::Absent | End::Done)
    }

    /// What an await tells a body.
    pub(crate) fn class(self) -> u64 {
        match self {
            End::Absent | End::Done => 0,
            End::Failed(_) => 1,
            End::Propagated => 2,
            End::Cancelled => 3,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct TaskEnd {
    pub end: End,
    /// First causes that may be named.
    pub causes: Causes,
    /// Not empty: a neighbour of its COMMUTE epoch fails, so it may as well be propagated, from these.
    pub or_from: Causes,
    pub ran: bool,
    /// Hash of all it observed; `None`: not determined.
    pub out: Option<u64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    pub tasks: Vec<TaskEnd>,
    pub promises: Vec<End>,
    /// Causes of a failed group.
    pub groups: Vec<Causes>,
    /// Whether each hold of the main thread was granted, and what it read.
    pub holds: Vec<(bool, Option<u64>)>,
    /// By root and word: contents and causes of its failure.
    pub words: Vec<Vec<(Option<u64>, Causes)>>,
}

/// What is wrong with a program, for the generator to mend.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// The main thread blocks for ever at this operation (script length: at the end).
    Stuck(usize),
    /// Cancelling this task is a matter of timing.
    Cancel(usize),
    /// Overwrites a failed datum from the main thread.
    Overwrite(usize),
    /// A COMMUTE access of this task to this root has a failing neighbour and a dependant.
    Loose(usize, usize),
}

pub enum Order {
    Submission,
    Random(fastrand::Rng),
}

#[derive(Clone, Copy, PartialEq)]
pub enum Stage {
    Absent,
    Waiting,
    Running,
    /// Its body has ended; holds or children have not.
    Ended,
    Complete,
}

/// A task as far as it has got.
pub struct Run {
    pub stage: Stage,
    pub started: bool,
    /// Merged accesses: datum, mode, entry.
    pub places: Vec<(usize, Mode, usize)>,
    pub released: BTreeSet<usize>,
    pub holds: u32,
    pub held: bool,
    pub children: usize,
    pub hash: Option<u64>,
    pub step: usize,
    pub end: End,
    pub causes: Causes,
    pub out: Option<u64>,
    pub ran: bool,
}

impl Run {
    /// Submitted and not complete.
    pub fn live(&self) -> bool {
        !matches!(self.stage, Stage::Absent | Stage::Complete)
    }
}

/// What the foreign thread has still to do.
pub enum Foreign {
    Resolve(usize),
    Unhold(usize, u32),
}

pub struct Oracle<'p> {
    pub program: &'p Program,
    pub order: Order,
    pub lines: Timelines,
    pub tasks: Vec<Run>,
    pub promises: Vec<Option<End>>,
    pub callbacks: BTreeMap<Token, Vec<usize>>,
    /// Open or not, live members, causes, complete.
    pub groups: Vec<(bool, usize, Causes, bool)>,
    pub slots: Vec<usize>,
    pub holds: Vec<(Vec<usize>, bool, Option<u64>)>,
    pub foreign: Vec<Foreign>,
    pub script_at: usize,
    pub acquiring: bool,
    pub check: Vec<usize>,
    /// Entries at which pieces become a whole again.
    pub gates: Vec<usize>,
    pub ready: BTreeSet<(usize, usize)>,
    pub running: BTreeSet<usize>,
    pub sequence: Vec<usize>,
    pub submitted: usize,
    pub families: Vec<Vec<usize>>,
    pub members: Vec<Vec<usize>>,
    pub waiters: BTreeMap<Token, Vec<usize>>,
    pub faults: Vec<Fault>,
    /// A blocking call of the main thread met a body that waits for a later call of the main thread.
    pub entangled: bool,
    /// Leaves this access (task, datum) out of the timelines: a planted mistake.
    pub omit: Option<(usize, usize)>,
    /// Starts this task only when nothing else can be done.
    pub laggard: Option<usize>,
}

impl<'p> Oracle<'p> {
    pub fn new(program: &'p Program, trees: &[Tree], order: Order) -> Self {
        let run = || Run {
            stage: Stage::Absent,
            started: false,
            places: Vec::new(),
            released: BTreeSet::new(),
            holds: 0,
            held: false,
            children: 0,
            hash: None,
            step: 0,
            end: End::Absent,
            causes: Causes::new(),
            out: Some(0),
            ran: false,
        };
        let mut waiters: BTreeMap<Token, Vec<usize>> = BTreeMap::new();
        for (index, task) in program.tasks.iter().enumerate() {
            for token in task.predecessors() {
                waiters.entry(token).or_default().push(index);
            }
        }
        Self {
            program,
            order,
            lines: Timelines::new(program, trees),
            tasks: program.tasks.iter().map(|_| run()).collect(),
            promises: vec![None; program.promises.len()],
            callbacks: BTreeMap::new(),
            groups: vec![(false, 0, Causes::new(), false); program.groups.len()],
            slots: vec![0; program.slots.len()],
            holds: vec![(Vec::new(), false, Some(0)); program.holds.len()],
            foreign: Vec::new(),
            script_at: 0,
            acquiring: false,
            check: Vec::new(),
            gates: Vec::new(),
            ready: BTreeSet::new(),
            running: BTreeSet::new(),
            sequence: vec![0; program.tasks.len()],
            submitted: 0,
            families: program.families(),
            members: program.members(),
            waiters,
            faults: Vec::new(),
            entangled: false,
            omit: None,
            laggard: None,
        }
    }

    /// Runs the program to its end, or says what keeps it from being a fair test.
    pub fn run(&mut self) -> Result<Expected, Vec<Fault>> {
        loop {
            while self.act() {
                self.look();
            }
            if self.script_at == self.program.script.len() {
                break;
            }
            // Noted, and skipped so that one run finds all of them.
            self.faults.push(Fault::Stuck(self.script_at));
            if let (Op::Acquire(hold), true) =
                (&self.program.script[self.script_at], self.acquiring)
            {
                self.acquiring = false;
                self.end_hold(*hold, &Ending::Nothing);
            }
            self.script_at += 1;
            self.look();
        }
        if self.tasks.iter().any(Run::live) {
            self.faults.push(Fault::Stuck(self.script_at));
            return Err(std::mem::take(&mut self.faults));
        }
        for (index, root) in self.program.roots.iter().enumerate() {
            self.lines
                .settle(index, &(0..root.words).collect::<Vec<_>>());
        }
        let expected = self.expected();
        self.judge(&expected);
        if self.faults.is_empty() {
            Ok(expected)
        } else {
            Err(std::mem::take(&mut self.faults))
        }
    }

    /// Takes one step of one agent. False: nobody can.
    pub(crate) fn act(&mut self) -> bool {
        let main = self.main_can();
        let mut choices = [
            !self.foreign.is_empty(),
            !self.running.is_empty(),
            !self.ready.is_empty(),
            main,
        ];
        let late = self
            .laggard
            .map(|task| (self.sequence[task], task))
            .filter(|late| self.ready.contains(late));
        let others = self.ready.len() > 1 || choices[0] || choices[1] || main;
        let Some(late) = late.filter(|_| others) else {
            return self.choose(choices);
        };
        self.ready.remove(&late);
        choices[2] = !self.ready.is_empty();
        let acted = self.choose(choices);
        self.ready.insert(late);
        acted
    }

    pub(crate) fn choose(&mut self, mut choices: [bool; 4]) -> bool {
        let Order::Random(rng) = &mut self.order else {
            return match choices.iter().position(|can| *can) {
                Some(0) => self.act_foreign(0),
                Some(1) => self.step(*self.running.first().expect("not empty")),
                Some(2) => self.start(*self.ready.first().expect("not empty")),
                Some(_) => self.act_main(),
                None => false,
            };
        };
        // Sometimes the main thread runs ahead, sometimes it hardly moves.
        if rng.u8(..) < 128 && choices[..3].contains(&true) {
            choices[3] = false;
        }
        let open: Vec<usize> = (0..4).filter(|choice| choices[*choice]).collect();
        if open.is_empty() {
            return false;
        }
        let pick = rng.usize(..);
        match open[rng.usize(..open.len())] {
            0 => self.act_foreign(pick % self.foreign.len()),
            1 => self.step(
                *self
                    .running
                    .iter()
                    .nth(pick % self.running.len())
                    .expect("in range"),
            ),
            2 => self.start(
                *self
                    .ready
                    .iter()
                    .nth(pick % self.ready.len())
                    .expect("in range"),
            ),
            _ => self.act_main(),
        }
    }

    pub(crate) fn done(&self, token: Token) -> bool {
        match token {
            Token::Zero => true,
            Token::Task(task) => self.tasks[task].stage == Stage::Complete,
            Token::Promise(promise) => self.promises[promise].is_some(),
            Token::Group(group) => self.groups[group].3,
        }
    }

    pub(crate) fn end_of(&self, token: Token) -> End {
        match token {
            Token::Zero => End::Done,
            Token::Task(task) => self.tasks[task].end,
            Token::Promise(promise) => self.promises[promise].unwrap_or(End::Absent),
            Token::Group(group) if self.groups[group].2.is_empty() => End::Done,
            Token::Group(_) => End::Propagated,
        }
    }

    pub(crate) fn causes_of(&self, token: Token) -> Causes {
        match token {
            Token::Zero => Causes::new(),
            Token::Task(task) => self.tasks[task].causes.clone(),
            Token::Promise(promise) if self.promises[promise].is_some_and(End::failed) => {
                Causes::from([token])
            }
            Token::Promise(_) => Causes::new(),
            Token::Group(group) => self.groups[group].2.clone(),
        }
    }

    /// What whoever waited for a token can see of it.
    pub(crate) fn seen(&self, token: Token) -> Option<u64> {
        let family = match token {
            Token::Zero => return Some(0),
            Token::Promise(promise) => {
                let by_hand = matches!(self.promises[promise], Some(End::Done | End::Failed(_)));
                return Some(if by_hand { mix(promise as u64, 5) } else { 0 });
            }
            Token::Task(task) => &self.families[task],
            Token::Group(group) => &self.members[group],
        };
        family.iter().try_fold(0, |sum, member| {
            let run = &self.tasks[*member];
            let sum = mix(sum, run.out?);
            Some(if run.held { mix(sum, 77) } else { sum })
        })
    }

    /// Draws the consequences of what has changed. Where pieces have been joined, a failed one makes the
    /// whole a failed datum.
    pub(crate) fn look(&mut self) {
        self.look_at_tasks();
        while let Some(at) = self.gates.iter().position(|gate| self.lines.ready(*gate)) {
            let gate = self.gates.swap_remove(at);
            self.lines.activate(gate);
            let causes = self.lines.failure(gate);
            let ending = match causes.is_empty() {
                true => Ending::Nothing,
                false => Ending::Failed {
                    causes: &causes,
                    family: true,
                },
            };
            self.end_place(usize::MAX, gate, &ending);
            self.look_at_tasks();
        }
    }

    /// Re-examines the tasks that something has changed for.
    fn look_at_tasks(&mut self) {
        while let Some(task) = self.check.pop() {
            let run = &self.tasks[task];
            match run.stage {
                Stage::Waiting => {
                    let plan = &self.program.tasks[task];
                    if (!plan.held || run.started)
                        && plan.predecessors().all(|token| self.done(token))
                        && run
                            .places
                            .iter()
                            .all(|(_, _, entry)| self.lines.ready(*entry))
                    {
                        self.ready.insert((self.sequence[task], task));
                    }
                }
                // Cancelled: its places are passed when the turn of all of them has come.
                Stage::Complete => {
                    let places = run.places.clone();
                    let over = |entry: &usize| self.lines.entries[*entry].state == State::Done;
                    let turn = |entry: &usize| over(entry) || self.lines.ready(*entry);
                    let open = !places.iter().all(|(_, _, entry)| over(entry));
                    if open && places.iter().all(|(_, _, entry)| turn(entry)) {
                        for (_, mode, entry) in places {
                            self.lines.activate(entry);
                            let unfair =
                                !self.lines.failure(entry).is_empty() && mode.needs_contents();
                            if unfair {
                                self.faults.push(Fault::Cancel(task));
                            }
                            self.end_place(
                                task,
                                entry,
                                &Ending::Failed {
                                    causes: &Causes::from([Token::Task(task)]),
                                    family: false,
                                },
                            );
                        }
                    }
                }
                _ => {}
            }
        }
    }

    pub(crate) fn completed(&mut self, token: Token) {
        self.check
            .extend(self.waiters.get(&token).into_iter().flatten());
        for task in self.waiters.remove(&token).into_iter().flatten() {
            if self.tasks[task].stage == Stage::Running {
                self.running.insert(task);
            }
        }
        for promise in self.callbacks.remove(&token).into_iter().flatten() {
            self.foreign.push(Foreign::Resolve(promise));
        }
    }
}
