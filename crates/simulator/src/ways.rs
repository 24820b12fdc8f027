//! The ways of background traffic that are known: a host sends again and again.

use units::Duration;

use crate::fabric::Way;

/// For each table of traffic, the way of the last flow from each host, by the number of the host.
#[derive(Debug, Default)]
pub struct Ways {
    tables: Vec<Vec<Option<Known>>>,
}

/// What a way depends on, and the way.
#[derive(Clone, Copy, Debug)]
struct Known {
    to: u32,
    extra_delay: Duration,
    way: Way,
}

impl Ways {
    /// The way from host `from` to host `to` of a table, if that of the last flow from there.
    pub fn get(&self, table: u32, [from, to]: [u32; 2], extra_delay: Duration) -> Option<Way> {
        let known = self.tables.get(table as usize)?.get(from as usize)?;
        let known = known.filter(|known| known.to == to && known.extra_delay == extra_delay)?;
        Some(known.way)
    }

    /// Notes a way, which depends on nothing else.
    pub fn note(&mut self, table: u32, [from, to]: [u32; 2], extra_delay: Duration, way: Way) {
        let (table, from) = (table as usize, from as usize);
        if self.tables.len() <= table {
            self.tables.resize_with(table + 1, Vec::new);
        }
        let hosts = &mut self.tables[table];
        if hosts.len() <= from {
            hosts.resize(from + 1, None);
        }
        hosts[from] = Some(Known {
            to,
            extra_delay,
            way,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::Hop;

    #[test]
    fn a_way_is_known_until_its_host_sends_another_way() {
        let way = |data| Way {
            data: Hop(data),
            acks: Hop(0),
            base_rtt: Duration::ZERO,
        };
        let (none, some) = (Duration::ZERO, Duration::from_millis(1));
        let mut ways = Ways::default();
        ways.note(1, [3, 5], none, way(7));
        ways.note(1, [2, 5], some, way(8));
        let known = |ways: &Ways, ends, extra| ways.get(1, ends, extra).map(|way| way.data);
        assert_eq!(known(&ways, [3, 5], none), Some(Hop(7)));
        assert_eq!(known(&ways, [2, 5], some), Some(Hop(8)));
        for (ends, extra) in [([3, 4], none), ([3, 5], some), ([4, 5], none)] {
            assert_eq!(known(&ways, ends, extra), None);
        }
        assert!(ways.get(0, [3, 5], none).is_none() && ways.get(2, [3, 5], none).is_none());
        ways.note(1, [3, 4], none, way(9));
        assert_eq!(known(&ways, [3, 5], none), None);
        assert_eq!(known(&ways, [3, 4], none), Some(Hop(9)));
    }
}
