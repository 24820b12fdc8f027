//! Lists of keys from other lists: joined, chosen, and without repetition. All at compile time.

use crate::{DefaultValue, Key, Kind};

/// The keys of a table that consists of several lists, one after the other; `N` is how many.
#[must_use]
pub const fn joined<const N: usize>(lists: &[&[Key]]) -> [Key; N] {
    let mut keys = [Key::of(Kind::Switch); N];
    let (mut list, mut place, mut count) = (0, 0, 0);
    while list < lists.len() {
        if place < lists[list].len() {
            keys[count] = lists[list][place];
            place += 1;
            count += 1;
        } else {
            place = 0;
            list += 1;
        }
    }
    assert!(count == N, "`N` is the number of all keys");
    keys
}

/// The keys of a list except those with some names; `N` is how many remain.
#[must_use]
pub const fn without<const N: usize>(keys: &[Key], names: &[&str]) -> [Key; N] {
    let mut rest = [Key::of(Kind::Switch); N];
    let (mut place, mut count) = (0, 0);
    while place < keys.len() {
        if !is_one_of(keys[place].name, names) {
            rest[count] = keys[place];
            count += 1;
        }
        place += 1;
    }
    assert!(count == N, "`N` is the number of keys that remain");
    rest
}

/// The keys of a list that a file can have; `N` is how many.
#[must_use]
pub const fn given<const N: usize>(keys: &[Key]) -> [Key; N] {
    let mut rest = [Key::of(Kind::Switch); N];
    let (mut place, mut count) = (0, 0);
    while place < keys.len() {
        if !keys[place].is_derived {
            rest[count] = keys[place];
            count += 1;
        }
        place += 1;
    }
    assert!(count == N, "`N` is the number of keys that a file can have");
    rest
}

/// How many keys of a list a file can have.
#[must_use]
pub const fn given_len(keys: &[Key]) -> usize {
    let (mut place, mut count) = (0, 0);
    while place < keys.len() {
        if !keys[place].is_derived {
            count += 1;
        }
        place += 1;
    }
    count
}

/// The keys of a list, with words about their default; `N` is their number.
#[must_use]
pub const fn usually<const N: usize>(keys: &[Key], words: &'static str) -> [Key; N] {
    let mut with = [Key::of(Kind::Switch); N];
    let mut place = 0;
    while place < N {
        with[place] = keys[place].usually(words);
        place += 1;
    }
    with
}

/// The keys of several lists, each name once, at its first place; `N` is how many. What a list
/// needs, the union needs only where the list is used.
#[must_use]
pub const fn united<const N: usize>(lists: &[&[&[Key]]]) -> [Key; N] {
    let (keys, count) = union(lists);
    assert!(count == N, "`N` is the number of different names");
    keys
}

/// How many different names several lists have.
#[must_use]
pub const fn united_len(lists: &[&[&[Key]]]) -> usize {
    union::<MOST_KEYS>(lists).1
}

/// Most keys of a union.
const MOST_KEYS: usize = 256;

const fn union<const N: usize>(lists: &[&[&[Key]]]) -> ([Key; N], usize) {
    let mut keys = [Key::of(Kind::Switch); N];
    let mut names = [""; N];
    let (mut list, mut group, mut place, mut count) = (0, 0, 0, 0);
    while list < lists.len() {
        if group == lists[list].len() {
            (list, group) = (list + 1, 0);
        } else if place == lists[list][group].len() {
            (group, place) = (group + 1, 0);
        } else {
            let key = lists[list][group][place];
            if !is_one_of(key.name, &names) {
                keys[count] = match key.default {
                    DefaultValue::Needed(example) => {
                        key.sometimes(example, "needed by the kinds that have it")
                    }
                    _ => key,
                };
                names[count] = key.name;
                count += 1;
            }
            place += 1;
        }
    }
    (keys, count)
}

const fn is_one_of(name: &str, names: &[&str]) -> bool {
    let name = name.as_bytes();
    let mut place = 0;
    while place < names.len() {
        let other = names[place].as_bytes();
        let mut same = 0;
        while same < name.len() && same < other.len() && name[same] == other[same] {
            same += 1;
        }
        if same == name.len() && same == other.len() {
            return true;
        }
        place += 1;
    }
    false
}
