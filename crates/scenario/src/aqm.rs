//! `ecn`: whether a queue marks packets. The disciplines themselves describe their keys.

use network::Discipline;
use tables::Value;

use crate::document::Table;
use crate::error::Error;

/// Refuses `ecn = true` of a table whose queues never mark.
pub(crate) fn refuse_marking(table: &Table<'_>, aqm: Option<Discipline>) -> Result<(), Error> {
    let never = aqm.unwrap_or(Discipline::DropTail).marking(true).is_none();
    match table.get("ecn") {
        Some(item) if never && item.value()? == Value::Switch(true) => Err(item.refuse(
            "neither drop-tail nor random-above marks packets; leave it out, set it to false, or choose another aqm",
        )),
        _ => Ok(()),
    }
}
