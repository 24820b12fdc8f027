//! Registers and unregisters the congestion controls.
//!
//! They are struct_ops maps without a link: the kernel keeps the registration when this process
//! ends. A map has the congestion control's name, by which it is found again to unregister it.

use crate::control::{CONTROLS, Control};
use crate::error::Error;
use crate::libbpf;
use crate::needs::needs;
use crate::status::loaded;
use crate::wanted::Wanted;

include!(concat!(env!("OUT_DIR"), "/objects.rs"));

/// Registers congestion controls; those of [`Control::default`] when none is named. If one cannot
/// be registered, none of them is.
///
/// # Errors
/// What is missing, what is wrong with `wanted`, or why the kernel refuses.
pub fn load(wanted: &[Wanted]) -> Result<Vec<&'static Control>, Error> {
    let defaults = CONTROLS.iter().filter(|control| control.default);
    let wanted: Vec<Wanted> = if wanted.is_empty() {
        let plain = |control| Wanted {
            control,
            options: crate::Options::default(),
        };
        defaults.map(plain).collect()
    } else {
        wanted.to_vec()
    };
    for (at, one) in wanted.iter().enumerate() {
        one.options.check()?;
        if wanted[..at]
            .iter()
            .any(|other| other.control == one.control)
        {
            return Err(Error::Invalid(format!(
                "{} is named twice",
                one.control.name
            )));
        }
    }
    let missing: Vec<String> = needs()
        .into_iter()
        .filter_map(|need| need.missing)
        .collect();
    if !missing.is_empty() {
        return Err(Error::Missing(missing));
    }
    let there = loaded();
    if let Some(one) = wanted
        .iter()
        .find(|one| there.iter().any(|name| name == one.control.name))
    {
        return Err(Error::Invalid(format!(
            "{} is already loaded; unload it first",
            one.control.name
        )));
    }
    let mut done: Vec<&'static Control> = Vec::new();
    for one in &wanted {
        if let Err(error) = libbpf::register(one) {
            for control in done {
                let _ = libbpf::unregister(control);
            }
            return Err(error);
        }
        done.push(one.control);
    }
    Ok(done)
}

/// Unregisters congestion controls; all of ours that are loaded when none is named. Sockets that
/// use one keep it.
///
/// # Errors
/// One that is named is not loaded, or the kernel refuses.
pub fn unload(controls: &[&'static Control]) -> Result<Vec<&'static Control>, Error> {
    let there = loaded();
    let is_loaded = |control: &Control| there.iter().any(|name| name == control.name);
    let mut chosen: Vec<&'static Control> = controls.to_vec();
    if controls.is_empty() {
        chosen.extend(CONTROLS.iter().filter(|control| is_loaded(control)));
    }
    if let Some(control) = chosen.iter().find(|control| !is_loaded(control)) {
        return Err(Error::Invalid(format!("{} is not loaded", control.name)));
    }
    let needed = ["capabilities", "libbpf"];
    let missing: Vec<String> = needs()
        .into_iter()
        .filter(|need| needed.contains(&need.what))
        .filter_map(|need| need.missing)
        .collect();
    if !chosen.is_empty() && !missing.is_empty() {
        return Err(Error::Missing(missing));
    }
    let mut done = Vec::new();
    for control in chosen {
        if !done.contains(&control) {
            libbpf::unregister(control)?;
            done.push(control);
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_requests_are_refused_first() {
        let mut wanted = Wanted::named("ss_search").expect("known");
        let error = load(&[wanted, wanted]).expect_err("twice");
        assert!(matches!(error, Error::Invalid(_)), "{error}");
        wanted.options.threshold_permille = Some(2_000);
        let error = load(&[wanted]).expect_err("out of range");
        assert!(matches!(error, Error::Invalid(_)), "{error}");
    }
}
