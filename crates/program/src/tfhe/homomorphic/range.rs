//! Integer ranges with a stride: {lo, lo + stride, .., hi}.

/// The integers that a value can take: `lo`, `lo + stride`, .., `hi`.
///
/// Tracking the stride doubles the noise margin of sums of signs: three values of ±1 sum to {-3, -1, 1, 3}, two apart.
/// A single value has stride 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "(i64, i64, i64)", into = "(i64, i64, i64)")]
pub struct Range {
    lo: i64,
    hi: i64,
    stride: i64,
}

/// No parameter set supports larger values; the limit also keeps interval arithmetic far from overflow.
const LIMIT: i64 = 1 << 40;

fn gcd(mut a: i64, mut b: i64) -> i64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.abs()
}

impl From<Range> for (i64, i64, i64) {
    fn from(range: Range) -> Self {
        (range.lo, range.hi, range.slot())
    }
}

impl TryFrom<(i64, i64, i64)> for Range {
    type Error = String;

    fn try_from((lo, hi, stride): (i64, i64, i64)) -> Result<Self, String> {
        let message = || format!("{lo} to {hi} by {stride} is no range of integers within ±2^40; correct the bounds");
        Self::with_stride(lo, hi, stride).ok_or_else(message)
    }
}

impl Range {
    /// All integers from `lo` to `hi`; `None` when `lo > hi` or a bound exceeds 2^40 in magnitude.
    pub fn new(lo: i64, hi: i64) -> Option<Self> {
        Self::with_stride(lo, hi, 1)
    }

    /// `lo`, `lo + stride`, .., the last not above `hi`; `None` when `lo > hi`, `stride < 1`, or a bound exceeds
    /// 2^40 in magnitude.
    pub fn with_stride(lo: i64, hi: i64, stride: i64) -> Option<Self> {
        if lo > hi || stride < 1 || [lo, hi].iter().any(|end| end.unsigned_abs() > LIMIT.unsigned_abs()) {
            return None;
        }
        let hi = hi - (hi - lo) % stride;
        Some(Self { lo, hi, stride: if lo == hi { 0 } else { stride } })
    }

    /// The single value `value`, clamped to ±2^40.
    pub fn point(value: i64) -> Self {
        let value = value.clamp(-LIMIT, LIMIT);
        Self { lo: value, hi: value, stride: 0 }
    }

    /// The values of a Boolean in torus units: {-1, +1}.
    pub const fn sign() -> Self {
        Self { lo: -1, hi: 1, stride: 2 }
    }

    pub const fn lo(self) -> i64 {
        self.lo
    }

    pub const fn hi(self) -> i64 {
        self.hi
    }

    /// Distance between neighboring values; 0 for a single value.
    pub const fn stride(self) -> i64 {
        self.stride
    }

    /// Width of a value's slot: the stride, or 1 for a single value.
    pub const fn slot(self) -> i64 {
        if self.stride == 0 { 1 } else { self.stride }
    }

    pub fn count(self) -> u64 {
        ((self.hi - self.lo) / self.slot()) as u64 + 1
    }

    /// Whether `value` is one of the values.
    pub fn contains(self, value: i64) -> bool {
        value >= self.lo && value <= self.hi && (value - self.lo) % self.slot() == 0
    }

    /// The values, ascending.
    pub fn values(self) -> impl Iterator<Item = i64> {
        let slot = self.slot();
        (0..self.count() as i64).map(move |index| self.lo + index * slot)
    }

    /// The smallest range that contains both.
    pub fn union(self, other: Self) -> Self {
        let stride = gcd(gcd(self.stride, other.stride), self.lo - other.lo);
        Self { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi), stride }
    }

    /// Sums of one value from each; `None` beyond ±2^40.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        let sum = Self { lo: self.lo + other.lo, hi: self.hi + other.hi, stride: gcd(self.stride, other.stride) };
        (sum.lo.abs() <= LIMIT && sum.hi.abs() <= LIMIT).then_some(sum)
    }

    /// All values times `factor`; `None` beyond ±2^40.
    pub fn checked_mul(self, factor: i64) -> Option<Self> {
        let (lo, hi) = if factor < 0 { (self.hi, self.lo) } else { (self.lo, self.hi) };
        let lo = lo.checked_mul(factor)?;
        let hi = hi.checked_mul(factor)?;
        (lo.checked_abs()? <= LIMIT && hi.checked_abs()? <= LIMIT).then(|| Self {
            lo,
            hi,
            stride: if lo == hi { 0 } else { self.stride * factor.saturating_abs() },
        })
    }
}

#[cfg(test)]
mod tests {
    //! Range arithmetic: are bounds and stride exact?

    use super::*;

    #[test]
    fn sums_of_an_odd_number_of_signs_are_odd() {
        let sum = (0..5).fold(Range::point(0), |sum, _| sum.checked_add(Range::sign()).unwrap());
        assert_eq!(sum, Range::with_stride(-5, 5, 2).unwrap());
        assert!(sum.contains(3) && !sum.contains(2));
    }

    #[test]
    fn arithmetic_encloses_every_combination() {
        let a = Range::with_stride(-3, 9, 4).unwrap();
        let b = Range::with_stride(2, 8, 6).unwrap();
        for factor in [-5, -1, 0, 1, 3] {
            let result = a.checked_mul(factor).unwrap().checked_add(b).unwrap();
            for x in a.values() {
                for y in b.values() {
                    assert!(result.contains(factor * x + y), "{factor} {x} {y} {result:?}");
                }
            }
        }
        for value in a.values().chain(b.values()) {
            assert!(a.union(b).contains(value));
        }
    }

    #[test]
    fn bounds_are_refused_beyond_the_limit() {
        assert!(Range::new(1, 0).is_none());
        for far in [LIMIT + 1, i64::MAX, i64::MIN] {
            assert!(Range::new(0.min(far), 0.max(far)).is_none());
        }
        // As deserialized from a file.
        assert!(Range::try_from((i64::MIN, 0, 1)).is_err());
        let wide = Range::new(0, LIMIT).unwrap();
        assert!(wide.checked_add(Range::point(1)).is_none());
        assert!(wide.checked_mul(i64::MAX).is_none());
    }
}
