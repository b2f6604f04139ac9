//! The fields of a parameter block.

use super::FormatError;

/// Reads consecutive fields of a block.
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl Fields<'_> {
    fn bytes<const LENGTH: usize>(&mut self) -> Result<[u8; LENGTH], FormatError> {
        let (field, rest) =
            self.0.split_first_chunk::<LENGTH>().ok_or(FormatError::ParameterBlock("it ends within a field"))?;
        self.0 = rest;
        Ok(*field)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, FormatError> {
        self.bytes().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, FormatError> {
        self.bytes().map(u64::from_le_bytes)
    }

    pub(crate) fn f64(&mut self) -> Result<f64, FormatError> {
        self.bytes().map(f64::from_le_bytes)
    }

    /// A length followed by that many bytes of UTF-8.
    pub(crate) fn name(&mut self) -> Result<String, FormatError> {
        let length = self.u32()? as usize;
        let (name, rest) =
            self.0.split_at_checked(length).ok_or(FormatError::ParameterBlock("the name is longer than the block"))?;
        self.0 = rest;
        String::from_utf8(name.to_vec()).map_err(|_| FormatError::ParameterBlock("the name is not UTF-8"))
    }

    /// Fails if bytes are left.
    pub(crate) fn end(&self) -> Result<(), FormatError> {
        if self.0.is_empty() { Ok(()) } else { Err(FormatError::ParameterBlock("it is longer than its fields")) }
    }
}
