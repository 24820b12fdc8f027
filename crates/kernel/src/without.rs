//! Replaces `libbpf` where the feature `bpf`, or Linux, is missing, and refuses everything.

use crate::control::Control;
use crate::error::Error;
use crate::wanted::Wanted;

fn refuse<T>() -> Result<T, Error> {
    Err(Error::Refused("built without libbpf".to_owned()))
}

pub(crate) fn register(_wanted: &Wanted) -> Result<(), Error> {
    refuse()
}

pub(crate) fn unregister(_control: &Control) -> Result<(), Error> {
    refuse()
}

/// Cannot exist.
pub(crate) enum Loaded {}

pub(crate) fn load(_wanted: &Wanted, _name: &str, _record: usize) -> Result<Loaded, Error> {
    refuse()
}

impl Loaded {
    pub(crate) fn take(&mut self, _each: &mut dyn FnMut(&[u8])) {
        match *self {}
    }
}

/// Cannot exist.
pub(crate) enum Attached {}

pub(crate) fn attach_probe(_cookie: u64, _record: usize) -> Result<Attached, Error> {
    refuse()
}

impl Attached {
    pub(crate) fn take(&mut self, _each: &mut dyn FnMut(&[u8])) {
        match *self {}
    }

    pub(crate) fn lost(&self) -> u64 {
        match *self {}
    }
}
