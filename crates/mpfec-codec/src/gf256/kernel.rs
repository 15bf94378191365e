//! Which instructions compute, chosen once at run time.
#![expect(
    unsafe_code,
    reason = "calls functions compiled for instructions that were detected"
)]

use std::mem::MaybeUninit;
use std::sync::OnceLock;
use std::{fmt, slice};

use bytes::BufMut;

use super::block::{Block, Coefficients, MAX_OUTPUTS, for_each_block, for_each_tile};
#[cfg(target_arch = "aarch64")]
use super::neon;
use super::portable;
use super::slab::Rows;
use super::steps::Steps;
#[cfg(target_arch = "x86_64")]
use super::x86;

/// Calls the function of the kernel with the same name, or what is given for the
/// portable one.
macro_rules! dispatch {
    ($kernel:expr, $function:ident($($argument:expr),*)) => {
        dispatch!($kernel, $function($($argument),*), portable::$function($($argument),*))
    };
    ($kernel:expr, $function:ident($($argument:expr),*), $portable:expr) => {
        match $kernel.0 {
            Instructions::Portable => $portable,
            // SAFETY: `available` makes a kernel only if the CPU has its instructions,
            // and nothing else makes one.
            #[cfg(target_arch = "x86_64")]
            Instructions::Ssse3 => unsafe { x86::ssse3::$function($($argument),*) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => unsafe { x86::avx2::$function($($argument),*) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Instructions::Gfni256 => unsafe { x86::gfni256::$function($($argument),*) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Instructions::Gfni512 => unsafe { x86::gfni512::$function($($argument),*) },
            // SAFETY: as above.
            #[cfg(target_arch = "aarch64")]
            Instructions::Neon => unsafe { neon::$function($($argument),*) },
        }
    };
}

/// One implementation of the arithmetic, for instructions that this CPU has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Kernel(Instructions);

/// Private, so that no [`Kernel`] exists whose instructions the CPU has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Instructions {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Ssse3,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Gfni256,
    #[cfg(target_arch = "x86_64")]
    Gfni512,
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Instructions {
    const ALL: &[Self] = &[
        Self::Portable,
        #[cfg(target_arch = "x86_64")]
        Self::Ssse3,
        #[cfg(target_arch = "x86_64")]
        Self::Avx2,
        #[cfg(target_arch = "x86_64")]
        Self::Gfni256,
        #[cfg(target_arch = "x86_64")]
        Self::Gfni512,
        #[cfg(target_arch = "aarch64")]
        Self::Neon,
    ];

    fn is_available(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Ssse3 => is_x86_feature_detected!("ssse3"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => is_x86_feature_detected!("avx2"),
            #[cfg(target_arch = "x86_64")]
            Self::Gfni256 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("gfni"),
            #[cfg(target_arch = "x86_64")]
            Self::Gfni512 => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("gfni")
            }
            #[cfg(target_arch = "aarch64")]
            Self::Neon => std::arch::is_aarch64_feature_detected!("neon"),
        }
    }
}

impl Kernel {
    /// Those that run on this CPU, the portable one first, the fastest last.
    pub fn available() -> impl Iterator<Item = Self> {
        let all = Instructions::ALL.iter().copied();
        all.filter(|kind| kind.is_available()).map(Self)
    }

    /// The fastest that runs on this CPU, chosen at the first call.
    #[must_use]
    pub fn best() -> Self {
        *BEST.get_or_init(|| Self::available().last().unwrap_or(Self::PORTABLE))
    }

    /// Makes this one what [`Kernel::best`] is in this process, to measure what another CPU
    /// would do; false if one was chosen before.
    #[must_use]
    pub fn prefer(self) -> bool {
        BEST.set(self).is_ok()
    }

    /// Plain Rust, on any CPU.
    pub const PORTABLE: Self = Self(Instructions::Portable);

    /// A name for benches and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self.0 {
            Instructions::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Instructions::Ssse3 => "ssse3",
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Instructions::Gfni256 => "avx2+gfni",
            #[cfg(target_arch = "x86_64")]
            Instructions::Gfni512 => "avx512+gfni",
            #[cfg(target_arch = "aarch64")]
            Instructions::Neon => "neon",
        }
    }

    /// How many sums of a dot product it keeps in registers.
    fn outputs_at_once(self) -> usize {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Instructions::Gfni256 | Instructions::Gfni512 => MAX_OUTPUTS,
            // With one more, the compiler runs out of its 16 registers.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => MAX_OUTPUTS.min(5),
            _ => MAX_OUTPUTS.min(4),
        }
    }

    /// See [`add`](super::add).
    pub fn add(self, dst: &mut [u8], src: &[u8]) {
        assert_eq!(dst.len(), src.len(), "{EQUAL_LENGTHS}");
        dispatch!(self, add(dst, src));
    }

    /// See [`scale`](super::scale).
    pub fn scale(self, dst: &mut [u8], c: u8) {
        dispatch!(self, scale(dst, c));
    }

    /// See [`mul_add`](super::mul_add).
    pub fn mul_add(self, dst: &mut [u8], src: &[u8], c: u8) {
        assert_eq!(dst.len(), src.len(), "{EQUAL_LENGTHS}");
        dispatch!(self, mul_add(dst, src, c));
    }

    /// See [`add_all`](super::add_all).
    pub fn add_all(self, dst: &mut [u8], sources: &[&[u8]]) {
        let is_equal = sources.iter().all(|source| source.len() == dst.len());
        assert!(is_equal, "{EQUAL_LENGTHS}");
        dispatch!(self, add_all(dst, sources));
    }

    /// See [`dot`](super::dot).
    pub fn dot<O: AsMut<[u8]>, S: AsRef<[u8]>>(
        self,
        outputs: &mut [O],
        coefficients: &[u8],
        sources: &[S],
    ) {
        let Some(len) = outputs.first_mut().map(|first| first.as_mut().len()) else {
            return;
        };
        let columns = sources.len();
        let coefficients = Coefficients::new(coefficients, columns, outputs.len(), columns);
        self.dot_sources(
            outputs,
            len,
            coefficients,
            sources.iter().map(AsRef::as_ref).enumerate(),
        );
    }

    /// Dot product into outputs of `len` bytes each.
    pub(super) fn dot_sources<'a, O: AsMut<[u8]>>(
        self,
        outputs: &mut [O],
        len: usize,
        coefficients: Coefficients<'_>,
        sources: impl Iterator<Item = (usize, &'a [u8])>,
    ) {
        for output in outputs.iter_mut() {
            assert_eq!(output.as_mut().len(), len, "outputs have different lengths");
        }
        for_each_block(len, sources, |block| {
            let outputs = outputs.iter_mut().map(AsMut::as_mut);
            self.dot_block(outputs, true, coefficients, block);
        });
    }

    /// Dot product into outputs of `len` bytes that lie one behind the other.
    pub(super) fn dot_buffer<'a>(
        self,
        buffer: &mut [u8],
        len: usize,
        coefficients: Coefficients<'_>,
        sources: impl Iterator<Item = (usize, &'a [u8])>,
    ) {
        if buffer.is_empty() {
            return;
        }
        for_each_block(len, sources, |block| {
            let outputs = buffer.chunks_exact_mut(len);
            self.dot_block(outputs, true, coefficients, block);
        });
    }

    /// Appends `rows` outputs of `len` bytes to `out`, which has room for them. If
    /// `lower` says so, they are rows of a lower triangular matrix with ones on the diagonal,
    /// from that row on, and the columns of the sources ascend.
    pub(super) fn append_dot<'a>(
        self,
        out: &mut impl BufMut,
        rows: usize,
        len: usize,
        coefficients: Coefficients<'_>,
        sources: impl Iterator<Item = (usize, &'a [u8])>,
        lower: Option<usize>,
    ) {
        let bytes = rows * len;
        if bytes == 0 {
            return;
        }
        let room = out.chunk_mut();
        assert!(room.len() >= bytes, "no room for {bytes} bytes");
        // SAFETY: only initialised bytes are written to it.
        let room = unsafe { &mut room.as_uninit_slice_mut()[..bytes] };
        let mut is_filled = false;
        let zero = MaybeUninit::new(0);
        for_each_block(len, sources, |block| {
            if block.len() < len && !is_filled {
                room.fill(zero);
                is_filled = true;
            }
            let outputs = room.chunks_exact_mut(len);
            for_each_tile(self.outputs_at_once(), outputs, |first, tile| {
                let block = match lower {
                    Some(row) => block.lower(row + first, tile.len()),
                    None => block,
                };
                if !block.sources().is_empty() {
                    // SAFETY: what is added to was filled, with zeros or by a block before.
                    unsafe { self.dot_tile(tile, is_filled, coefficients.skip(first), block) };
                } else if !is_filled {
                    tile.iter_mut().for_each(|output| output.fill(zero));
                }
            });
            is_filled = true;
        });
        if !is_filled {
            room.fill(zero);
        }
        // SAFETY: every block fills all outputs.
        unsafe { out.advance_mut(bytes) };
    }

    /// Outputs become, or if `adds` get added, the sum of coefficient (i, column of j) times
    /// source j over one block.
    pub(super) fn dot_block<'a>(
        self,
        outputs: impl ExactSizeIterator<Item = &'a mut [u8]>,
        adds: bool,
        coefficients: Coefficients<'_>,
        block: Block<'_>,
    ) {
        let outputs = outputs.map(|output| {
            let start = output.as_mut_ptr().cast::<MaybeUninit<u8>>();
            // SAFETY: the same bytes; `dot_tile` does not write uninitialised ones.
            unsafe { slice::from_raw_parts_mut(start, output.len()) }
        });
        for_each_tile(self.outputs_at_once(), outputs, |first, tile| {
            // SAFETY: they were initialised as `u8`.
            unsafe { self.dot_tile(tile, adds, coefficients.skip(first), block) };
        });
    }

    /// Outputs become, or if `adds` get added, the sum over one block. Initialises their
    /// first `block.len()` bytes.
    ///
    /// # Safety
    /// If `adds`, these bytes must be initialised.
    unsafe fn dot_tile(
        self,
        outputs: &mut [&mut [MaybeUninit<u8>]],
        adds: bool,
        coefficients: Coefficients<'_>,
        block: Block<'_>,
    ) {
        dispatch!(
            self,
            dot(outputs, adds, coefficients, block),
            // SAFETY: the caller vouches for the bytes.
            unsafe { portable::dot(outputs, adds, coefficients, block) }
        );
    }

    /// See [`Slab::spread`](super::Slab::spread).
    pub(super) fn spread(self, rows: Rows<'_>, src: usize, terms: &[(u32, u8)]) {
        let count = rows.bytes.len() / rows.stride;
        for &(row, _) in terms {
            let row = row as usize;
            assert!(row < count, "row {row} of {count}");
            assert!(row != src, "a row cannot be added to itself");
        }
        assert!(src < count, "row {src} of {count}");
        dispatch!(self, spread(rows, src, terms));
    }

    /// See [`Slab::accumulate`](super::Slab::accumulate).
    pub(super) fn accumulate(self, rows: Rows<'_>, dst: usize, xors: &[u32], terms: &[(u32, u8)]) {
        let count = rows.bytes.len() / rows.stride;
        for row in xors.iter().chain(terms.iter().map(|(row, _)| row)) {
            let row = *row as usize;
            assert!(row < count, "row {row} of {count}");
            assert!(row != dst, "a row cannot be added to itself");
        }
        assert!(dst < count, "row {dst} of {count}");
        dispatch!(self, accumulate(rows, dst, xors, terms));
    }

    /// See [`Slab::replay`](super::Slab::replay).
    pub(super) fn replay<'a>(self, rows: Rows<'_>, steps: &Steps, input: impl Fn(u32) -> &'a [u8]) {
        dispatch!(self, replay(rows, steps, input));
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What [`Kernel::best`] chose.
static BEST: OnceLock<Kernel> = OnceLock::new();

const EQUAL_LENGTHS: &str = "operands have different lengths";
