//! Registers and unregisters the congestion controls.
//!
//! A struct_ops map without a link: the kernel keeps what was registered when this process ends,
//! and the map, which bears the congestion control's name, is found again to unregister it.

use crate::control::{CONTROLS, Control, Options};
use crate::error::Error;
use crate::needs::needs;
use crate::status::loaded;

include!(concat!(env!("OUT_DIR"), "/objects.rs"));

/// Registers congestion controls, those of [`Control::default`] when none is named. Where one cannot
/// be registered, none of them is.
///
/// # Errors
/// What is missing, what is wrong with `names` or `options`, or why the kernel refuses.
pub fn load(names: &[&str], options: &Options) -> Result<Vec<&'static Control>, Error> {
    let controls = chosen(names, |control| control.default)?;
    options.check(&controls)?;
    let missing: Vec<String> = needs()
        .into_iter()
        .filter_map(|need| need.missing)
        .collect();
    if !missing.is_empty() {
        return Err(Error::Missing(missing));
    }
    let there = loaded();
    if let Some(control) = controls
        .iter()
        .find(|control| there.iter().any(|name| name == control.name))
    {
        return Err(Error::Invalid(format!(
            "{} is loaded already; unload it first",
            control.name
        )));
    }
    let mut done: Vec<&'static Control> = Vec::new();
    for control in &controls {
        if let Err(error) = kernel::register(control, options) {
            for control in done {
                let _ = kernel::unregister(control);
            }
            return Err(error);
        }
        done.push(control);
    }
    Ok(done)
}

/// Unregisters congestion controls, all of ours that are loaded when none is named. Sockets that use
/// one go on with it.
///
/// # Errors
/// One that is named is not loaded, or the kernel refuses.
pub fn unload(names: &[&str]) -> Result<Vec<&'static Control>, Error> {
    let there = loaded();
    let is_loaded = |control: &Control| there.iter().any(|name| name == control.name);
    let controls = chosen(names, is_loaded)?;
    if let Some(control) = controls.iter().find(|control| !is_loaded(control)) {
        return Err(Error::Invalid(format!("{} is not loaded", control.name)));
    }
    let needed = ["capabilities", "libbpf"];
    let missing: Vec<String> = needs()
        .into_iter()
        .filter(|need| needed.contains(&need.what))
        .filter_map(|need| need.missing)
        .collect();
    if !controls.is_empty() && !missing.is_empty() {
        return Err(Error::Missing(missing));
    }
    for control in &controls {
        kernel::unregister(control)?;
    }
    Ok(controls)
}

fn chosen(
    names: &[&str],
    otherwise: impl Fn(&Control) -> bool,
) -> Result<Vec<&'static Control>, Error> {
    if names.is_empty() {
        return Ok(CONTROLS
            .iter()
            .filter(|control| otherwise(control))
            .collect());
    }
    let mut controls: Vec<&'static Control> = Vec::new();
    for name in names {
        let control = Control::named(name)?;
        if !controls.contains(&control) {
            controls.push(control);
        }
    }
    Ok(controls)
}

#[cfg(all(feature = "bpf", target_os = "linux"))]
mod kernel {
    use std::sync::Mutex;

    use libbpf_rs::query::MapInfoIter;
    use libbpf_rs::{MapCore, MapHandle, MapType, ObjectBuilder, PrintLevel, set_print};

    use super::{Control, Error, OBJECTS, Options};

    /// The map that holds the options, by the section's name.
    const CONFIG: &str = ".rodata.config";
    /// The kernel cuts names of maps to so many bytes.
    const MAP_NAME: usize = 15;

    /// What libbpf said last: the reason when something fails.
    static SAID: Mutex<String> = Mutex::new(String::new());

    fn listen(_level: PrintLevel, message: String) {
        if let Ok(mut said) = SAID.lock() {
            *said = message.trim().to_owned();
        }
    }

    fn refused(control: &Control, doing: &str, error: &libbpf_rs::Error) -> Error {
        let said = SAID.lock().map(|said| said.clone()).unwrap_or_default();
        let said = if said.is_empty() {
            said
        } else {
            format!(" ({said})")
        };
        Error::Refused(format!(
            "the kernel refuses {doing} {}: {error}{said}",
            control.name
        ))
    }

    pub fn register(control: &Control, options: &Options) -> Result<(), Error> {
        set_print(Some((PrintLevel::Warn, listen)));
        let fail = |doing, error| refused(control, doing, &error);
        // libbpf wants the bytes aligned, which a vector is.
        let object = OBJECTS.iter().find(|(name, _)| *name == control.name);
        let bytes = object.map(|(_, bytes)| bytes.to_vec()).unwrap_or_default();
        let mut open = ObjectBuilder::default()
            .open_memory(&bytes)
            .map_err(|error| fail("to open", error))?;
        for mut map in open.maps_mut() {
            let is_config = map
                .name()
                .to_str()
                .is_some_and(|name| name.ends_with(CONFIG));
            let written = match map.initial_value_mut() {
                Some(value) if is_config => options.apply(value),
                _ => true,
            };
            if !written {
                return Err(Error::Invalid(format!(
                    "the object of {} has no options like these; run make -C bpf again",
                    control.name
                )));
            }
        }
        let mut object = open.load().map_err(|error| fail("to load", error))?;
        let mut found = false;
        for mut map in object.maps_mut() {
            if map.map_type() == MapType::StructOps {
                let mut link = map
                    .attach_struct_ops()
                    .map_err(|error| fail("to register", error))?;
                // Otherwise it would be unregistered when the link is dropped.
                link.disconnect();
                found = true;
            }
        }
        if !found {
            return Err(Error::Refused(format!(
                "the object of {} holds no congestion control; run make -C bpf again",
                control.name
            )));
        }
        Ok(())
    }

    pub fn unregister(control: &Control) -> Result<(), Error> {
        set_print(Some((PrintLevel::Warn, listen)));
        let name = &control.name[..control.name.len().min(MAP_NAME)];
        let maps = MapInfoIter::default()
            .filter(|map| map.ty == MapType::StructOps && map.name.to_str() == Some(name));
        // A map that was unregistered before lingers while sockets use it, and refuses.
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
            Some(error) => refused(control, "to unregister", &error),
            None => Error::Refused(format!(
                "{} is registered, but not by this program: unregister it with what registered it",
                control.name
            )),
        })
    }
}

#[cfg(not(all(feature = "bpf", target_os = "linux")))]
mod kernel {
    use super::{Control, Error, Options};

    pub fn register(_control: &Control, _options: &Options) -> Result<(), Error> {
        Err(Error::Refused("built without libbpf".to_owned()))
    }

    pub fn unregister(_control: &Control) -> Result<(), Error> {
        Err(Error::Refused("built without libbpf".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_chosen() {
        let names = |controls: Vec<&'static Control>| -> Vec<&str> {
            controls.iter().map(|control| control.name).collect()
        };
        let by_default = chosen(&[], |control| control.default).map(names);
        assert_eq!(by_default, Ok(vec!["ss_search", "ss_hspp", "ss_cubic_std"]));
        let named = chosen(&["ss_hspp", "ss_hspp"], |_| true).map(names);
        assert_eq!(named, Ok(vec!["ss_hspp"]));
        assert!(chosen(&["bbr"], |_| true).is_err());
    }

    #[test]
    fn wrong_wishes_are_refused_first() {
        let options = Options {
            threshold_permille: Some(2_000),
            ..Options::default()
        };
        let error = load(&["ss_search"], &options).expect_err("out of range");
        assert!(matches!(error, Error::Invalid(_)), "{error}");
        let error = load(&["cubic"], &Options::default()).expect_err("unknown");
        assert!(matches!(error, Error::Invalid(_)), "{error}");
    }
}
