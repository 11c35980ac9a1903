//! Control messages: what ranks tell each other beside the data, on a communicator of its own.
//!
//! Each is one short message; those of a pair of ranks arrive in the order they were sent in, which the rules of
//! `balance` and `close` rest on. Numbers are little-endian, texts are cut to what a failure's record holds.

use std::collections::{BTreeSet, HashMap};

use super::rest::{LANES, Rest};
use crate::abi::status::norn_status;

/// Most bytes of one.
pub(crate) const LARGEST: usize = 512;

/// Most wires, ranks, lanes and waves that one names.
pub(crate) const MOST_WIRES: usize = 36;
pub(crate) const MOST_MEMBERS: usize = 40;
pub(crate) const MOST_LANES: usize = 24;
pub(crate) const MOST_RELIES: usize = 20;

/// Numbers of waves.
pub(crate) type Relies = BTreeSet<u64>;

/// A list in as many parts as it takes, one at least; whether each is the last.
pub(crate) fn in_parts<T>(all: &[T], most: usize) -> impl Iterator<Item = (&[T], bool)> {
    let parts = all.len().div_ceil(most).max(1);
    (0..parts).map(move |part| {
        let end = all.len().min((part + 1) * most);
        (&all[part * most..end], part + 1 == parts)
    })
}

/// The whole list, with its last part. Those of one rank come in their order.
pub(crate) fn gather<T, C: Default + Extend<T>>(
    parts: &mut HashMap<i32, C>,
    source: i32,
    part: impl IntoIterator<Item = T>,
    last: bool,
) -> Option<C> {
    parts.entry(source).or_default().extend(part);
    last.then(|| parts.remove(&source)).flatten()
}

/// Where a message travels: tags of one lane between two ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Wire {
    pub(crate) lane: u32,
    pub(crate) tag: i32,
}

/// What failed first, as another rank tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) status: norn_status,
    pub(crate) code: i32,
    pub(crate) rank: i32,
    pub(crate) worker: i32,
    pub(crate) name: String,
    pub(crate) operation: String,
    pub(crate) text: String,
}

/// What a message between two ranks is, in full.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Number of the message on its wire.
    pub(crate) sequence: u64,
    /// Key, or -1 of an ordered edge.
    pub(crate) key: i64,
    /// Number among the edges of this key or order.
    pub(crate) number: u64,
    pub(crate) bytes: u64,
    /// The predefined type of its elements; `UNTYPED` where there is none to compare.
    pub(crate) element: i64,
    pub(crate) name: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Control {
    /// The next message of this wire that is a poison is one because of this.
    Poison(Wire, Record),
    /// A message looks like a poison: was it one?
    Query(Wire),
    /// All poisons sent on this wire before the query have been told.
    Answer(Wire),
    /// No message comes beyond these `messages`, and no collective but where another rank waits in it. `takes`: messages that
    /// this rank has received from that one, or still counts on because it has declared their receives.
    Bye { messages: u64, takes: u64 },
    /// A collective of this lane and number was not entered because of this.
    Declined {
        lane: u32,
        number: u64,
        record: Record,
    },
    /// A rank waits in this call of a lane (`lane`), which is the agreement of this number; 0: none.
    Waits {
        lane: u32,
        call: u64,
        agreement: u64,
    },
    /// A rank makes no call of a lane from this one on, because of this.
    Ends {
        lane: u32,
        call: u64,
        record: Record,
    },
    /// Everything unfinished of the world fails.
    Fail(Record),
    /// A rank closes and cancels: it receives nothing more, and what it has sent counts for nothing.
    Quit,
    /// The last word of a rank.
    Fin,
    /// How a rank rests, or that it does not; `wave`: what it answers, 0 of itself.
    Rest { wave: u64, rest: Option<Rest> },
    /// Does the rank still rest?
    Confirm { wave: u64 },
    /// All ranks rest, and nothing is on its way. `by_tags`: on some rank ready messages wait behind others of their tag.
    Rested { by_tags: bool },
    /// All ranks rest: each is to ask those it waits for.
    Ask,
    /// A rank waits for this one, at rest.
    Asks,
    /// To who asks: whether this rank rests, how many messages it has sent there, and on which wires it has declared some that
    /// are not. `last`: no further part of this list follows.
    Answers {
        rests: bool,
        sent: u64,
        wires: Vec<Wire>,
        last: bool,
    },
    /// To rank 0: all have answered, and something has ended by it or may yet, or not.
    Asked { any: bool },
    /// All ranks rest, and not all that was sent has been received: what no receive is posted for is taken in and kept.
    TakeIn,
    /// A rank that closes or is sealed has rested for a while, has sent this one `sent` messages, and has made so many calls on each
    /// of the first lanes. In this epoch of its own it sends nothing more and makes no call.
    Still {
        epoch: u64,
        sent: u64,
        calls: [u64; LANES],
    },
    /// These ranks, each in its epoch, are supposed not to go on; beside those named in the same wave before. None: nothing is.
    Suppose { wave: u64, members: Vec<(i32, u64)> },
    /// Under the supposition of that leader and wave, and of these waves of other worlds, nothing comes on these wires (none:
    /// on any) beyond the `sent` messages of this rank.
    Blocked {
        leader: i32,
        wave: u64,
        sent: u64,
        wires: Vec<Wire>,
        relies: Relies,
    },
    /// As `Blocked`: on these lanes this rank makes no more than so many calls.
    Frozen {
        leader: i32,
        wave: u64,
        lanes: Vec<(u32, u64)>,
        relies: Relies,
    },
    /// To the leader: under its supposition, and these waves of other worlds, this rank, one of those that it has named, does not go
    /// on; or it may, after all. `last`: no further part of this list follows.
    Stuck {
        wave: u64,
        is_stuck: bool,
        relies: Relies,
        last: bool,
    },
    /// All that were named in this wave of some world are stuck under it and these others. A later version replaces it.
    /// `last`: no further part of this list follows.
    Fact {
        wave: u64,
        version: u64,
        relies: Relies,
        last: bool,
    },
    /// To those that were named: they wait for each other. `spares`: what they have declared does not fail yet.
    Conclude { wave: u64, spares: bool },
    /// A rank that stands still waits, by way of others, for what it would send itself: nothing comes, except on the wires of
    /// `spares`, where it has declared something. `last`: no further part of this list follows.
    Never {
        leader: i32,
        wave: u64,
        epoch: u64,
        spares: Vec<Wire>,
        last: bool,
    },
    /// To who said `Never`: it was heard, and has ended receives, or not.
    Cut { leader: i32, wave: u64, any: bool },
    /// To the leader: all have heard this rank's `Never`, and something has ended by it, or not.
    AllCut { wave: u64, any: bool },
    /// Verify mode: what the next message of this wire is.
    Declared(Wire, Identity),
}

impl Control {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut writer = Writer(Vec::with_capacity(64));
        match self {
            Self::Poison(wire, record) => writer.u32(1).wire(wire).record(record),
            Self::Query(wire) => writer.u32(2).wire(wire),
            Self::Answer(wire) => writer.u32(3).wire(wire),
            Self::Bye { messages, takes } => writer.u32(4).u64(*messages).u64(*takes),
            Self::Declined {
                lane,
                number,
                record,
            } => writer.u32(5).u32(*lane).u64(*number).record(record),
            Self::Waits {
                lane,
                call,
                agreement,
            } => writer.u32(6).u32(*lane).u64(*call).u64(*agreement),
            Self::Ends { lane, call, record } => {
                writer.u32(15).u32(*lane).u64(*call).record(record)
            }
            Self::Fail(record) => writer.u32(7).record(record),
            Self::Fin => writer.u32(9),
            Self::Quit => writer.u32(13),
            Self::TakeIn => writer.u32(14),
            Self::Ask => writer.u32(26),
            Self::Asks => writer.u32(27),
            Self::Answers {
                rests,
                sent,
                wires,
                last,
            } => writer
                .u32(28)
                .u32(u32::from(*rests))
                .u64(*sent)
                .wires(wires)
                .u32(u32::from(*last)),
            Self::Asked { any } => writer.u32(29).u32(u32::from(*any)),
            Self::Rest { wave, rest } => {
                let known = rest.is_some();
                let rest = rest.unwrap_or(Rest {
                    activity: 0,
                    sent: 0,
                    received: 0,
                    blocked: false,
                    ends: false,
                    lanes: [(0, 0); LANES],
                });
                writer
                    .u32(10)
                    .u64(*wave)
                    .u32(u32::from(known))
                    .u64(rest.activity)
                    .u64(rest.sent)
                    .u64(rest.received)
                    .u32(u32::from(rest.blocked))
                    .u32(u32::from(rest.ends))
                    .pairs(&rest.lanes)
            }
            Self::Confirm { wave } => writer.u32(11).u64(*wave),
            Self::Still { epoch, sent, calls } => {
                writer.u32(16).u64(*epoch).u64(*sent);
                calls
                    .iter()
                    .fold(&mut writer, |writer, made| writer.u64(*made))
            }
            Self::Suppose { wave, members } => {
                writer.u32(20).u64(*wave).u32(members.len() as u32);
                let each = members.iter();
                each.fold(&mut writer, |writer, (rank, epoch)| {
                    writer.u32(*rank as u32).u64(*epoch)
                })
            }
            Self::Blocked {
                leader,
                wave,
                sent,
                wires,
                relies,
            } => writer
                .u32(17)
                .u32(*leader as u32)
                .u64(*wave)
                .u64(*sent)
                .wires(wires)
                .relies(relies),
            Self::Frozen {
                leader,
                wave,
                lanes,
                relies,
            } => {
                writer.u32(21).u32(*leader as u32).u64(*wave);
                writer.u32(lanes.len() as u32);
                for (lane, calls) in lanes {
                    writer.u32(*lane).u64(*calls);
                }
                writer.relies(relies)
            }
            Self::Stuck {
                wave,
                is_stuck,
                relies,
                last,
            } => writer
                .u32(22)
                .u64(*wave)
                .u32(u32::from(*is_stuck))
                .relies(relies)
                .u32(u32::from(*last)),
            Self::Fact {
                wave,
                version,
                relies,
                last,
            } => writer
                .u32(25)
                .u64(*wave)
                .u64(*version)
                .relies(relies)
                .u32(u32::from(*last)),
            Self::Conclude { wave, spares } => writer.u32(23).u64(*wave).u32(u32::from(*spares)),
            Self::Never {
                leader,
                wave,
                epoch,
                spares,
                last,
            } => writer
                .u32(18)
                .u32(*leader as u32)
                .u64(*wave)
                .u64(*epoch)
                .u32(u32::from(*last))
                .wires(spares),
            Self::Cut { leader, wave, any } => writer
                .u32(19)
                .u32(*leader as u32)
                .u64(*wave)
                .u32(u32::from(*any)),
            Self::AllCut { wave, any } => writer.u32(24).u64(*wave).u32(u32::from(*any)),
            Self::Rested { by_tags } => writer.u32(12).u32(u32::from(*by_tags)),
            Self::Declared(wire, identity) => writer
                .u32(8)
                .wire(wire)
                .u64(identity.sequence)
                .u64(identity.key as u64)
                .u64(identity.number)
                .u64(identity.bytes)
                .u64(identity.element as u64)
                .text(&identity.name, 63),
        };
        debug_assert!(writer.0.len() <= LARGEST);
        writer.0
    }

    /// None: not a control message of this version.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        Some(match reader.u32()? {
            1 => Self::Poison(reader.wire()?, reader.record()?),
            2 => Self::Query(reader.wire()?),
            3 => Self::Answer(reader.wire()?),
            4 => Self::Bye {
                messages: reader.u64()?,
                takes: reader.u64()?,
            },
            5 => Self::Declined {
                lane: reader.u32()?,
                number: reader.u64()?,
                record: reader.record()?,
            },
            6 => Self::Waits {
                lane: reader.u32()?,
                call: reader.u64()?,
                agreement: reader.u64()?,
            },
            15 => Self::Ends {
                lane: reader.u32()?,
                call: reader.u64()?,
                record: reader.record()?,
            },
            7 => Self::Fail(reader.record()?),
            8 => Self::Declared(
                reader.wire()?,
                Identity {
                    sequence: reader.u64()?,
                    key: reader.u64()? as i64,
                    number: reader.u64()?,
                    bytes: reader.u64()?,
                    element: reader.u64()? as i64,
                    name: reader.text()?,
                },
            ),
            9 => Self::Fin,
            13 => Self::Quit,
            14 => Self::TakeIn,
            26 => Self::Ask,
            27 => Self::Asks,
            28 => Self::Answers {
                rests: reader.u32()? != 0,
                sent: reader.u64()?,
                wires: reader.wires()?,
                last: reader.u32()? != 0,
            },
            29 => Self::Asked {
                any: reader.u32()? != 0,
            },
            10 => {
                let wave = reader.u64()?;
                let known = reader.u32()? != 0;
                let rest = Rest {
                    activity: reader.u64()?,
                    sent: reader.u64()?,
                    received: reader.u64()?,
                    blocked: reader.u32()? != 0,
                    ends: reader.u32()? != 0,
                    lanes: reader.pairs()?,
                };
                Self::Rest {
                    wave,
                    rest: known.then_some(rest),
                }
            }
            11 => Self::Confirm {
                wave: reader.u64()?,
            },
            16 => Self::Still {
                epoch: reader.u64()?,
                sent: reader.u64()?,
                calls: reader.numbers()?,
            },
            20 => Self::Suppose {
                wave: reader.u64()?,
                members: reader.list(|reader| Some((reader.u32()? as i32, reader.u64()?)))?,
            },
            17 => Self::Blocked {
                leader: reader.u32()? as i32,
                wave: reader.u64()?,
                sent: reader.u64()?,
                wires: reader.wires()?,
                relies: reader.relies()?,
            },
            21 => Self::Frozen {
                leader: reader.u32()? as i32,
                wave: reader.u64()?,
                lanes: reader.list(|reader| Some((reader.u32()?, reader.u64()?)))?,
                relies: reader.relies()?,
            },
            22 => Self::Stuck {
                wave: reader.u64()?,
                is_stuck: reader.u32()? != 0,
                relies: reader.relies()?,
                last: reader.u32()? != 0,
            },
            25 => Self::Fact {
                wave: reader.u64()?,
                version: reader.u64()?,
                relies: reader.relies()?,
                last: reader.u32()? != 0,
            },
            23 => Self::Conclude {
                wave: reader.u64()?,
                spares: reader.u32()? != 0,
            },
            18 => Self::Never {
                leader: reader.u32()? as i32,
                wave: reader.u64()?,
                epoch: reader.u64()?,
                last: reader.u32()? != 0,
                spares: reader.wires()?,
            },
            19 => Self::Cut {
                leader: reader.u32()? as i32,
                wave: reader.u64()?,
                any: reader.u32()? != 0,
            },
            24 => Self::AllCut {
                wave: reader.u64()?,
                any: reader.u32()? != 0,
            },
            12 => Self::Rested {
                by_tags: reader.u32()? != 0,
            },
            _ => return None,
        })
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn u32(&mut self, value: u32) -> &mut Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }
    fn u64(&mut self, value: u64) -> &mut Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }
    fn pairs(&mut self, pairs: &[(u64, u64)]) -> &mut Self {
        for (first, second) in pairs {
            self.u64(*first).u64(*second);
        }
        self
    }
    fn wire(&mut self, wire: &Wire) -> &mut Self {
        self.u32(wire.lane).u32(wire.tag as u32)
    }
    fn wires(&mut self, wires: &[Wire]) -> &mut Self {
        self.u32(wires.len() as u32);
        wires.iter().fold(self, Self::wire)
    }
    fn relies(&mut self, relies: &Relies) -> &mut Self {
        self.u32(relies.len() as u32);
        let each = relies.iter();
        each.fold(self, |writer, wave| writer.u64(*wave))
    }
    fn text(&mut self, text: &str, most: usize) -> &mut Self {
        let mut length = text.len().min(most);
        while !text.is_char_boundary(length) {
            length -= 1;
        }
        self.u32(length as u32);
        self.0.extend_from_slice(&text.as_bytes()[..length]);
        self
    }
    fn record(&mut self, record: &Record) -> &mut Self {
        self.u32(record.status as u32)
            .u32(record.code as u32)
            .u32(record.rank as u32)
            .u32(record.worker as u32)
            .text(&record.name, 63)
            .text(&record.operation, 63)
            .text(&record.text, 255)
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }
    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }
    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }
    fn pairs<const N: usize>(&mut self) -> Option<[(u64, u64); N]> {
        let mut pairs = [(0, 0); N];
        for pair in &mut pairs {
            *pair = (self.u64()?, self.u64()?);
        }
        Some(pairs)
    }
    fn wire(&mut self) -> Option<Wire> {
        Some(Wire {
            lane: self.u32()?,
            tag: self.u32()? as i32,
        })
    }
    fn numbers<const N: usize>(&mut self) -> Option<[u64; N]> {
        let mut numbers = [0; N];
        for number in &mut numbers {
            *number = self.u64()?;
        }
        Some(numbers)
    }
    fn list<T>(&mut self, mut one: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.u32()?;
        (0..count).map(|_| one(self)).collect()
    }
    fn wires(&mut self) -> Option<Vec<Wire>> {
        self.list(Self::wire)
    }
    fn relies(&mut self) -> Option<Relies> {
        let count = self.u32()?;
        (0..count).map(|_| self.u64()).collect()
    }
    fn text(&mut self) -> Option<String> {
        let length = self.u32()? as usize;
        let (head, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(String::from_utf8_lossy(head).into_owned())
    }
    fn record(&mut self) -> Option<Record> {
        Some(Record {
            status: self.u32()? as i32,
            code: self.u32()? as i32,
            rank: self.u32()? as i32,
            worker: self.u32()? as i32,
            name: self.text()?,
            operation: self.text()?,
            text: self.text()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        Record {
            status: -60,
            code: 7,
            rank: 3,
            worker: -1,
            name: "potrf".into(),
            operation: "body".into(),
            text: "ü".repeat(300),
        }
    }

    #[test]
    fn parts_make_the_whole() {
        for count in 0..8u64 {
            let all: Vec<u64> = (0..count).collect();
            let mut parts: HashMap<i32, Vec<u64>> = HashMap::new();
            let mut whole = None;
            for (part, last) in in_parts(&all, 3) {
                assert!(whole.is_none() && part.len() <= 3);
                whole = gather(&mut parts, 5, part.iter().copied(), last);
            }
            assert_eq!(whole, Some(all));
        }
    }

    #[test]
    fn every_kind_comes_back_as_it_was_and_fits() {
        let wire = Wire {
            lane: 4,
            tag: 32767,
        };
        let cut = Record {
            text: "ü".repeat(127),
            ..record()
        };
        let identity = Identity {
            sequence: 3,
            key: -1,
            number: 9,
            bytes: 1 << 40,
            element: -1,
            name: "x".into(),
        };
        let relies: Relies = (0..MOST_RELIES as u64).map(|wave| wave << 40).collect();
        for control in [
            Control::Poison(wire, cut.clone()),
            Control::Query(wire),
            Control::Answer(wire),
            Control::Bye {
                messages: 1 << 40,
                takes: 1 << 41,
            },
            Control::Declined {
                lane: 1,
                number: 2,
                record: cut.clone(),
            },
            Control::Waits {
                lane: 1,
                call: 2,
                agreement: 3,
            },
            Control::Ends {
                lane: 1,
                call: 2,
                record: cut.clone(),
            },
            Control::Fail(cut),
            Control::Fin,
            Control::Rest {
                wave: 3,
                rest: Some(Rest {
                    activity: 1,
                    sent: 2,
                    received: 3,
                    blocked: true,
                    ends: true,
                    lanes: core::array::from_fn(|lane| (lane as u64, 7)),
                }),
            },
            Control::Rest {
                wave: 3,
                rest: None,
            },
            Control::Confirm { wave: 7 },
            Control::Rested { by_tags: true },
            Control::Still {
                epoch: 1 << 40,
                sent: 3,
                calls: core::array::from_fn(|lane| lane as u64),
            },
            Control::Suppose {
                wave: 1 << 40,
                members: vec![(5, 1 << 41); MOST_MEMBERS],
            },
            Control::Blocked {
                leader: 5,
                wave: 9,
                sent: 1 << 40,
                wires: vec![wire; MOST_WIRES],
                relies: relies.clone(),
            },
            Control::Frozen {
                leader: 5,
                wave: 9,
                lanes: vec![(3, 1 << 40); MOST_LANES],
                relies: relies.clone(),
            },
            Control::Stuck {
                wave: 9,
                is_stuck: true,
                relies: relies.clone(),
                last: true,
            },
            Control::Fact {
                wave: 9,
                version: 1,
                relies: relies.clone(),
                last: true,
            },
            Control::Conclude {
                wave: 9,
                spares: true,
            },
            Control::Cut {
                leader: 5,
                wave: 9,
                any: true,
            },
            Control::AllCut { wave: 9, any: true },
            Control::Never {
                leader: 5,
                wave: 9,
                epoch: 9,
                spares: vec![wire; MOST_WIRES],
                last: true,
            },
            Control::Quit,
            Control::Ask,
            Control::Asks,
            Control::Answers {
                rests: true,
                sent: 1 << 40,
                wires: vec![wire; MOST_WIRES],
                last: true,
            },
            Control::Asked { any: true },
            Control::TakeIn,
            Control::Declared(wire, identity),
        ] {
            let bytes = control.encode();
            assert!(bytes.len() <= LARGEST);
            assert_eq!(Control::decode(&bytes), Some(control.clone()));
            for length in 0..bytes.len() {
                assert_ne!(Control::decode(&bytes[..length]), Some(control.clone()));
            }
        }
        let long = Control::Fail(record()).encode();
        assert!(long.len() <= LARGEST);
    }
}
