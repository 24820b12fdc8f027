//! Reads values of a document by the kind and range of their key.

use std::fmt::Display;

use tables::{Kind, LEAST_RATE, MAX_DURATION, MAX_RATE, MAX_SIZE, Value};
use toml::de::DeValue;
use units::{Bytes, Duration};

use crate::document::Item;
use crate::error::Error;
use crate::quantity::{self, Measure};

impl Item<'_> {
    /// The value, by the key's kind. If there are several kinds, words are tried first, then
    /// quantities; the caller reads tables and lists.
    pub(crate) fn value(&self) -> Result<Value, Error> {
        let Kind::Any(kinds) = self.kind else {
            return self.of(&self.kind);
        };
        let words = kinds.iter().find_map(|kind| match kind {
            Kind::Words(words) => Some(*words),
            _ => None,
        });
        let word = self.as_text().zip(words).and_then(|(text, words)| {
            let text = text.trim();
            words.iter().position(|word| *word == text)
        });
        if let Some(word) = word {
            return Ok(Value::Word(word));
        }
        match (kinds.iter().find(|kind| kind.is_quantity()), words) {
            (Some(kind), _) => self.of(kind),
            (None, Some(words)) => self.of(&Kind::Words(words)),
            (None, None) => Ok(Value::Nothing),
        }
    }

    fn of(&self, kind: &Kind) -> Result<Value, Error> {
        match *kind {
            Kind::Rate(least, most) => self.parse(|text| {
                let rate = quantity::rate_or_zero(text)?;
                if rate.bits_per_sec() == 0 && least > rate {
                    return Err("a rate must be above zero".to_owned());
                }
                within(rate, least, most, least <= LEAST_RATE || most == MAX_RATE).map(Value::Rate)
            }),
            Kind::Time(least, most) | Kind::Seconds(least, most) => self.parse(|text| {
                let span = quantity::duration(text)?;
                not_zero(span.is_zero() && least > span)?;
                within(span, least, most, span_is_open(least, most)).map(Value::Time)
            }),
            Kind::Size(least, most) => self.parse(|text| {
                let size = quantity::size(text)?;
                not_zero(size.is_zero() && least > size)?;
                within(
                    size,
                    least,
                    most,
                    least <= Bytes::new(1) || most == MAX_SIZE,
                )
                .map(Value::Size)
            }),
            Kind::Share(least, most) => self.parse(|text| {
                let share = quantity::share(text, most as u64)?;
                not_zero(share == 0.0 && least > 0.0)?;
                match share * 100.0 < least && least >= 1e-9 {
                    true => Err(format!("the least is {least} %")),
                    false => Ok(Value::Number(share)),
                }
            }),
            Kind::Decibel(least, most) => self.level("dB", least, most),
            Kind::Level(least, most) => self.level("dBm", least, most),
            Kind::Hertz(least, most) => self.level("Hz", least, most),
            Kind::Length(least, most) => self.measure(&quantity::LENGTHS, least, most),
            Kind::Speed(least, most) => self.measure(&quantity::SPEEDS, least, most),
            Kind::Power(least, most) => self.measure(&quantity::POWERS, least, most),
            Kind::Energy(least, most) => self.measure(&quantity::ENERGIES, least, most),
            Kind::Angle(least, most) => self.measure(&quantity::ANGLES, least, most),
            Kind::Frequency(least, most) => self.parse(|text| {
                let rate = quantity::frequency(text)?;
                match (least..=most).contains(&rate) {
                    true => Ok(Value::Number(rate)),
                    false => Err(format!("expected {least} to {most} /s")),
                }
            }),
            Kind::Packets => self.parse(|text| match quantity::buffer(text)? {
                quantity::Buffer::Packets(packets) => Ok(Value::Number(packets as f64)),
                _ => Err("expected a number of packets".to_owned()),
            }),
            Kind::Integer(least, most) => self.integer(least, most).map(Value::Integer),
            Kind::Number(least, most) => self.number(least, most).map(Value::Number),
            Kind::Switch => self.switch().map(Value::Switch),
            Kind::Words(words) => {
                let words: Vec<(&str, usize)> = words.iter().copied().zip(0..).collect();
                self.choice(&words).map(Value::Word)
            }
            Kind::Any(_)
            | Kind::Buffer
            | Kind::Text(_)
            | Kind::Table(_)
            | Kind::Tables(..)
            | Kind::List(..)
            | Kind::Model
            | Kind::Choice(_) => {
                debug_assert!(false, "this kind is read by its caller");
                Ok(Value::Nothing)
            }
        }
    }

    fn level(&self, unit: &str, least: f64, most: f64) -> Result<Value, Error> {
        let example = self.example();
        self.parse(|text| quantity::level(text, unit, example, (least, most)))
            .map(Value::Number)
    }

    fn measure(&self, measure: &Measure, least: f64, most: f64) -> Result<Value, Error> {
        self.parse(|text| measure.read(text, least, most))
            .map(Value::Number)
    }

    fn integer(&self, min: u64, max: u64) -> Result<u64, Error> {
        let out = || self.refuse(format!("expected a whole number from {min} to {max}"));
        let number = self.value.get_ref().as_integer().ok_or_else(out)?;
        let value = u64::from_str_radix(number.as_str(), number.radix()).map_err(|_| out())?;
        match (min..=max).contains(&value) {
            true => Ok(value),
            false => Err(out()),
        }
    }

    /// With or without a fraction.
    fn number(&self, min: f64, max: f64) -> Result<f64, Error> {
        let written = match self.value.get_ref() {
            DeValue::Integer(number) => Some(number.as_str()).filter(|_| number.radix() == 10),
            DeValue::Float(number) => Some(number.as_str()),
            _ => None,
        };
        written
            .and_then(|text| text.parse().ok())
            .filter(|number| (min..=max).contains(number))
            .ok_or_else(|| self.refuse(format!("expected a number from {min} to {max}")))
    }

    fn switch(&self) -> Result<bool, Error> {
        self.value
            .get_ref()
            .as_bool()
            .ok_or_else(|| self.refuse("expected true or false, without quotes"))
    }
}

fn span_is_open(least: Duration, most: Duration) -> bool {
    least <= Duration::from_nanos(1) || most == MAX_DURATION
}

fn not_zero(is_zero: bool) -> Result<(), String> {
    match is_zero {
        true => Err("it is zero".to_owned()),
        false => Ok(()),
    }
}

/// A value in a range; `is_open` is whether the limit is only that of the kind.
fn within<T: PartialOrd + Display>(
    value: T,
    least: T,
    most: T,
    is_open: bool,
) -> Result<T, String> {
    if (&least..=&most).contains(&&value) {
        return Ok(value);
    }
    Err(match (value < least, is_open) {
        (true, true) => format!("the least is {least}"),
        (false, true) => format!("the limit is {most}"),
        (_, false) => format!("it is from {least} to {most}"),
    })
}
