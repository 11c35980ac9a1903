//! Why a device is given up, and when a driver that refuses an answer is asked again.
//!
//! A status such as 700 is a *fault*: the driver has stopped all work in the context and refuses everything from then on.
//! Any other refusal of a query says nothing about the work, which may go on for long. So its memory is kept, and its
//! stream and its event too, until the driver does answer: the event is asked again in every look, then its stream, and
//! at last the driver is told to wait for it. The operation fails with the first refusal, and ends when its work has.
//!
//! Where the driver refuses to wait as well, the device has gone *silent*. Then it is given up like one with a fault, but
//! nothing that it may still use is ever given back, reused or destroyed, and its context stays retained.

use super::driver::Refused;

/// Refusals that one operation may meet before the driver is told to wait for it.
pub(super) const MOST_REFUSALS: u32 = 8;

/// See the module's text.
#[derive(Clone, Copy, Debug)]
pub(super) enum Loss {
    Fault(Refused),
    Silence(Refused),
}

impl Loss {
    pub(super) fn refused(self) -> Refused {
        match self {
            Loss::Fault(refused) | Loss::Silence(refused) => refused,
        }
    }

    pub(super) fn is_silence(self) -> bool {
        matches!(self, Loss::Silence(_))
    }

    /// What waiting for work has shown: Ok where it has ended.
    pub(super) fn of_wait(waited: Result<(), Refused>) -> Result<(), Self> {
        waited.map_err(|refused| {
            if refused.is_terminal() {
                Loss::Fault(refused)
            } else {
                Loss::Silence(refused)
            }
        })
    }

    /// For records and the log.
    pub(super) fn text(self) -> String {
        let text = self.refused().text();
        match self {
            Loss::Fault(_) => text,
            Loss::Silence(_) => format!(
                "{text}; the driver does not tell what has completed, and what the device may still use is kept"
            ),
        }
    }
}
