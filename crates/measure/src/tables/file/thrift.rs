//! The compact protocol of Apache Thrift ("Thrift Compact protocol encoding"), as far as a writer
//! of Parquet needs it.

/// Appends `value` in groups of seven bits, the least significant first (ULEB128).
pub(super) fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

const TRUE: u8 = 1;
const FALSE: u8 = 2;
const I8: u8 = 3;
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A structure under construction; [`Thrift::end`] ends it as well as the nested ones.
#[derive(Default)]
pub(super) struct Thrift {
    out: Vec<u8>,
    /// The number of the last field of the open structure.
    last: u8,
    /// The same of those around it.
    outer: Vec<u8>,
}

impl Thrift {
    /// Numbers of fields ascend, and differ by less than 16.
    fn field(&mut self, id: u8, kind: u8) {
        debug_assert!(self.last < id && id - self.last < 16);
        self.out.push((id - self.last) << 4 | kind);
        self.last = id;
    }

    /// A signed integer in zigzag form; ours are not negative.
    fn integer(&mut self, value: u64) {
        varint(&mut self.out, value << 1);
    }

    fn string(&mut self, value: &str) {
        varint(&mut self.out, value.len() as u64);
        self.out.extend(value.as_bytes());
    }

    fn list(&mut self, id: u8, kind: u8, count: usize) {
        self.field(id, LIST);
        if count < 15 {
            self.out.push((count as u8) << 4 | kind);
        } else {
            self.out.push(0xf0 | kind);
            varint(&mut self.out, count as u64);
        }
    }

    pub fn i8(&mut self, id: u8, value: u8) {
        self.field(id, I8);
        self.out.push(value);
    }

    pub fn i32(&mut self, id: u8, value: i32) {
        self.field(id, I32);
        self.integer(u64::from(value.unsigned_abs()));
    }

    pub fn i64(&mut self, id: u8, value: u64) {
        self.field(id, I64);
        self.integer(value);
    }

    pub fn bool(&mut self, id: u8, value: bool) {
        self.field(id, if value { TRUE } else { FALSE });
    }

    pub fn text(&mut self, id: u8, value: &str) {
        self.field(id, BINARY);
        self.string(value);
    }

    pub fn texts(&mut self, id: u8, values: &[&str]) {
        self.list(id, BINARY, values.len());
        for value in values {
            self.string(value);
        }
    }

    pub fn i32s(&mut self, id: u8, values: &[i32]) {
        self.list(id, I32, values.len());
        for value in values {
            self.integer(u64::from(value.unsigned_abs()));
        }
    }

    /// Begins a list of `count` structures, each between `begin_element` and `end`.
    pub fn structs(&mut self, id: u8, count: usize) {
        self.list(id, STRUCT, count);
    }

    /// Begins a structure as a field.
    pub fn begin(&mut self, id: u8) {
        self.field(id, STRUCT);
        self.begin_element();
    }

    /// Begins a structure of a list.
    pub fn begin_element(&mut self) {
        self.outer.push(self.last);
        self.last = 0;
    }

    /// Ends the structure that began last, or the whole.
    pub fn end(&mut self) {
        self.out.push(0);
        self.last = self.outer.pop().unwrap_or(0);
    }

    pub fn bytes(self) -> Vec<u8> {
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification: 50399 is 0xDF 0x89 0x03.
    #[test]
    fn numbers_have_seven_bits_a_byte() {
        let mut out = Vec::new();
        varint(&mut out, 50_399);
        assert_eq!(out, [0xdf, 0x89, 0x03]);
    }

    /// Field headers hold the difference of numbers, also after a nested structure.
    #[test]
    fn structures_nest() {
        let mut made = Thrift::default();
        made.i32(1, 3);
        made.begin(4);
        made.text(2, "ab");
        made.bool(3, false);
        made.end();
        made.structs(5, 1);
        made.begin_element();
        made.i8(1, 32);
        made.end();
        made.texts(6, &["c"; 15]);
        made.end();
        let mut expected = vec![0x15, 6, 0x3c, 0x28, 2, b'a', b'b', 0x12, 0, 0x19, 0x1c];
        expected.extend([0x13, 32, 0, 0x19, 0xf8, 15]);
        expected.extend([1, b'c'].repeat(15));
        expected.push(0);
        assert_eq!(made.bytes(), expected);
    }
}
