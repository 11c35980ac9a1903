//! Sets of CPUs by the operating system's numbers, of any size.
//!
//! The C library's `cpu_set_t` ends at CPU 1023, which large shared-memory
//! machines pass; this set grows, and asks the kernel with a growing buffer.

use std::fmt;
use std::io;

/// Highest CPU number a list may name. Kernels are built for at most 8192 CPUs;
/// the bound only keeps a typing error from asking for gigabytes.
const MAX_CPU: usize = 65_535;

/// Bits in a word of the set. The kernel's masks are arrays of `unsigned long`,
/// which on Linux has the size of `usize`.
const WORD: usize = usize::BITS as usize;

/// A set of CPUs. The default is the empty set.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct CpuSet {
    /// Bit `cpu % WORD` of word `cpu / WORD`; the last word is never zero, so
    /// that equal sets compare equal.
    words: Vec<usize>,
}

impl CpuSet {
    /// The empty set.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Reads a list such as `0-3,8` (also `0-14:2`, every second one). Blanks
    /// around items are ignored; an empty text is the empty set, as the kernel
    /// writes it. The error is a sentence without the text's origin.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut set = Self::new();
        if text.trim().is_empty() {
            return Ok(set);
        }
        for item in text.split(',') {
            let item = item.trim();
            let (range, step) = match item.split_once(':') {
                Some((range, step)) => (range, number(step, item)?),
                None => (item, 1),
            };
            let (first, last) = match range.split_once('-') {
                Some((first, last)) => (number(first, item)?, number(last, item)?),
                None => {
                    let cpu = number(range, item)?;
                    (cpu, cpu)
                }
            };
            if last < first {
                return Err(format!("\"{item}\" runs backwards"));
            }
            if step == 0 {
                return Err(format!("\"{item}\" has step 0"));
            }
            (first..=last).step_by(step).for_each(|cpu| set.insert(cpu));
        }
        Ok(set)
    }

    /// CPUs the kernel lets a thread run on; 0 is the calling thread, the
    /// process id is the main thread.
    pub(crate) fn of_thread(tid: libc::pid_t) -> io::Result<Self> {
        let mut words = vec![0_usize; 1024 / WORD];
        loop {
            let bytes = size_of_val(words.as_slice());
            // SAFETY: the kernel writes at most `bytes` bytes into the vector,
            // which is aligned and laid out as an array of unsigned long.
            let rc = unsafe { libc::sched_getaffinity(tid, bytes, words.as_mut_ptr().cast()) };
            if rc == 0 {
                let mut set = Self { words };
                set.trim();
                return Ok(set);
            }
            let error = io::Error::last_os_error();
            // EINVAL says that the kernel has more CPUs than the buffer has bits.
            if error.raw_os_error() != Some(libc::EINVAL) || words.len() * WORD > 16 * MAX_CPU {
                return Err(error);
            }
            let longer = words.len() * 2;
            words.clear();
            words.resize(longer, 0);
        }
    }

    /// Binds the calling thread to this set. The kernel cuts the set to the
    /// CPUs of the process's cpuset and refuses one that becomes empty.
    #[cfg_attr(all(target_env = "gnu", not(test)), allow(dead_code))] // thread attributes do it there
    pub(crate) fn apply_to_current_thread(&self) -> io::Result<()> {
        let (words, bytes) = self.raw();
        // SAFETY: `words` has `bytes` readable bytes in the kernel's layout.
        match unsafe { libc::sched_setaffinity(0, bytes, words) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The set as system calls take it: its words and their length in bytes,
    /// valid while the set is neither changed nor dropped.
    pub(crate) fn raw(&self) -> (*const libc::cpu_set_t, usize) {
        (
            self.words.as_ptr().cast(),
            size_of_val(self.words.as_slice()),
        )
    }

    /// Adds one CPU.
    pub(crate) fn insert(&mut self, cpu: usize) {
        let word = cpu / WORD;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (cpu % WORD);
    }

    /// Whether the set holds this CPU.
    pub(crate) fn contains(&self, cpu: usize) -> bool {
        self.words
            .get(cpu / WORD)
            .is_some_and(|word| word & (1 << (cpu % WORD)) != 0)
    }

    /// Number of CPUs.
    pub(crate) fn len(&self) -> usize {
        self.words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// Whether the set has no CPU.
    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The CPUs in rising order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            (0..WORD)
                .filter(move |bit| word & (1 << bit) != 0)
                .map(move |bit| index * WORD + bit)
        })
    }

    /// CPUs of either set.
    pub(crate) fn union(&self, other: &Self) -> Self {
        let (mut long, short) = if self.words.len() >= other.words.len() {
            (self.clone(), other)
        } else {
            (other.clone(), self)
        };
        long.words
            .iter_mut()
            .zip(&short.words)
            .for_each(|(word, more)| *word |= more);
        long
    }

    /// CPUs of both sets.
    pub(crate) fn intersection(&self, other: &Self) -> Self {
        let words = self.words.iter().zip(&other.words).map(|(a, b)| a & b);
        let mut set = Self {
            words: words.collect(),
        };
        set.trim();
        set
    }

    /// CPUs of this set that the other lacks.
    pub(crate) fn difference(&self, other: &Self) -> Self {
        let mut set = self.clone();
        set.words
            .iter_mut()
            .zip(&other.words)
            .for_each(|(word, less)| *word &= !less);
        set.trim();
        set
    }

    /// Restores the rule that the last word is not zero.
    fn trim(&mut self) {
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
    }
}

impl FromIterator<usize> for CpuSet {
    fn from_iter<I: IntoIterator<Item = usize>>(cpus: I) -> Self {
        let mut set = Self::new();
        cpus.into_iter().for_each(|cpu| set.insert(cpu));
        set
    }
}

/// As a list, `0-3,8`; the empty set is the empty text.
impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().peekable();
        let mut comma = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while cpus.next_if_eq(&(last + 1)).is_some() {
                last += 1;
            }
            if first == last {
                write!(f, "{comma}{first}")?;
            } else {
                write!(f, "{comma}{first}-{last}")?;
            }
            comma = ",";
        }
        Ok(())
    }
}

/// As the list, which is what a reader of a failed test wants to see.
impl fmt::Debug for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CpuSet({self})")
    }
}

/// A number of a list; `item` is what the error shows.
fn number(text: &str, item: &str) -> Result<usize, String> {
    let text = text.trim();
    let number = text
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse::<usize>().ok())
        .flatten()
        .ok_or_else(|| format!("\"{item}\" is no CPU number or range"))?;
    if number > MAX_CPU {
        return Err(format!("CPU {number} is beyond {MAX_CPU}"));
    }
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(list: &str) -> CpuSet {
        CpuSet::parse(list).unwrap()
    }

    #[test]
    fn lists_are_read_and_written() {
        for list in ["", "0", "0-3,8", "63-64,1023-1030", "5000"] {
            assert_eq!(set(list).to_string(), list);
        }
        assert_eq!(set(" 8 , 0-3\n"), set("0,1,2,3,8"));
        assert_eq!(set("0-7:2,1-2"), set("0-2,4,6"));
        assert_eq!(set("\n"), CpuSet::new());
    }

    #[test]
    fn wrong_lists_are_named() {
        for (list, culprit) in [
            ("0-", "\"0-\""),
            ("a", "\"a\""),
            ("3-1", "backwards"),
            ("0,,1", "\"\""),
            ("0-7:0", "step 0"),
            ("+1", "\"+1\""),
            ("-1", "\"-1\""),
            ("0-4294967295", "4294967295"),
            ("99999999999999999999999", "99999999999999999999999"),
        ] {
            let error = CpuSet::parse(list).unwrap_err();
            assert!(error.contains(culprit), "{list}: {error}");
        }
    }

    #[test]
    fn sets_combine_and_compare_whatever_their_length() {
        let (low, high) = (set("0-3"), set("2,3,2000"));
        assert_eq!(low.union(&high), set("0-3,2000"));
        assert_eq!(high.union(&low), set("0-3,2000"));
        assert_eq!(low.intersection(&high), set("2-3"));
        assert_eq!(high.difference(&low), set("2000"));
        assert_eq!(high.difference(&set("2000")), set("2-3"));
        assert!(set("2").difference(&high).is_empty());
        assert!(CpuSet::new().difference(&low).is_empty());
        assert_eq!(high.len(), 3);
        assert!(high.contains(2000) && !high.contains(2001) && !low.contains(2000));
        assert_eq!(high.iter().collect::<CpuSet>(), high);
    }

    #[test]
    fn the_kernel_takes_back_the_mask_it_gave() {
        // On a thread of its own, so that other tests keep their mask.
        std::thread::spawn(|| {
            let mask = CpuSet::of_thread(0).unwrap();
            let one = mask.iter().take(1).collect::<CpuSet>();
            one.apply_to_current_thread().unwrap();
            assert_eq!(CpuSet::of_thread(0).unwrap(), one);
            mask.apply_to_current_thread().unwrap();
            assert_eq!(CpuSet::of_thread(0).unwrap(), mask);
            assert!(CpuSet::new().apply_to_current_thread().is_err());
        })
        .join()
        .unwrap();
    }
}
