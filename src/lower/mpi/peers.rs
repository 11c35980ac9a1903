//! What is known of the other ranks, and how many of them are how: a pass asks for the numbers, and does not walk a
//! thousand ranks for each.

/// What is known of another rank.
#[derive(Clone, Default)]
pub(crate) struct Peer {
    /// Messages posted to it, poisons included.
    pub(crate) sent: u64,
    /// Messages received from it, whatever became of them.
    pub(crate) received: u64,
    /// It closes and cancels.
    pub(crate) quit: bool,
    /// How many it has sent in all, once it has said so.
    pub(crate) bye: Option<u64>,
    /// How many of those sent to it it takes, said then too.
    takes: u64,
    /// It has said its last word.
    pub(crate) fin: bool,
    /// MPI can reach it no more.
    pub(crate) lost: bool,
    /// Its receives posted here were cancelled, because nothing more comes.
    cut_off: bool,
}

impl Peer {
    /// Whether nothing more comes from it.
    pub(crate) fn is_silent(&self) -> bool {
        self.lost || self.quit || self.bye.is_some_and(|sent| self.received >= sent)
    }

    /// Whether it leaves: it enters collectives only where it is called to.
    pub(crate) fn leaves(&self) -> bool {
        self.quit || self.bye.is_some()
    }

    /// Whether it leaves, and what it has sent has not all come.
    pub(crate) fn is_leaver(&self) -> bool {
        !self.lost
            && match self.bye {
                Some(sent) => self.received < sent,
                None => self.quit,
            }
    }

    /// Whether it receives nothing more. Who leaves still receives what it has declared: its token may have failed, and been
    /// complete, before the message came.
    pub(crate) fn is_deaf(&self) -> bool {
        self.lost || self.quit || (self.bye.is_some() && self.sent >= self.takes)
    }

    /// Whether something may still come from it: it has not left, or not all that it sent is here.
    fn is_awaited(&self) -> bool {
        !self.lost && self.bye.is_none_or(|sent| self.received < sent)
    }

    fn is_unfinished(&self) -> bool {
        !self.lost && !self.fin
    }
}

/// How many are how.
#[derive(Default)]
struct Tally {
    leavers: usize,
    awaited: usize,
    unfinished: usize,
    gone: usize,
    lost: usize,
}

impl Tally {
    fn count(&mut self, peer: &Peer, by: impl Fn(&mut usize)) {
        for (number, holds) in [
            (&mut self.leavers, peer.is_leaver()),
            (&mut self.awaited, peer.is_awaited()),
            (&mut self.unfinished, peer.is_unfinished()),
            (&mut self.gone, peer.bye.is_some()),
            (&mut self.lost, peer.lost),
        ] {
            if holds {
                by(number);
            }
        }
    }
}

/// See the module's text.
pub(crate) struct Peers {
    list: Vec<Peer>,
    tally: Tally,
    sent: u64,
    received: u64,
}

impl core::ops::Index<i32> for Peers {
    type Output = Peer;
    fn index(&self, rank: i32) -> &Peer {
        &self.list[rank as usize]
    }
}

impl Peers {
    pub(crate) fn new(size: i32) -> Self {
        let list = vec![Peer::default(); size as usize];
        let mut tally = Tally::default();
        list.iter()
            .for_each(|peer| tally.count(peer, |number| *number += 1));
        Self {
            list,
            tally,
            sent: 0,
            received: 0,
        }
    }

    pub(crate) fn size(&self) -> i32 {
        self.list.len() as i32
    }

    /// Each with its rank.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (i32, &Peer)> {
        (0..).zip(&self.list)
    }

    // ----- what becomes known -----

    fn change(&mut self, rank: i32, change: impl FnOnce(&mut Peer)) {
        let peer = &mut self.list[rank as usize];
        self.tally.count(peer, |number| *number -= 1);
        change(peer);
        self.tally.count(peer, |number| *number += 1);
    }

    /// A message was posted to it.
    pub(crate) fn sent_to(&mut self, rank: i32) {
        self.sent += 1;
        self.list[rank as usize].sent += 1;
    }

    /// A message has come from it.
    pub(crate) fn received_from(&mut self, rank: i32) {
        self.received += 1;
        let peer = &mut self.list[rank as usize];
        match peer.bye {
            // No number depends on it.
            None => peer.received += 1,
            Some(_) => self.change(rank, |peer| peer.received += 1),
        }
    }

    pub(crate) fn says_bye(&mut self, rank: i32, messages: u64, takes: u64) {
        self.change(rank, |peer| {
            peer.bye = Some(messages);
            peer.takes = takes;
        });
    }

    pub(crate) fn says_fin(&mut self, rank: i32) {
        self.change(rank, |peer| peer.fin = true);
    }

    pub(crate) fn quits(&mut self, rank: i32) {
        self.change(rank, |peer| peer.quit = true);
    }

    pub(crate) fn is_lost(&mut self, rank: i32) {
        self.change(rank, |peer| peer.lost = true);
    }

    /// Whether the receives posted for a rank are to be cancelled now: nothing more comes from it. Answers so once; what
    /// is declared from then on is not posted.
    pub(crate) fn cuts_off(&mut self, rank: i32) -> bool {
        let peer = &mut self.list[rank as usize];
        peer.is_silent() && !core::mem::replace(&mut peer.cut_off, true)
    }

    // ----- how many -----

    /// Messages posted, and received, to and from all.
    pub(crate) fn totals(&self) -> (u64, u64) {
        (self.sent, self.received)
    }

    /// Whether some leave, and what they have sent has not all come.
    pub(crate) fn has_leavers(&self) -> bool {
        self.tally.leavers != 0
    }

    /// Whether something may still come from any.
    pub(crate) fn has_awaited(&self) -> bool {
        self.tally.awaited != 0
    }

    /// Whether some have not said their last word.
    pub(crate) fn has_unfinished(&self) -> bool {
        self.tally.unfinished != 0
    }

    /// Whether all have left.
    pub(crate) fn have_all_left(&self) -> bool {
        self.tally.gone == self.list.len()
    }

    /// How many can be reached no more.
    pub(crate) fn lost(&self) -> usize {
        self.tally.lost
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// The numbers, and the same by a walk.
    fn assert_counted(peers: &Peers) {
        let count = |holds: &dyn Fn(&Peer) -> bool| peers.list.iter().filter(|p| holds(p)).count();
        let tally = &peers.tally;
        assert_eq!(tally.leavers, count(&Peer::is_leaver));
        assert_eq!(tally.awaited, count(&Peer::is_awaited));
        assert_eq!(tally.unfinished, count(&Peer::is_unfinished));
        assert_eq!(tally.gone, count(&|peer| peer.bye.is_some()));
        assert_eq!(tally.lost, count(&|peer| peer.lost));
        let sum = |of: &dyn Fn(&Peer) -> u64| peers.list.iter().map(of).sum::<u64>();
        let totals = (sum(&|peer| peer.sent), sum(&|peer| peer.received));
        assert_eq!(peers.totals(), totals);
    }

    #[test]
    fn the_numbers_are_those_of_a_walk_whatever_happens() {
        let mut random = fastrand::Rng::with_seed(5);
        let mut peers = Peers::new(7);
        for _ in 0..2000 {
            let rank = random.i32(0..7);
            match random.u32(..40) {
                0 => peers.says_bye(rank, random.u64(..60), random.u64(..60)),
                1 => peers.says_fin(rank),
                2 if random.bool() => peers.is_lost(rank),
                3 => peers.quits(rank),
                4..20 => peers.sent_to(rank),
                _ => peers.received_from(rank),
            }
            assert_counted(&peers);
        }
    }

    #[test]
    fn who_leaves_is_deaf_when_it_has_what_it_takes() {
        let mut peers = Peers::new(2);
        peers.sent_to(1);
        peers.says_bye(1, 0, 2);
        assert!(!peers[1].is_deaf(), "it has declared a second receive");
        peers.sent_to(1);
        assert!(peers[1].is_deaf());
    }

    #[test]
    fn who_is_silent_is_cut_off_once() {
        let mut peers = Peers::new(2);
        peers.says_bye(1, 1, 0);
        assert!(!peers.cuts_off(1), "its message has not come");
        peers.received_from(1);
        assert!(peers.cuts_off(1));
        assert!(!peers.cuts_off(1));
    }
}
