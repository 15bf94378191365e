//! Every kernel computes what byte by byte arithmetic computes.

use proptest::prelude::*;

use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn rows_of_bytes_add_and_multiply(
        dst in bytes(), offset in 0_usize..64, c in coefficient(), seed: u64,
    ) {
        let src = noise(dst.len() + offset, seed);
        let src = &src[offset..];
        for kernel in Kernel::available() {
            check(kernel, &dst, |dst| kernel.add(dst, src), |at, byte| byte ^ src[at]);
            check(kernel, &dst, |dst| kernel.scale(dst, c), |_, byte| mul(c, byte));
            check(kernel, &dst, |dst| kernel.mul_add(dst, src, c), |at, byte| byte ^ mul(c, src[at]));
        }
    }

    #[test]
    fn sources_add_up(dst in bytes(), count in 0_usize..40, seed: u64) {
        let sources: Vec<Vec<u8>> = (0..count).map(|j| noise(dst.len(), seed ^ j as u64)).collect();
        let sources: Vec<&[u8]> = sources.iter().map(Vec::as_slice).collect();
        for kernel in Kernel::available() {
            let sum = |at: usize| sources.iter().fold(0, |sum, source| sum ^ source[at]);
            check(kernel, &dst, |dst| kernel.add_all(dst, &sources), |at, byte| byte ^ sum(at));
        }
    }

    #[test]
    fn dot_products_are_sums_of_products(scene in scene()) {
        for kernel in Kernel::available() {
            let mut outputs = scene.outputs.clone();
            let mut slices: Vec<&mut [u8]> = outputs.iter_mut().map(|output| &mut output[scene.offset..]).collect();
            kernel.dot(&mut slices, &scene.coefficients, &scene.sources());
            prop_assert_eq!(&outputs, &scene.expected(), "{:?}", kernel);
        }
    }

    #[test]
    fn appended_dot_products_are_the_same(scene in scene(), lower in prop::option::of(0_usize..30)) {
        let (rows, columns, len) = (scene.outputs.len(), scene.sources.len(), scene.len());
        let mut coefficients = scene.coefficients.clone();
        for (row, coefficients) in coefficients.chunks_mut(columns.max(1)).enumerate() {
            if let Some(first) = lower {
                let rest = coefficients.iter_mut().skip(first + row);
                rest.enumerate().for_each(|(after, c)| *c = u8::from(after == 0));
            }
        }
        let zeros = scene.outputs.iter().map(|output| vec![0; output.len()]).collect();
        let scene = Scene { coefficients, outputs: zeros, ..scene };
        let mut expected = b"kept".to_vec();
        for output in scene.expected() {
            expected.extend_from_slice(&output[scene.offset..]);
        }
        for kernel in Kernel::available() {
            let mut out = b"kept".to_vec();
            out.reserve_exact(rows * len);
            let coefficients = block::Coefficients::new(&scene.coefficients, columns, rows, columns);
            let sources = scene.sources();
            let sources = sources.iter().copied().enumerate();
            kernel.append_dot(&mut out, rows, len, coefficients, sources, lower);
            prop_assert_eq!(&out, &expected, "{:?}", kernel);
        }
    }

    #[test]
    fn slabs_compute_the_same(scene in scene()) {
        let (rows, columns) = (scene.outputs.len(), scene.sources.len());
        for kernel in Kernel::available() {
            let mut slab = Slab::with_kernel(kernel);
            slab.reset(3, 999);
            slab.reset(rows + 1, scene.len());
            for (row, output) in scene.outputs.iter().enumerate() {
                slab.write_row(row + 1, &output[scene.offset..]);
            }
            slab.add_dot(1..rows + 1, &scene.coefficients, columns, &scene.sources());
            for (row, expected) in scene.expected().iter().enumerate() {
                prop_assert_eq!(slab.row(row + 1), &expected[scene.offset..], "{:?}", kernel);
            }

            slab.reset(columns, scene.len());
            for (row, source) in scene.sources().iter().enumerate() {
                slab.write_row(row, source);
            }
            let mut outputs = scene.outputs.clone();
            let mut slices: Vec<&mut [u8]> = outputs.iter_mut().map(|output| &mut output[scene.offset..]).collect();
            slab.dot_into(&mut slices, &scene.coefficients, columns, 0..columns);
            prop_assert_eq!(&outputs, &scene.expected(), "{:?}", kernel);

            let joined = |outputs: &[Vec<u8>]| -> Vec<u8> {
                outputs.iter().flat_map(|output| &output[scene.offset..]).copied().collect()
            };
            let mut buffer = joined(&scene.outputs);
            slab.dot_into_buffer(&mut buffer, &scene.coefficients, columns, 0..columns);
            prop_assert_eq!(buffer, joined(&scene.expected()), "{:?}", kernel);
        }
    }

    #[test]
    fn a_row_is_spread_over_others(len in length(), rows in 1_usize..40, count in 0_usize..60, seed: u64) {
        for kernel in Kernel::available() {
            let mut slab = Slab::with_kernel(kernel);
            slab.reset(rows, len);
            for row in 0..rows {
                slab.write_row(row, &noise(len, seed ^ row as u64));
            }
            let src = (seed % rows as u64) as usize;
            let count = if rows == 1 { 0 } else { count };
            let target = |at: usize| ((src + 1 + at * 7 % rows.saturating_sub(1).max(1)) % rows) as u32;
            let terms: Vec<(u32, u8)> = (0..count).map(|at| (target(at), (seed >> (at % 50)) as u8)).collect();
            let mut expected: Vec<Vec<u8>> = (0..rows).map(|row| slab.row(row).to_vec()).collect();
            for &(row, c) in &terms {
                for (at, byte) in expected[row as usize].iter_mut().enumerate() {
                    *byte ^= mul(c, slab.row(src)[at]);
                }
            }
            slab.spread(src, &terms);
            for (row, expected) in expected.iter().enumerate() {
                prop_assert_eq!(slab.row(row), expected, "{:?}", kernel);
            }
        }
    }

    #[test]
    fn accumulated_rows_are_sums_of_products(
        len in length(), rows in 1_usize..60, xors in 0_usize..30, terms in 0_usize..30, seed: u64,
    ) {
        for kernel in Kernel::available() {
            let mut slab = Slab::with_kernel(kernel);
            slab.reset(rows, len);
            for row in 0..rows {
                slab.write_row(row, &noise(len, seed ^ row as u64));
            }
            // A row is named twice now and then.
            let dst = (seed % rows as u64) as usize;
            let source = |at: usize| ((dst + 1 + at * 7 % rows.saturating_sub(1).max(1)) % rows) as u32;
            let count = if rows == 1 { 0 } else { xors };
            let xors: Vec<u32> = (0..count).map(source).collect();
            let count = if rows == 1 { 0 } else { terms };
            let terms: Vec<(u32, u8)> = (0..count).map(|at| (source(at + 3), (seed >> at) as u8)).collect();
            let mut expected = slab.row(dst).to_vec();
            for (at, byte) in expected.iter_mut().enumerate() {
                *byte ^= xors.iter().fold(0, |sum, &row| sum ^ slab.row(row as usize)[at]);
                *byte ^= terms.iter().fold(0, |sum, &(row, c)| sum ^ mul(c, slab.row(row as usize)[at]));
            }
            let others: Vec<Vec<u8>> = (0..rows).map(|row| slab.row(row).to_vec()).collect();
            slab.accumulate(dst, &xors, &terms);
            prop_assert_eq!(slab.row(dst), &expected, "{:?}", kernel);
            for row in (0..rows).filter(|&row| row != dst) {
                prop_assert_eq!(slab.row(row), &others[row]);
            }
        }
    }
}

#[test]
fn every_product_is_the_same() {
    let all: Vec<u8> = (0..=255).collect();
    for kernel in Kernel::available() {
        for c in 0..=255 {
            let mut product = all.clone();
            kernel.scale(&mut product, c);
            assert!(
                product.iter().zip(&all).all(|(&p, &x)| p == mul(c, x)),
                "{kernel:?} {c}"
            );
            let mut sum = all.clone();
            kernel.mul_add(&mut sum, &all, c);
            assert!(
                sum.iter().zip(&all).all(|(&s, &x)| s == x ^ mul(c, x)),
                "{kernel:?} {c}"
            );
            let mut output = vec![0; 256];
            kernel.dot(&mut [&mut output], &[c], &[&all]);
            assert_eq!(output, product, "{kernel:?} {c}");
        }
    }
}

#[test]
fn multiplication_is_that_of_rfc_6330() {
    // Examples of its tables (§5.7.3, §5.7.4): OCT_EXP[8] = 29, OCT_LOG[3] = 25.
    let power = |exponent| (0..exponent).fold(1, |power, _| mul(power, 2));
    assert_eq!((power(8), power(25), power(255)), (29, 3, 1));
    for a in 1..=255 {
        assert_eq!(inverse(a).map(|inverse| mul(inverse, a)), Some(1));
    }
    assert_eq!(
        (inverse(0), mul(0, 7), mul(7, 0), mul(1, 7)),
        (None, 0, 0, 7)
    );
}

#[test]
fn many_sources_are_computed_in_blocks() {
    let sources: Vec<Vec<u8>> = (0..700).map(|j| noise(70, j)).collect();
    let coefficients = noise(11 * 700, 9);
    let expected = |row: usize, at: usize| {
        let row = &coefficients[row * 700..][..700];
        row.iter()
            .zip(&sources)
            .fold(0, |sum, (&c, source)| sum ^ mul(c, source[at]))
    };
    for kernel in Kernel::available() {
        let mut outputs = vec![vec![0; 70]; 11];
        kernel.dot(&mut outputs, &coefficients, &sources);
        for (row, output) in outputs.iter().enumerate() {
            assert!(
                (0..70).all(|at| output[at] == expected(row, at)),
                "{kernel:?}"
            );
        }
    }
}

#[test]
fn rows_of_a_slab_are_aligned_and_keep_their_bytes() {
    let mut slab = Slab::new();
    for (rows, row_bytes) in [(3, 1), (5, 1280), (2, 4096), (7, 1216), (0, 10), (4, 0)] {
        slab.reset(rows, row_bytes);
        for row in 0..rows {
            assert_eq!(slab.row(row).as_ptr().align_offset(64), 0);
            slab.write_row(row, &noise(row_bytes, row as u64));
        }
        slab.resize(rows + 9);
        for row in 0..rows {
            assert_eq!(slab.row(row), noise(row_bytes, row as u64));
        }
    }
    slab.reset(3, 2);
    slab.write_row(0, &[1, 2]);
    slab.write_row(1, &[3]);
    slab.swap_rows(0, 1);
    slab.copy_row(2, 0);
    slab.mul_add_row(2, 1, 2);
    slab.scale_row(0, 2);
    assert_eq!(
        [slab.row(0), slab.row(1), slab.row(2)],
        [[6, 0], [1, 2], [1, 4]]
    );
    let capacity = slab.capacity();
    slab.reset(1, 5);
    assert_eq!(slab.capacity(), capacity, "memory is kept");
}

#[test]
#[should_panic(expected = "a row cannot be added to itself")]
fn a_row_is_not_added_to_itself() {
    let mut slab = Slab::new();
    slab.reset(2, 10);
    slab.accumulate(1, &[0], &[(1, 3)]);
}

#[test]
#[should_panic(expected = "row 2 of 2")]
fn a_row_beyond_the_last_is_not_read() {
    let mut slab = Slab::new();
    slab.reset(2, 10);
    slab.accumulate(1, &[2], &[]);
}

#[test]
#[should_panic(expected = "coefficients are missing")]
fn coefficients_must_be_there() {
    dot(&mut [[0; 8], [0; 8]], &[1, 2, 3], &[[0; 8], [1; 8]]);
}

#[test]
#[should_panic(expected = "different lengths")]
fn operands_have_equal_lengths() {
    add(&mut [0; 8], &[0; 7]);
}

/// A dot product: outputs at an odd place in memory, sources that may be short.
#[derive(Debug)]
struct Scene {
    offset: usize,
    outputs: Vec<Vec<u8>>,
    coefficients: Vec<u8>,
    sources: Vec<Vec<u8>>,
}

impl Scene {
    fn len(&self) -> usize {
        self.outputs[0].len() - self.offset
    }

    fn sources(&self) -> Vec<&[u8]> {
        let skip = self.offset / 2;
        self.sources.iter().map(|source| &source[skip..]).collect()
    }

    fn expected(&self) -> Vec<Vec<u8>> {
        let mut outputs = self.outputs.clone();
        for (output, row) in outputs
            .iter_mut()
            .zip(self.coefficients.chunks(self.sources.len().max(1)))
        {
            for (source, &c) in self.sources().iter().zip(row) {
                for (output, &byte) in output[self.offset..].iter_mut().zip(*source) {
                    *output ^= mul(c, byte);
                }
            }
        }
        outputs
    }
}

prop_compose! {
    fn scene()(
        offset in 0_usize..64, len in length(), rows in 1_usize..=9, columns in 0_usize..=40,
        short in prop::collection::vec((0_usize..40, 0.0..1.0), 0..3), seed: u64,
    ) -> Scene {
        let skip = offset / 2;
        let mut sources: Vec<Vec<u8>> = (0..columns).map(|j| noise(skip + len, seed ^ j as u64)).collect();
        for (index, part) in short {
            if let Some(source) = sources.get_mut(index) {
                source.truncate(skip + (len as f64 * part) as usize);
            }
        }
        let mut coefficients = noise(rows * columns, !seed);
        for (at, c) in coefficients.iter_mut().enumerate() {
            if at % 5 == 0 {
                *c &= 1;
            }
        }
        let outputs = (0..rows).map(|row| noise(offset + len, seed << 7 ^ row as u64)).collect();
        Scene { offset, outputs, coefficients, sources }
    }
}

fn check(
    kernel: Kernel,
    before: &[u8],
    change: impl Fn(&mut [u8]),
    expected: impl Fn(usize, u8) -> u8,
) {
    for offset in [0, 1, 31] {
        let mut bytes = vec![0xa5; offset + before.len() + 70];
        bytes[offset..][..before.len()].copy_from_slice(before);
        change(&mut bytes[offset..][..before.len()]);
        for (at, &byte) in before.iter().enumerate() {
            assert_eq!(
                bytes[offset + at],
                expected(at, byte),
                "{kernel:?}, byte {at}"
            );
        }
        let mut around = bytes[..offset]
            .iter()
            .chain(&bytes[offset + before.len()..]);
        assert!(
            around.all(|&byte| byte == 0xa5),
            "{kernel:?} wrote beyond the end"
        );
    }
}

fn length() -> impl Strategy<Value = usize> {
    prop_oneof![4 => 0_usize..=300, 1 => 300_usize..=1500]
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    (length(), any::<u64>()).prop_map(|(length, seed)| noise(length, seed))
}

fn coefficient() -> impl Strategy<Value = u8> {
    prop_oneof![Just(0), Just(1), any::<u8>()]
}

fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d) as u8
    };
    for _ in 0..8 {
        next();
    }
    (0..length).map(|_| next()).collect()
}
