//! A Parquet file that is written while runs end.
//!
//! It writes what our tables need of the format and no more: flat columns of five types, with plain
//! or dictionary encoding, one data page for each column and row group, and Snappy. The crate
//! `parquet` with its parts of Arrow would be a third of the time to build this project. Sources:
//! Apache Parquet, `parquet.thrift` and `Encodings.md` of parquet-format 2.11; Apache Thrift,
//! "Thrift Compact protocol encoding".

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Schema};

mod thrift;

use thrift::{Thrift, varint};

/// Rows in a row group.
const ROW_GROUP: usize = 1 << 16;
/// A column with more different values than this, or with more than half as many as rows, has no
/// dictionary.
const DICTIONARY: usize = 1 << 12;
/// The first and the last bytes of a file.
const MAGIC: &[u8] = b"PAR1";

/// The values of a column in the present row group, without the nulls.
enum Values {
    Truth(Vec<bool>),
    Number(Vec<u32>),
    Count(Vec<u64>),
    Real(Vec<f64>),
    Text {
        /// The place of each value in `words`.
        codes: Vec<u32>,
        words: Vec<String>,
        places: BTreeMap<String, u32>,
    },
}

/// A type of values: the physical one, and its annotation.
struct Kind {
    physical: i32,
    /// `ConvertedType`, for old readers.
    converted: Option<i32>,
    /// The bits of an unsigned integer.
    bits: Option<u8>,
}

/// `Encoding` of parquet.thrift.
const PLAIN: i32 = 0;
const RLE: i32 = 3;
const RLE_DICTIONARY: i32 = 8;
/// `CompressionCodec`.
const SNAPPY: i32 = 1;

impl Values {
    fn new(kind: &DataType) -> io::Result<Self> {
        Ok(match kind {
            DataType::Boolean => Self::Truth(Vec::new()),
            DataType::UInt32 => Self::Number(Vec::new()),
            DataType::UInt64 => Self::Count(Vec::new()),
            DataType::Float64 => Self::Real(Vec::new()),
            DataType::Utf8 => Self::Text {
                codes: Vec::new(),
                words: Vec::new(),
                places: BTreeMap::new(),
            },
            other => return Err(io::Error::other(format!("no column of {other} in a file"))),
        })
    }

    const fn kind(&self) -> Kind {
        let (physical, converted, bits) = match self {
            Self::Truth(_) => (0, None, None),
            Self::Number(_) => (1, Some(13), Some(32)),
            Self::Count(_) => (2, Some(14), Some(64)),
            Self::Real(_) => (5, None, None),
            Self::Text { .. } => (6, Some(0), None),
        };
        Kind {
            physical,
            converted,
            bits,
        }
    }

    /// Appends the values of `array`, which has this type.
    fn extend(&mut self, array: &dyn Array) -> Option<()> {
        match self {
            Self::Truth(all) => all.extend(array.as_boolean_opt()?.iter().flatten()),
            Self::Number(all) => {
                all.extend(array.as_primitive_opt::<UInt32Type>()?.iter().flatten());
            }
            Self::Count(all) => {
                all.extend(array.as_primitive_opt::<UInt64Type>()?.iter().flatten());
            }
            Self::Real(all) => {
                all.extend(array.as_primitive_opt::<Float64Type>()?.iter().flatten());
            }
            Self::Text {
                codes,
                words,
                places,
            } => {
                for word in array.as_string_opt::<i32>()?.iter().flatten() {
                    // With too many for a dictionary, equal words need not be found.
                    let known = places.get(word).filter(|_| words.len() <= DICTIONARY);
                    let code = known.copied().unwrap_or_else(|| {
                        let code = words.len() as u32;
                        words.push(word.to_owned());
                        if words.len() <= DICTIONARY {
                            places.insert(word.to_owned(), code);
                        }
                        code
                    });
                    codes.push(code);
                }
            }
        }
        Some(())
    }

    /// The plain encoding of all values, or a dictionary and places in it; and empties the column.
    fn encode(&mut self) -> Encoded {
        match self {
            Self::Truth(all) => {
                let mut values = Vec::new();
                bit_packed(&mut values, 1, all.drain(..).map(u32::from));
                Encoded::plain(values)
            }
            Self::Number(all) => fixed(all.drain(..).map(u64::from).collect(), 4),
            Self::Count(all) => fixed(std::mem::take(all), 8),
            Self::Real(all) => fixed(all.drain(..).map(f64::to_bits).collect(), 8),
            Self::Text {
                codes,
                words,
                places,
            } => {
                let mut bytes = Vec::new();
                let mut put = |word: &String| {
                    bytes.extend((word.len() as u32).to_le_bytes());
                    bytes.extend(word.as_bytes());
                };
                places.clear();
                let (codes, words) = (std::mem::take(codes), std::mem::take(words));
                if pays(words.len(), codes.len()) {
                    words.iter().for_each(&mut put);
                    return Encoded::dictionary(words.len(), bytes, &codes);
                }
                codes.iter().for_each(|&code| put(&words[code as usize]));
                Encoded::plain(bytes)
            }
        }
    }
}

/// Whether a dictionary of `different` values makes a column of `all` values shorter.
const fn pays(different: usize, all: usize) -> bool {
    different > 0 && different <= DICTIONARY && (2 * different <= all || different == 1)
}

/// Encodes numbers of `width` bytes.
fn fixed(all: Vec<u64>, width: usize) -> Encoded {
    let mut places = BTreeMap::new();
    let mut different = Vec::new();
    let mut codes = Vec::with_capacity(all.len());
    for &value in &all {
        let code = *places.entry(value).or_insert_with(|| {
            different.push(value);
            different.len() as u32 - 1
        });
        codes.push(code);
        if different.len() > DICTIONARY {
            break;
        }
    }
    let bytes = |values: &[u64]| {
        let each = values.iter().map(|value| value.to_le_bytes());
        each.flat_map(|value| value.into_iter().take(width))
            .collect()
    };
    if pays(different.len(), all.len()) {
        Encoded::dictionary(different.len(), bytes(&different), &codes)
    } else {
        Encoded::plain(bytes(&all))
    }
}

/// The values of a column in a row group.
struct Encoded {
    dictionary: Option<(usize, Vec<u8>)>,
    values: Vec<u8>,
}

impl Encoded {
    const fn plain(values: Vec<u8>) -> Self {
        Self {
            dictionary: None,
            values,
        }
    }

    fn dictionary(count: usize, entries: Vec<u8>, codes: &[u32]) -> Self {
        // Not every reader takes a width of zero.
        let bits = (usize::BITS - (count - 1).leading_zeros()).max(1) as u8;
        let mut values = vec![bits];
        hybrid(&mut values, bits, codes);
        Self {
            dictionary: Some((count, entries)),
            values,
        }
    }
}

/// Encodings.md, "Run Length Encoding / Bit-Packing Hybrid": one run, of either form.
fn hybrid(out: &mut Vec<u8>, bits: u8, codes: &[u32]) {
    if codes.windows(2).all(|pair| pair[0] == pair[1]) {
        varint(out, (codes.len() as u64) << 1);
        let code = codes.first().copied().unwrap_or(0).to_le_bytes();
        out.extend(&code[..usize::from(bits.div_ceil(8))]);
    } else {
        varint(out, (codes.len().div_ceil(8) as u64) << 1 | 1);
        let padding = codes.len().next_multiple_of(8) - codes.len();
        let padded = codes.iter().copied().chain(std::iter::repeat_n(0, padding));
        bit_packed(out, bits, padded);
    }
}

/// Packs values of `bits` bits each, from the least significant bit of each byte on.
fn bit_packed(out: &mut Vec<u8>, bits: u8, values: impl Iterator<Item = u32>) {
    let (mut held, mut count) = (0_u64, 0);
    for value in values {
        held |= u64::from(value) << count;
        count += bits;
        while count >= 8 {
            out.push(held as u8);
            held >>= 8;
            count -= 8;
        }
    }
    if count > 0 {
        out.push(held as u8);
    }
}

/// A column, with its values in the present row group.
struct Column {
    name: String,
    /// Whether each value is there; `None` if the column has no nulls.
    present: Option<Vec<u32>>,
    values: Values,
}

/// Where a column of a row group is in the file, and how long.
struct Chunk {
    dictionary: Option<u64>,
    data: u64,
    plain_bytes: u64,
    bytes: u64,
}

/// The file under construction.
pub struct TableFile {
    out: BufWriter<File>,
    written: u64,
    columns: Vec<Column>,
    /// Rows in the present row group.
    rows: usize,
    /// The chunks of the columns, and the rows, of each row group before.
    groups: Vec<(Vec<Chunk>, usize)>,
}

impl TableFile {
    /// Begins a file for record batches of `schema`.
    ///
    /// # Errors
    /// A type of column that our tables do not have, or an error of the file.
    pub fn new(file: File, schema: &Schema) -> io::Result<Self> {
        let mut out = BufWriter::new(file);
        let column = |field: &std::sync::Arc<arrow_schema::Field>| {
            Ok(Column {
                name: field.name().clone(),
                present: field.is_nullable().then(Vec::new),
                values: Values::new(field.data_type())?,
            })
        };
        let columns = schema
            .fields()
            .iter()
            .map(column)
            .collect::<io::Result<_>>()?;
        out.write_all(MAGIC)?;
        Ok(Self {
            out,
            written: MAGIC.len() as u64,
            columns,
            rows: 0,
            groups: Vec::new(),
        })
    }

    /// Appends the rows of `batch`.
    ///
    /// # Errors
    /// The batch has another schema, or an error of the file.
    pub fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        let mut begin = 0;
        while begin < batch.num_rows() {
            let count = (batch.num_rows() - begin).min(ROW_GROUP - self.rows);
            for (column, array) in self.columns.iter_mut().zip(batch.columns()) {
                let array = array.slice(begin, count);
                if let Some(present) = &mut column.present {
                    present.extend((0..count).map(|row| u32::from(array.is_valid(row))));
                }
                let other = || io::Error::other(format!("{} has another type", column.name));
                column.values.extend(&array).ok_or_else(other)?;
            }
            begin += count;
            self.rows += count;
            if self.rows == ROW_GROUP {
                self.end_group()?;
            }
        }
        Ok(())
    }

    fn end_group(&mut self) -> io::Result<()> {
        let rows = self.rows;
        let mut chunks = Vec::with_capacity(self.columns.len());
        for place in 0..self.columns.len() {
            let column = &mut self.columns[place];
            let mut body = Vec::new();
            if let Some(present) = &mut column.present {
                let mut levels = Vec::new();
                hybrid(&mut levels, 1, present);
                body.extend((levels.len() as u32).to_le_bytes());
                body.append(&mut levels);
                present.clear();
            }
            let encoded = column.values.encode();
            body.extend(&encoded.values);
            let begin = self.written;
            let mut plain_bytes = 0;
            let mut encoding = PLAIN;
            if let Some((count, entries)) = &encoded.dictionary {
                plain_bytes += self.page(entries, 2, |header| {
                    header.begin(7); // DictionaryPageHeader
                    header.i32(1, *count as i32);
                    header.i32(2, PLAIN);
                    header.end();
                })?;
                encoding = RLE_DICTIONARY;
            }
            let data = self.written;
            plain_bytes += self.page(&body, 0, |header| {
                header.begin(5); // DataPageHeader
                header.i32(1, rows as i32);
                header.i32(2, encoding);
                header.i32(3, RLE); // of the definition levels
                header.i32(4, RLE);
                header.end();
            })?;
            chunks.push(Chunk {
                dictionary: encoded.dictionary.map(|_| begin),
                data,
                plain_bytes,
                bytes: self.written - begin,
            });
        }
        self.groups.push((chunks, rows));
        self.rows = 0;
        Ok(())
    }

    /// Writes a page of `kind` (`PageType`), and returns its bytes before compression.
    fn page(&mut self, body: &[u8], kind: i32, more: impl Fn(&mut Thrift)) -> io::Result<u64> {
        let packed = snap::raw::Encoder::new()
            .compress_vec(body)
            .map_err(io::Error::other)?;
        let mut header = Thrift::default();
        header.i32(1, kind);
        header.i32(2, body.len() as i32);
        header.i32(3, packed.len() as i32);
        more(&mut header);
        header.end();
        let header = header.bytes();
        self.put(&header)?;
        self.put(&packed)?;
        Ok((header.len() + body.len()) as u64)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Ends the file, with the name and version of the program, and with `facts` (names and texts).
    ///
    /// # Errors
    /// An error of the file.
    pub fn finish(mut self, created_by: &str, facts: &[(&str, &str)]) -> io::Result<()> {
        if self.rows > 0 {
            self.end_group()?;
        }
        let footer = self.metadata(created_by, facts).bytes();
        self.put(&footer)?;
        self.put(&(footer.len() as u32).to_le_bytes())?;
        self.put(MAGIC)?;
        self.out.flush()
    }

    /// `FileMetaData`.
    fn metadata(&self, created_by: &str, facts: &[(&str, &str)]) -> Thrift {
        let mut made = Thrift::default();
        made.i32(1, 1); // version
        made.structs(2, self.columns.len() + 1);
        made.begin_element(); // SchemaElement of the row
        made.text(4, "schema");
        made.i32(5, self.columns.len() as i32);
        made.end();
        for column in &self.columns {
            describe(&mut made, column);
        }
        let rows: usize = self.groups.iter().map(|(_, rows)| rows).sum();
        made.i64(3, rows as u64);
        made.structs(4, self.groups.len());
        for (chunks, rows) in &self.groups {
            made.begin_element(); // RowGroup
            made.structs(1, chunks.len());
            for (chunk, column) in chunks.iter().zip(&self.columns) {
                locate(&mut made, chunk, column, *rows);
            }
            made.i64(2, chunks.iter().map(|chunk| chunk.plain_bytes).sum());
            made.i64(3, *rows as u64);
            made.end();
        }
        made.structs(5, facts.len());
        for (key, value) in facts {
            made.begin_element(); // KeyValue
            made.text(1, key);
            made.text(2, value);
            made.end();
        }
        made.text(6, created_by);
        made.end();
        made
    }
}

/// `SchemaElement`.
fn describe(made: &mut Thrift, column: &Column) {
    let kind = column.values.kind();
    made.begin_element();
    made.i32(1, kind.physical);
    made.i32(3, i32::from(column.present.is_some())); // 0 required, 1 optional
    made.text(4, &column.name);
    if let Some(converted) = kind.converted {
        made.i32(6, converted);
        made.begin(10); // LogicalType
        if let Some(bits) = kind.bits {
            made.begin(10); // IntType
            made.i8(1, bits);
            made.bool(2, false); // signed
        } else {
            made.begin(1); // StringType
        }
        made.end();
        made.end();
    }
    made.end();
}

/// `ColumnChunk`.
fn locate(made: &mut Thrift, chunk: &Chunk, column: &Column, rows: usize) {
    made.begin_element();
    made.i64(2, 0); // file_offset: there is no copy of this metadata
    made.begin(3); // ColumnMetaData
    made.i32(1, column.values.kind().physical);
    made.i32s(2, &[PLAIN, RLE, RLE_DICTIONARY]);
    made.texts(3, &[&column.name]);
    made.i32(4, SNAPPY);
    made.i64(5, rows as u64);
    made.i64(6, chunk.plain_bytes);
    made.i64(7, chunk.bytes);
    made.i64(9, chunk.data);
    if let Some(place) = chunk.dictionary {
        made.i64(11, place);
    }
    made.end();
    made.end();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of Encodings.md: 0 to 7 in three bits each.
    #[test]
    fn bits_are_packed_from_the_least_significant_one() {
        let mut out = Vec::new();
        hybrid(&mut out, 3, &[0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(out, [0b11, 0b1000_1000, 0b1100_0110, 0b1111_1010]);
    }

    /// A last group of less than eight values is padded with zeros.
    #[test]
    fn the_last_group_is_padded() {
        let mut out = Vec::new();
        hybrid(&mut out, 1, &[1, 0, 1, 1, 0, 0, 0, 1, 1]);
        assert_eq!(out, [0b101, 0b1000_1101, 0b1]);
    }

    /// Equal values are one run: 300 times 5, in two bytes because of its 9 bits.
    #[test]
    fn equal_values_are_a_run() {
        let mut out = Vec::new();
        hybrid(&mut out, 9, &[5; 300]);
        assert_eq!(out, [0xd8, 0x04, 5, 0]);
    }

    #[test]
    fn a_dictionary_needs_repeated_values() {
        let repeated = fixed(vec![7, 7, 9, 7], 4);
        assert_eq!(repeated.dictionary, Some((2, vec![7, 0, 0, 0, 9, 0, 0, 0])));
        assert_eq!(repeated.values, [1, 0b11, 0b100]);
        let different = fixed(vec![7, 8, 9], 4);
        assert!(different.dictionary.is_none());
        assert_eq!(different.values, [7, 0, 0, 0, 8, 0, 0, 0, 9, 0, 0, 0]);
        assert!(fixed(Vec::new(), 8).dictionary.is_none());
    }
}
