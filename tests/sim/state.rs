//! All there is: jobs, communicators, requests, and what happens when.

use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use super::collective::Meeting;
use super::message::{Envelope, Wanted};
use super::table::*;
use super::types::Type;

/// What a job is like.
#[derive(Clone, Debug)]
pub struct Config {
    pub size: usize,
    pub seed: u64,
    /// Most ticks that a message takes; 0: none.
    pub delay: u64,
    /// `NORN_MPI_THREAD_*`.
    pub level: i32,
    pub tag_ub: i32,
    /// Most bytes of a send that ends before it is received.
    pub eager: usize,
    /// Calls that fail, by name, rank and how many of that rank's come before.
    pub faults: Vec<(&'static str, usize, u64)>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            size: 2,
            seed: 1,
            delay: 20,
            level: NORN_MPI_THREAD_MULTIPLE,
            tag_ub: 32767,
            eager: 1024,
            faults: Vec::new(),
        }
    }
}

/// What was counted, of all ranks of a job.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    pub sends: u64,
    pub receives: u64,
    pub collectives: u64,
    pub tests: u64,
    /// Slots tested.
    pub tested: u64,
    pub most_tested: u64,
    pub most_in_flight: u64,
}

/// Most ranks of all jobs together, ever, in one process.
const MOST_OWNERS: usize = 1 << 16;

/// What a rank's thread checks need without the lock.
pub struct Owner {
    /// Thread that initialised MPI.
    pub main: AtomicU64,
    /// Thread inside a call, below MPI_THREAD_MULTIPLE.
    pub inside: AtomicU64,
    /// Calls that threads are inside of; and all that there have been.
    pub calls: AtomicU64,
    pub made: AtomicU64,
    /// Thread that is in MPI_Finalize; and 1 once it has made a call from there.
    pub finalizer: AtomicU64,
    pub leaves: AtomicU64,
    pub level: AtomicU64,
    /// 1: it has called MPI_Finalize.
    pub ended: AtomicU64,
}

pub static OWNERS: [Owner; MOST_OWNERS] = [const {
    Owner {
        main: AtomicU64::new(0),
        inside: AtomicU64::new(0),
        calls: AtomicU64::new(0),
        made: AtomicU64::new(0),
        finalizer: AtomicU64::new(0),
        leaves: AtomicU64::new(0),
        level: AtomicU64::new(3),
        ended: AtomicU64::new(0),
    }
}; MOST_OWNERS];

/// A number of the calling thread, never 0.
pub fn thread_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static NUMBER: u64 = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    NUMBER.with(|number| *number)
}

pub struct JobState {
    pub config: Config,
    pub random: u64,
    pub dead: Vec<bool>,
    /// Ranks whose tests show the ends of sends only.
    pub held: Vec<bool>,
    /// By rank, the tag whose messages to it do not arrive before it cancels a receive; and those messages.
    pub withheld: Vec<Option<i32>>,
    pub late: Vec<(usize, usize, Envelope)>,
    pub first_owner: usize,
    pub counters: Counters,
    /// Calls so far, by name and rank; only of those that may fail.
    pub calls: HashMap<(&'static str, usize), u64>,
    pub in_flight: u64,
}

/// One rank of one communicator.
#[derive(Clone, Copy)]
pub struct Member {
    pub comm: usize,
    pub rank: usize,
}

pub struct Comm {
    pub job: usize,
    pub size: usize,
    /// Its integers, by rank.
    pub handles: Vec<i32>,
    pub freed: usize,
    /// What each rank waits for and has got. Apart, so that a thousand ranks cost each no more than two do.
    pub mailboxes: Vec<Mailbox>,
    /// When the last message of a way and tag arrives: source, destination, tag.
    pub last_arrival: HashMap<(usize, usize, i32), u64>,
    /// Collective calls so far, by rank.
    pub calls: Vec<u64>,
    pub meetings: HashMap<u64, Meeting>,
}

/// Messages of one rank on one communicator.
#[derive(Default)]
pub struct Mailbox {
    /// Receives that name source and tag: by these.
    pub wanted: HashMap<(i32, i32), VecDeque<Wanted>>,
    /// The others.
    pub wanted_any: VecDeque<Wanted>,
    /// Messages that have arrived, by source and tag. In order: what a receive of any source gets is no matter of chance.
    pub arrived: BTreeMap<(i32, i32), VecDeque<Envelope>>,
    /// Requests that have not ended.
    pub pending: usize,
}

/// A slot of a set.
pub enum Slot {
    Free,
    Pending {
        user: u64,
        member: Member,
        is_send: bool,
    },
    Done {
        done: norn_mpi_done,
        is_send: bool,
    },
}

/// A set of requests.
#[derive(Default)]
pub struct Set {
    pub slots: Vec<Slot>,
    /// The last one that became free is used first, as a plug-in does: so ended requests and new ones share slots soon.
    pub free: Vec<i32>,
    pub owner: Option<usize>,
    pub job: usize,
}

/// One request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    pub set: usize,
    pub slot: i32,
}

pub enum Event {
    Arrival {
        comm: usize,
        destination: usize,
        envelope: Envelope,
    },
    End {
        request: Request,
        done: norn_mpi_done,
    },
}

struct Due {
    tick: u64,
    number: u64,
    event: Event,
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}
impl Eq for Due {}
impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        // The heap gives the greatest first: the earliest.
        (other.tick, other.number).cmp(&(self.tick, self.number))
    }
}

#[derive(Default)]
pub struct State {
    pub now: u64,
    events: BinaryHeap<Due>,
    number: u64,
    pub jobs: Vec<JobState>,
    owners: usize,
    pub comms: Vec<Comm>,
    pub members: Vec<Option<Member>>,
    pub sets: Vec<Option<Set>>,
    pub types: Vec<Option<Type>>,
    /// What to call when MPI_Finalize begins on a rank, by the communicator given.
    pub then: HashMap<i32, norn_mpi_then_fn>,
}

// SAFETY: addresses inside are of buffers that belong to pending requests, which live until these have ended.
unsafe impl Send for State {}

static STATE: Mutex<Option<State>> = Mutex::new(None);

/// The state, while it lives.
pub struct Locked(MutexGuard<'static, Option<State>>);

impl std::ops::Deref for Locked {
    type Target = State;
    fn deref(&self) -> &State {
        self.0.as_ref().expect("made when first locked")
    }
}

impl std::ops::DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut State {
        self.0.as_mut().expect("made when first locked")
    }
}

pub fn state() -> Locked {
    let mut guard = STATE
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    guard.get_or_insert_with(State::default);
    Locked(guard)
}

/// What no MPI need survive.
pub fn violation(text: &str) -> ! {
    eprintln!("sim: {text}");
    std::process::abort();
}

impl State {
    pub fn start(&mut self, config: Config) -> (usize, Vec<i32>) {
        let number = self.jobs.len();
        let first_owner = self.owners;
        self.owners += config.size;
        assert!(self.owners <= MOST_OWNERS, "sim: too many ranks in all");
        for owner in &OWNERS[first_owner..self.owners] {
            owner.level.store(config.level as u64, Ordering::SeqCst);
        }
        self.jobs.push(JobState {
            random: config.seed,
            dead: vec![false; config.size],
            held: vec![false; config.size],
            withheld: vec![None; config.size],
            late: Vec::new(),
            first_owner,
            counters: Counters::default(),
            calls: HashMap::new(),
            in_flight: 0,
            config,
        });
        let comm = self.new_comm(number);
        (number, self.comms[comm].handles.clone())
    }

    pub fn new_comm(&mut self, job: usize) -> usize {
        let size = self.jobs[job].config.size;
        let comm = self.comms.len();
        let mut handles = Vec::with_capacity(size);
        for rank in 0..size {
            handles.push(self.members.len() as i32);
            self.members.push(Some(Member { comm, rank }));
        }
        self.comms.push(Comm {
            job,
            size,
            handles,
            freed: 0,
            mailboxes: (0..size).map(|_| Mailbox::default()).collect(),
            last_arrival: HashMap::new(),
            calls: vec![0; size],
            meetings: HashMap::new(),
        });
        comm
    }

    pub fn member(&self, handle: i32) -> Option<Member> {
        *self.members.get(usize::try_from(handle).ok()?)?
    }

    pub fn owner_of(&self, handle: i32) -> usize {
        let member = self.member(handle).expect("a communicator of a rank");
        self.jobs[self.comms[member.comm].job].first_owner + member.rank
    }

    pub fn communicators(&self, job: usize) -> usize {
        self.members
            .iter()
            .flatten()
            .filter(|member| self.comms[member.comm].job == job)
            .count()
    }

    pub fn stuck_communicators(&self, job: usize) -> usize {
        let waits = |member: &&Member| {
            let meetings = &self.comms[member.comm].meetings;
            meetings.values().any(|meeting| meeting.holds(member.rank))
        };
        self.members
            .iter()
            .flatten()
            .filter(|member| self.comms[member.comm].job == job)
            .filter(waits)
            .count()
    }

    pub fn leftovers(&self, job: usize) -> usize {
        let comms = self.comms.iter().filter(|comm| comm.job == job);
        comms
            .flat_map(|comm| &comm.mailboxes)
            .flat_map(|mailbox| mailbox.arrived.values())
            .map(VecDeque::len)
            .sum()
    }

    /// The job is over: drops what it holds.
    pub fn forget(&mut self, job: usize) {
        for comm in self.comms.iter_mut().filter(|comm| comm.job == job) {
            comm.mailboxes.clear();
            comm.meetings.clear();
            comm.last_arrival.clear();
        }
    }

    pub fn random(&mut self, job: usize, below: u64) -> u64 {
        let state = &mut self.jobs[job].random;
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = *state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below.max(1)
    }

    /// A tick in the near future.
    pub fn soon(&mut self, job: usize) -> u64 {
        let delay = self.jobs[job].config.delay;
        self.now + self.random(job, delay + 1)
    }

    pub fn schedule(&mut self, tick: u64, event: Event) {
        self.number += 1;
        self.events.push(Due {
            tick,
            number: self.number,
            event,
        });
    }

    /// Moves time on and lets happen what is due.
    pub fn tick(&mut self) {
        self.now += 1;
        self.happen();
    }

    pub fn happen(&mut self) {
        while let Some(due) = self.events.peek()
            && due.tick <= self.now
        {
            let Some(due) = self.events.pop() else {
                return;
            };
            match due.event {
                Event::Arrival {
                    comm,
                    destination,
                    envelope,
                } => {
                    let job = self.comms[comm].job;
                    let job = &mut self.jobs[job];
                    if job.withheld[destination] == Some(envelope.tag) {
                        job.late.push((comm, destination, envelope));
                    } else {
                        self.arrive(comm, destination, envelope);
                    }
                }
                Event::End { request, done } => self.end(request, done),
            }
        }
    }

    // ----- requests -----

    pub fn new_request(
        &mut self,
        set: usize,
        user: u64,
        member: Member,
        is_send: bool,
    ) -> Option<Request> {
        let job = self.comms[member.comm].job;
        let owner = self.jobs[job].first_owner + member.rank;
        let pending = Slot::Pending {
            user,
            member,
            is_send,
        };
        let found = self.sets.get_mut(set)?.as_mut()?;
        found.owner = Some(owner);
        found.job = job;
        let slot = match found.free.pop() {
            Some(slot) => {
                found.slots[slot as usize] = pending;
                slot
            }
            None => {
                found.slots.push(pending);
                found.slots.len() as i32 - 1
            }
        };
        self.comms[member.comm].mailboxes[member.rank].pending += 1;
        let job = &mut self.jobs[job];
        job.in_flight += 1;
        job.counters.most_in_flight = job.counters.most_in_flight.max(job.in_flight);
        Some(Request { set, slot })
    }

    /// A request ends; its number and what it was for are filled in.
    pub fn end(&mut self, request: Request, mut done: norn_mpi_done) {
        let Some(Some(set)) = self.sets.get_mut(request.set) else {
            return;
        };
        let slot = &mut set.slots[request.slot as usize];
        if let Slot::Pending {
            user,
            member,
            is_send,
        } = slot
        {
            // A job that is over has none.
            if let Some(mailbox) = self.comms[member.comm].mailboxes.get_mut(member.rank) {
                mailbox.pending -= 1;
            }
            done.user = *user;
            done.slot = request.slot;
            *slot = Slot::Done {
                done,
                is_send: *is_send,
            };
        }
    }

    pub fn end_soon(&mut self, job: usize, request: Request, done: norn_mpi_done) {
        let tick = self.soon(job);
        self.schedule(tick, Event::End { request, done });
    }

    /// Whether a call fails by plan.
    pub fn fails(&mut self, job: usize, rank: usize, call: &'static str) -> bool {
        let job = &mut self.jobs[job];
        if !job
            .config
            .faults
            .iter()
            .any(|(name, of, _)| *name == call && *of == rank)
        {
            return false;
        }
        let count = job.calls.entry((call, rank)).or_default();
        let number = *count;
        *count += 1;
        job.config.faults.contains(&(call, rank, number))
    }
}
