//! What RFC 6330 fixes for each number of source symbols (§5.1.2, §5.3.3.3, §5.6).

mod random;
mod systematic;

pub(super) use self::random::RANDOM;
use self::systematic::SYSTEMATIC;
use crate::SourceSymbols;

/// The numbers of the extended block of K' symbols, in the RFC's letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parameters {
    /// K': source symbols and padding symbols.
    pub(super) extended: u32,
    /// J(K'), which seeds the tuples.
    pub(super) index: u32,
    /// S: LDPC symbols, and as many constraints.
    pub(super) ldpc: u32,
    /// H: HDPC symbols, and as many constraints.
    pub(super) hdpc: u32,
    /// W: LT symbols, the first of the intermediate symbols.
    pub(super) lt: u32,
    /// P: permanently inactive symbols, those from W on.
    pub(super) inactive: u32,
    /// P1: the smallest prime from P on.
    pub(super) inactive_prime: u32,
}

impl Parameters {
    /// Those of the smallest K' that holds `source_symbols`.
    pub(super) fn new(source_symbols: SourceSymbols) -> Self {
        let source_symbols = source_symbols.value();
        let at = SYSTEMATIC.partition_point(|row| u32::from(row[0]) < source_symbols);
        let [extended, index, ldpc, hdpc, lt] = SYSTEMATIC[at].map(u32::from);
        let inactive = extended + ldpc + hdpc - lt;
        let inactive_prime = (inactive..)
            .find(|&number| is_prime(number))
            .expect("there is always a larger prime");
        Self {
            extended,
            index,
            ldpc,
            hdpc,
            lt,
            inactive,
            inactive_prime,
        }
    }

    /// L: all intermediate symbols.
    pub(super) fn intermediate(&self) -> u32 {
        self.lt + self.inactive
    }
}

/// K' of every row.
#[cfg(test)]
pub(super) fn all_extended() -> impl Iterator<Item = u32> {
    SYSTEMATIC.iter().map(|row| u32::from(row[0]))
}

fn is_prime(number: u32) -> bool {
    number >= 2
        && (2..)
            .take_while(|divisor| divisor * divisor <= number)
            .all(|divisor| !number.is_multiple_of(divisor))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = Parameters> {
        SYSTEMATIC
            .iter()
            .map(|row| Parameters::new(SourceSymbols::new(row[0].into()).expect("K' is a valid K")))
    }

    #[test]
    fn every_row_has_the_form_that_the_rfc_gives_it() {
        let mut last = 0;
        for parameters in all() {
            let extended = parameters.extended;
            assert!(extended > last, "ascending");
            last = extended;
            // RFC 6330 §5.3.3.3.
            assert!(is_prime(parameters.ldpc), "S({extended})");
            assert!(is_prime(parameters.lt), "W({extended})");
            assert!(parameters.lt >= parameters.ldpc);
            assert!(parameters.inactive >= parameters.hdpc);
            assert!(parameters.hdpc <= 16, "a column of HDPC rows has 16 bytes");
            assert!(parameters.index < 1024);
            assert!(parameters.intermediate() < 1 << 16, "columns have 16 bits");
        }
        assert_eq!(last, SourceSymbols::MAX.value());
    }

    #[test]
    fn a_block_is_extended_to_the_next_row() {
        let extended = |k| Parameters::new(SourceSymbols::new(k).expect("a valid K")).extended;
        assert_eq!([1, 10, 11, 12, 13].map(extended), [10, 10, 12, 12, 18]);
        assert_eq!([1023, 56_403].map(extended), [1032, 56_403]);
    }
}
