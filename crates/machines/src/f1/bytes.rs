//! Variable-length numbers, seven bits per byte, and their validated decoding.

/// Why bytes cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {at}: {cause}")]
pub struct BytesError {
    pub at: usize,
    pub cause: &'static str,
}

/// Appends a number below 2^63.
pub fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 128 {
        bytes.push(number as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// A decoder with its position.
#[derive(Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// An error at the current position.
    pub fn fail<T>(&self, cause: &'static str) -> Result<T, BytesError> {
        Err(BytesError { at: self.at, cause })
    }

    /// The next byte.
    pub fn byte(&mut self) -> Result<u8, BytesError> {
        let Some(&byte) = self.bytes.get(self.at) else { return self.fail("unexpected end") };
        self.at += 1;
        Ok(byte)
    }

    /// Decodes a number written by [`put`].
    pub fn number(&mut self) -> Result<u64, BytesError> {
        let mut number = 0;
        for shift in (0..63).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Ok(number);
            }
        }
        self.fail("the number has more than 63 bits")
    }

    /// Likewise, in a narrower type.
    pub fn narrow<T: TryFrom<u64>>(&mut self) -> Result<T, BytesError> {
        let number = self.number()?;
        T::try_from(number).or_else(|_| self.fail("the number is too large for its field"))
    }

    /// A count of items of at least `least` bytes each, all within the remaining bytes.
    pub fn count(&mut self, least: usize) -> Result<usize, BytesError> {
        let count: usize = self.narrow()?;
        if count > (self.bytes.len() - self.at) / least {
            return self.fail("the count exceeds the remaining bytes");
        }
        Ok(count)
    }

    /// Checks that everything has been decoded.
    pub fn finish(&self) -> Result<(), BytesError> {
        if self.at == self.bytes.len() { Ok(()) } else { self.fail("unexpected bytes after the end") }
    }
}
