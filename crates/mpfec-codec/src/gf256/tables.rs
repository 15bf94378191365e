//! Tables of the field, made at compile time.

/// The field's polynomial, x^8 + x^4 + x^3 + x^2 + 1, without its x^8 (RFC 6330 §5.7.2).
pub(super) const POLYNOMIAL: u8 = 0x1d;

/// `NIBBLES[c]`: 16 products of `c` with the numbers below 16, then 16 with the
/// multiples of 16 below 256. What `pshufb` and `tbl` look up.
pub(super) static NIBBLES: [Nibbles; 256] = nibbles();

/// Products of one number with every half byte.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub(super) struct Nibbles {
    pub(super) low: [u8; 16],
    pub(super) high: [u8; 16],
}

impl Nibbles {
    /// Products with low half bytes (0) or with high ones (1).
    #[cfg_attr(
        not(any(target_arch = "x86_64", target_arch = "aarch64")),
        expect(dead_code, reason = "vectors look up in halves")
    )]
    #[inline(always)]
    pub(super) fn half(&self, part: usize) -> &[u8; 16] {
        if part == 0 { &self.low } else { &self.high }
    }
}

/// `INVERSES[a]` for a > 0; `INVERSES[0]` is 0 and means nothing.
pub(super) static INVERSES: [u8; 256] = inverses();

/// `MATRICES[c]`: multiplication with `c` as the 8x8 bit matrix that `gf2p8affineqb`
/// takes. Byte 7 - i of it says which input bits make output bit i. (`gf2p8mulb`
/// would not do: its polynomial is 0x11B.)
#[cfg_attr(
    not(target_arch = "x86_64"),
    expect(dead_code, reason = "gf2p8affineqb is an x86 instruction")
)]
pub(super) static MATRICES: [u64; 256] = matrices();

/// a * x.
const fn double(a: u8) -> u8 {
    (a << 1) ^ if a & 0x80 != 0 { POLYNOMIAL } else { 0 }
}

const fn product(mut a: u8, mut b: u8) -> u8 {
    let mut sum = 0;
    while b != 0 {
        if b & 1 != 0 {
            sum ^= a;
        }
        a = double(a);
        b >>= 1;
    }
    sum
}

const fn nibbles() -> [Nibbles; 256] {
    let none = Nibbles {
        low: [0; 16],
        high: [0; 16],
    };
    let mut tables = [none; 256];
    let mut c = 0;
    while c < 256 {
        let mut nibble = 0;
        while nibble < 16 {
            tables[c].low[nibble] = product(c as u8, nibble as u8);
            tables[c].high[nibble] = product(c as u8, (nibble as u8) << 4);
            nibble += 1;
        }
        c += 1;
    }
    tables
}

const fn inverses() -> [u8; 256] {
    // x generates the field, and x^255 = 1: the inverse of x^e is x^(255 - e).
    let mut powers = [1; 256];
    let mut exponent = 1;
    while exponent < 256 {
        powers[exponent] = double(powers[exponent - 1]);
        exponent += 1;
    }
    let mut table = [0; 256];
    let mut exponent = 0;
    while exponent < 255 {
        table[powers[exponent] as usize] = powers[255 - exponent];
        exponent += 1;
    }
    table
}

const fn matrices() -> [u64; 256] {
    let mut table = [0; 256];
    let mut c = 0;
    while c < 256 {
        let mut output = 0;
        while output < 8 {
            let mut input = 0;
            while input < 8 {
                let bit = product(c as u8, 1 << input) >> output & 1;
                table[c] |= (bit as u64) << ((7 - output) * 8 + input);
                input += 1;
            }
            output += 1;
        }
        c += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverses_are_inverse() {
        for a in 1..=255_u8 {
            assert_eq!(product(a, INVERSES[usize::from(a)]), 1, "{a}");
        }
    }

    #[test]
    fn matrices_multiply() {
        for c in 0..=255_u8 {
            let rows = MATRICES[usize::from(c)].to_be_bytes();
            for x in 0..=255_u8 {
                let bits = (0..8).map(|i| ((rows[i] & x).count_ones() as u8 & 1) << i);
                assert_eq!(bits.sum::<u8>(), product(c, x), "{c} * {x}");
            }
        }
    }
}
