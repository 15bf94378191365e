//! Which intermediate symbols make an encoding symbol (RFC 6330 §5.3.5).

use super::table::{Parameters, RANDOM};

/// Positions of the intermediate symbols whose sum is the encoding symbol with internal
/// symbol identifier `isi` (§5.3.5.3): none twice, those below W first.
pub(super) fn neighbours(parameters: &Parameters, isi: u32) -> impl Iterator<Item = u16> + use<> {
    let tuple = Tuple::new(parameters, isi);
    let (lt, inactive) = (parameters.lt, parameters.inactive);
    let prime = parameters.inactive_prime;
    let mut at = tuple.b;
    let among_lt = (0..tuple.d).map(move |_| {
        let position = at;
        at = (at + tuple.a) % lt;
        position as u16
    });
    let mut at = tuple.b1;
    let among_inactive = (0..tuple.d1).map(move |_| {
        // Positions from P up to P1 do not exist.
        while at >= inactive {
            at = (at + tuple.a1) % prime;
        }
        let position = lt + at;
        at = (at + tuple.a1) % prime;
        position as u16
    });
    among_lt.chain(among_inactive)
}

/// The numbers that `Tuple[K', X]` gives (§5.3.5.4).
struct Tuple {
    d: u32,
    a: u32,
    b: u32,
    d1: u32,
    a1: u32,
    b1: u32,
}

impl Tuple {
    fn new(parameters: &Parameters, x: u32) -> Self {
        let multiplier = (53_591 + parameters.index * 997) | 1;
        let offset = 10_267 * (parameters.index + 1);
        let y = x.wrapping_mul(multiplier).wrapping_add(offset);
        let d = degree(random(y, 0, 1 << 20), parameters.lt);
        Self {
            d,
            a: 1 + random(y, 1, parameters.lt - 1),
            b: random(y, 2, parameters.lt),
            d1: if d < 4 { 2 + random(x, 3, 2) } else { 2 },
            a1: 1 + random(x, 4, parameters.inactive_prime - 1),
            b1: random(x, 5, parameters.inactive_prime),
        }
    }
}

/// `Rand[y, i, m]` (§5.3.5.1): a number below `m`.
pub(super) fn random(y: u32, i: u8, m: u32) -> u32 {
    let mut at = y.to_le_bytes().into_iter();
    let mixed = RANDOM.iter().fold(0, |mixed, table| {
        let byte = at.next().expect("four tables, four bytes").wrapping_add(i);
        mixed ^ table[usize::from(byte)]
    });
    mixed % m
}

/// `Deg[v]` (§5.3.5.2): how many LT symbols to add up.
fn degree(v: u32, lt: u32) -> u32 {
    let above = DEGREES.partition_point(|&bound| bound <= v) as u32;
    (above + 1).min(lt - 2)
}

/// f[1] to f[29] of §5.3.5.2; f[30] is 2^20.
const DEGREES: [u32; 29] = [
    5243, 529_531, 704_294, 791_675, 844_104, 879_057, 904_023, 922_747, 937_311, 948_962, 958_494,
    966_438, 973_160, 978_921, 983_914, 988_283, 992_138, 995_565, 998_631, 1_001_391, 1_003_887,
    1_006_157, 1_008_229, 1_010_129, 1_011_876, 1_013_490, 1_014_983, 1_016_370, 1_017_662,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SourceSymbols;

    #[test]
    fn no_neighbour_comes_twice() {
        for k in [1, 10, 27, 101, 1024, 10_000] {
            let parameters = Parameters::new(SourceSymbols::new(k).expect("a valid K"));
            for isi in 0..2000 {
                let mut positions: Vec<u16> = neighbours(&parameters, isi).collect();
                assert!(positions.len() >= 3);
                positions.sort_unstable();
                assert!(positions.is_sorted_by(|a, b| a < b), "{isi}: {positions:?}");
                assert!(
                    positions
                        .iter()
                        .all(|&at| u32::from(at) < parameters.intermediate())
                );
            }
        }
    }

    #[test]
    fn degrees_follow_the_distribution() {
        assert_eq!(degree(0, 1000), 1);
        assert_eq!(degree(5242, 1000), 1);
        assert_eq!(degree(5243, 1000), 2);
        assert_eq!(degree(1_017_661, 1000), 29);
        assert_eq!(degree(1_017_662, 1000), 30);
        assert_eq!(degree((1 << 20) - 1, 17), 15, "at most W - 2");
    }
}
