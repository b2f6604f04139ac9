//! Numbers as bytes, seven bits each, and their reading where nothing that is read can be trusted.

/// Why bytes cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {at}: {cause}")]
pub struct BytesError {
    /// Where.
    pub at: usize,
    /// What is wrong.
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

/// Reads from the front.
#[derive(Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// At the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// An error at this place.
    pub fn fail<T>(&self, cause: &'static str) -> Result<T, BytesError> {
        Err(BytesError { at: self.at, cause })
    }

    /// The next byte.
    pub fn byte(&mut self) -> Result<u8, BytesError> {
        let Some(&byte) = self.bytes.get(self.at) else { return self.fail("the end comes too soon") };
        self.at += 1;
        Ok(byte)
    }

    /// A number that [`put`] wrote.
    pub fn number(&mut self) -> Result<u64, BytesError> {
        let mut number = 0;
        for shift in (0..63).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Ok(number);
            }
        }
        self.fail("a number of more than 63 bits")
    }

    /// The same in a narrower type.
    pub fn narrow<T: TryFrom<u64>>(&mut self) -> Result<T, BytesError> {
        let number = self.number()?;
        T::try_from(number).or_else(|_| self.fail("a number that is too large for its place"))
    }

    /// A count of things of at least `least` bytes each, of which there are enough.
    pub fn count(&mut self, least: usize) -> Result<usize, BytesError> {
        let count: usize = self.narrow()?;
        if count > (self.bytes.len() - self.at) / least {
            return self.fail("more is announced than there is");
        }
        Ok(count)
    }

    /// Whether everything has been read.
    ///
    /// # Errors
    /// [`BytesError`] if something is left.
    pub fn finish(&self) -> Result<(), BytesError> {
        if self.at == self.bytes.len() { Ok(()) } else { self.fail("something follows the end") }
    }
}
