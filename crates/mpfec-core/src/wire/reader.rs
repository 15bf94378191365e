//! Reading fields from bytes that a peer wrote.

use super::varint;

/// What is left of a buffer, and how far it was read.
#[derive(Debug, Clone)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// The bytes end before the field does, or a number does not fit its field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

impl<'a> Reader<'a> {
    /// Reads `bytes` from position `at`.
    pub(crate) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self {
            bytes,
            at: at.min(bytes.len()),
        }
    }

    /// Position of the next byte in the whole buffer.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Bytes that were not read yet.
    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    pub(crate) fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    /// The next byte.
    #[inline]
    pub(crate) fn byte(&mut self) -> Result<u8, Malformed> {
        let byte = *self.bytes.get(self.at).ok_or(CUT_OFF)?;
        self.at += 1;
        Ok(byte)
    }

    /// The next variable-length integer.
    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, Malformed> {
        let (value, len) = varint::decode(self.rest()).ok_or(CUT_OFF)?;
        self.at += len;
        Ok(value)
    }

    /// The next `N` bytes.
    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let bytes = *self.rest().first_chunk().ok_or(CUT_OFF)?;
        self.at += N;
        Ok(bytes)
    }

    /// Where the next `len` bytes are.
    #[inline]
    pub(crate) fn span(&mut self, len: u64) -> Result<std::ops::Range<usize>, Malformed> {
        let len = usize::try_from(len)
            .ok()
            .filter(|len| *len <= self.remaining())
            .ok_or(CUT_OFF)?;
        let start = self.at;
        self.at += len;
        Ok(start..self.at)
    }

    /// The next `len` bytes.
    pub(crate) fn slice(&mut self, len: u64) -> Result<&'a [u8], Malformed> {
        let span = self.span(len)?;
        Ok(&self.bytes[span])
    }
}

const CUT_OFF: Malformed = Malformed("cut off");
