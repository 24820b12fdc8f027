//! The part that needs libbpf: it opens, edits, loads and attaches objects.

use std::sync::{Arc, Mutex, PoisonError};

use libbpf_rs::query::MapInfoIter;
use libbpf_rs::{
    Link, MapCore, MapFlags, MapHandle, MapType, Object, ObjectBuilder, OpenMapMut, OpenObject,
    PrintLevel, RingBuffer, RingBufferBuilder, set_print,
};

use crate::control::Control;
use crate::error::Error;
use crate::loader::OBJECTS;
use crate::wanted::Wanted;

/// The map with the options is named after its section.
const CONFIG: &str = ".rodata.config";
/// The kernel truncates map names to this many bytes.
const MAP_NAME: usize = 15;
/// `BPF_F_LINK` of linux/bpf.h: the map is registered as long as its link is held.
const BPF_F_LINK: u32 = 1 << 13;

/// The last message of libbpf: the reason for a failure.
static SAID: Mutex<String> = Mutex::new(String::new());

fn listen(_level: PrintLevel, message: String) {
    if let Ok(mut said) = SAID.lock() {
        *said = message.trim().to_owned();
    }
}

fn refused(name: &str, doing: &str, error: &libbpf_rs::Error) -> Error {
    let said = SAID.lock().map(|said| said.clone()).unwrap_or_default();
    let said = if said.is_empty() {
        said
    } else {
        format!(" ({said})")
    };
    Error::Refused(format!("the kernel refuses {doing} {name}: {error}{said}"))
}

fn stale(name: &str) -> Error {
    Error::Refused(format!(
        "the object of {name} does not match this program: run make -C bpf again"
    ))
}

fn open(name: &str) -> Result<OpenObject, Error> {
    set_print(Some((PrintLevel::Warn, listen)));
    // libbpf requires aligned bytes; those of a vector are.
    let object = OBJECTS.iter().find(|(known, _)| *known == name);
    let bytes = object.map(|(_, bytes)| bytes.to_vec()).unwrap_or_default();
    ObjectBuilder::default()
        .open_memory(&bytes)
        .map_err(|error| refused(name, "to open", &error))
}

/// Edits the initial value of the maps that `choose` selects; an error where `change` returns
/// false.
fn edit(
    object: &mut OpenObject,
    name: &str,
    choose: impl Fn(&OpenMapMut<'_>) -> bool,
    change: impl Fn(&mut [u8]) -> bool,
) -> Result<(), Error> {
    for mut map in object.maps_mut() {
        let chosen = choose(&map);
        if let Some(value) = map.initial_value_mut()
            && chosen
            && !change(value)
        {
            return Err(stale(name));
        }
    }
    Ok(())
}

fn is_config(map: &OpenMapMut<'_>) -> bool {
    map.name()
        .to_str()
        .is_some_and(|name| name.ends_with(CONFIG))
}

/// An object of a congestion control with its options written, not yet loaded.
fn prepared(wanted: &Wanted) -> Result<OpenObject, Error> {
    let mut object = open(wanted.control.name)?;
    edit(&mut object, wanted.control.name, is_config, |value| {
        !wanted.control.is_search() || wanted.options.apply(value)
    })?;
    Ok(object)
}

/// Loads an object and registers its congestion control.
fn registered(object: OpenObject, name: &str) -> Result<(Link, Object), Error> {
    let mut object = object
        .load()
        .map_err(|error| refused(name, "to load", &error))?;
    let mut maps = object.maps_mut();
    let map = maps.find(|map| map.map_type() == MapType::StructOps);
    let link = map
        .ok_or_else(|| stale(name))?
        .attach_struct_ops()
        .map_err(|error| refused(name, "to register", &error))?;
    drop(maps);
    Ok((link, object))
}

/// Registers a congestion control until it is unregistered.
pub(crate) fn register(wanted: &Wanted) -> Result<(), Error> {
    let (mut link, _) = registered(prepared(wanted)?, wanted.control.name)?;
    // Dropping the link would unregister it.
    link.disconnect();
    Ok(())
}

/// Unregisters what [`register`] has registered.
pub(crate) fn unregister(control: &Control) -> Result<(), Error> {
    set_print(Some((PrintLevel::Warn, listen)));
    let name = &control.name[..control.name.len().min(MAP_NAME)];
    let maps = MapInfoIter::default()
        .filter(|map| map.ty == MapType::StructOps && map.name.to_str() == Some(name));
    // A map that was unregistered before lingers while sockets use it, and refuses; guests refuse
    // too.
    let mut last = None;
    for map in maps {
        let deleted =
            MapHandle::from_map_id(map.id).and_then(|map| map.delete(&0_u32.to_ne_bytes()));
        match deleted {
            Ok(()) => return Ok(()),
            Err(error) => last = Some(error),
        }
    }
    Err(match last {
        Some(error) => refused(control.name, "to unregister", &error),
        None => Error::Refused(format!(
            "{} is registered, but not by this program: unregister it with the program that did",
            control.name
        )),
    })
}

/// A ring buffer of records of one size.
struct Ring {
    ring: RingBuffer<'static>,
    bytes: Arc<Mutex<Vec<u8>>>,
    size: usize,
}

impl Ring {
    fn new(object: &Object, of: &str, size: usize) -> Result<Self, Error> {
        let fail = |error: libbpf_rs::Error| refused(of, "to read from", &error);
        let bytes: Arc<Mutex<Vec<u8>>> = Arc::default();
        let sink = Arc::clone(&bytes);
        let mut maps = object.maps();
        let map = maps.find(|map| map.map_type() == MapType::RingBuf);
        let map = map.ok_or_else(|| stale(of))?;
        let mut builder = RingBufferBuilder::new();
        builder
            .add(&map, move |record: &[u8]| {
                if let Some(record) = record.get(..size) {
                    let mut sink = sink.lock().unwrap_or_else(PoisonError::into_inner);
                    sink.extend_from_slice(record);
                }
                0
            })
            .map_err(fail)?;
        let ring = builder.build().map_err(fail)?;
        Ok(Self { ring, bytes, size })
    }

    /// Hands over each available record.
    fn take(&mut self, each: &mut dyn FnMut(&[u8])) {
        // Records that are not read now are read the next time.
        let _ = self.ring.consume_raw();
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        for record in bytes.chunks_exact(self.size) {
            each(record);
        }
        bytes.clear();
    }
}

/// A congestion control that is registered as long as this lives.
pub(crate) struct Loaded {
    /// Dropped first, which unregisters.
    _link: Link,
    exits: Option<Ring>,
    _object: Object,
}

/// Registers a congestion control under `name` as long as what is returned lives.
pub(crate) fn load(wanted: &Wanted, name: &str, record: usize) -> Result<Loaded, Error> {
    let known = wanted.control.name;
    let mut object = prepared(wanted)?;
    let is_control = |map: &OpenMapMut<'_>| map.map_type() == MapType::StructOps;
    edit(&mut object, known, is_control, |value| {
        rename(value, known, name)
    })?;
    for mut map in object
        .maps_mut()
        .filter(|map| map.map_type() == MapType::StructOps)
    {
        map.set_map_flags(BPF_F_LINK)
            .map_err(|error| refused(known, "to open", &error))?;
    }
    let (link, object) = registered(object, known)?;
    let reports = object.maps().any(|map| map.map_type() == MapType::RingBuf);
    let exits = reports
        .then(|| Ring::new(&object, known, record))
        .transpose()?;
    Ok(Loaded {
        _link: link,
        exits,
        _object: object,
    })
}

/// Replaces the name `known`, which ends with a zero, by `name` in a `struct tcp_congestion_ops`.
fn rename(value: &mut [u8], known: &str, name: &str) -> bool {
    let mut old = known.as_bytes().to_vec();
    old.push(0);
    let at = value.windows(old.len()).position(|window| window == old);
    let Some(field) = at.and_then(|at| value.get_mut(at..at + MAP_NAME + 1)) else {
        return false;
    };
    field.fill(0);
    name.len() <= MAP_NAME && {
        field[..name.len()].copy_from_slice(name.as_bytes());
        true
    }
}

impl Loaded {
    pub(crate) fn take(&mut self, each: &mut dyn FnMut(&[u8])) {
        if let Some(exits) = &mut self.exits {
            exits.take(each);
        }
    }
}

/// The probe, attached as long as this lives.
pub(crate) struct Attached {
    /// Dropped first, which detaches.
    _links: Vec<Link>,
    rows: Ring,
    object: Object,
}

/// The name of the probe's object.
const PROBE: &str = "ss_probe";

/// Attaches the probe to the network namespace with this cookie.
pub(crate) fn attach_probe(cookie: u64, record: usize) -> Result<Attached, Error> {
    let mut object = open(PROBE)?;
    edit(&mut object, PROBE, is_config, |value| {
        let field = value.get_mut(..size_of::<u64>());
        field
            .map(|field| field.copy_from_slice(&cookie.to_ne_bytes()))
            .is_some()
    })?;
    let object = object
        .load()
        .map_err(|error| refused(PROBE, "to load", &error))?;
    let rows = Ring::new(&object, PROBE, record)?;
    let links: Result<Vec<Link>, _> = object.progs_mut().map(|program| program.attach()).collect();
    Ok(Attached {
        _links: links.map_err(|error| refused(PROBE, "to attach", &error))?,
        rows,
        object,
    })
}

impl Attached {
    pub(crate) fn take(&mut self, each: &mut dyn FnMut(&[u8])) {
        self.rows.take(each);
    }

    /// Rows that did not fit into the ring buffer.
    pub(crate) fn lost(&self) -> u64 {
        let mut maps = self.object.maps();
        let map = maps.find(|map| map.name() == "ss_lost");
        let value = map.and_then(|map| map.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).ok()?);
        let value = value.and_then(|value| value.try_into().ok());
        value.map_or(0, u64::from_ne_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_has_another_name_in_the_same_place() {
        let mut value = [9; 40];
        value[8..24].copy_from_slice(b"ss_search40\0\0\0\0\0");
        assert!(!rename(&mut value, "ss_search", "ss_search.1"));
        assert!(rename(&mut value, "ss_search40", "ss_search40.1z"));
        assert_eq!(&value[8..24], b"ss_search40.1z\0\0");
        assert_eq!((value[7], value[24]), (9, 9));
        assert!(!rename(&mut value, "ss_search40.1z", "longer than fifteen"));
    }
}
