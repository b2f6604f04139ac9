//! Words of any width on a bus: the first field is the lowest.

/// Bits to be sent on a bus.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bits {
    bytes: Vec<u8>,
    width: usize,
}

impl Bits {
    /// An empty word.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends the lowest `width` bits of `value` above the current bits: negative numbers in two's complement.
    ///
    /// # Panics
    /// If `value` does not fit `width` bits, signed or unsigned, or `width` is above 128.
    #[must_use]
    pub fn field(mut self, value: impl TryInto<i128>, width: usize) -> Self {
        let value = value.try_into().ok().expect("a field of at most 127 bits");
        assert!(width <= 128);
        assert!(
            width > 126 || (-(1i128 << width.saturating_sub(1)) <= value && value < 1i128 << width),
            "{value} has more than {width} bits"
        );
        for bit in 0..width {
            if self.width.is_multiple_of(8) {
                self.bytes.push(0);
            }
            self.bytes[self.width / 8] |= (((value >> bit) & 1) as u8) << (self.width % 8);
            self.width += 1;
        }
        self
    }

    /// Appends many values of one width, the first lowest.
    #[must_use]
    pub fn fields<V: TryInto<i128>>(self, values: impl IntoIterator<Item = V>, width: usize) -> Self {
        values.into_iter().fold(self, |bits, value| bits.field(value, width))
    }

    /// Number of bits.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The bits as bytes, lowest first.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Reads fields from a bus, lowest first.
#[derive(Clone, Debug)]
pub struct Reader<'b> {
    bytes: &'b [u8],
    place: usize,
}

impl<'b> Reader<'b> {
    /// Starts at the lowest bit.
    pub fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, place: 0 }
    }

    /// The next `width` bits as an unsigned number.
    ///
    /// # Panics
    /// Beyond the end of the bus, or for more than 127 bits.
    pub fn unsigned(&mut self, width: usize) -> u128 {
        assert!(width < 128);
        let mut value = 0;
        for bit in 0..width {
            value |= u128::from((self.bytes[self.place / 8] >> (self.place % 8)) & 1) << bit;
            self.place += 1;
        }
        value
    }

    /// The next `width` bits in two's complement.
    ///
    /// # Panics
    /// As [`Self::unsigned`].
    pub fn signed(&mut self, width: usize) -> i128 {
        let value = self.unsigned(width) as i128;
        if width > 0 && value >> (width - 1) & 1 == 1 { value - (1 << width) } else { value }
    }
}

#[cfg(test)]
mod tests {
    //! Are fields read back as written?
    use super::*;

    #[test]
    fn fields_of_odd_widths_come_back() {
        let bits = Bits::new().field(5, 3).field(-2, 7).field(u64::MAX, 64).fields([1u8, 0, 1], 1).field(0xabc, 13);
        assert_eq!(bits.width(), 3 + 7 + 64 + 3 + 13);
        let mut reader = Reader::new(bits.bytes());
        assert_eq!((reader.unsigned(3), reader.signed(7), reader.unsigned(64)), (5, -2, u128::from(u64::MAX)));
        assert_eq!((reader.unsigned(3), reader.unsigned(13)), (0b101, 0xabc));
    }

    #[test]
    #[should_panic(expected = "has more than")]
    fn a_value_that_does_not_fit_is_refused() {
        let _ = Bits::new().field(8, 3);
    }
}
