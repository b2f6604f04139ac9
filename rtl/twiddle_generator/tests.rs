//! Are the factors powers of the root in Montgomery form, in both directions and for every limb?

use crate::base_conversion::{moduli, montgomery};
use crate::montgomery_multiplier::negated_inverse;
use crate::{described, rng};
use polyfabric_kernels::modular::Modulus;
use polyfabric_kernels::primes::primitive_root;
use polyfabric_machines::osiris::units::Direction;
use polyfabric_rtl::{Bench, Bits, Reader};
use rand::Rng;

const WIDTH: usize = 40;

/// The powers in a transform of degree 2^`log2`.
pub(crate) struct Powers {
    modulus: Modulus,
    root: u64,
    scale: u64,
}

impl Powers {
    pub(crate) fn new(modulus: Modulus, log2: u32, direction: Direction) -> Self {
        let root = primitive_root(modulus, 2 << log2).expect("a root");
        let inverse = |word| modulus.inverse(word).expect("an inverse");
        match direction {
            Direction::Forward => Self { modulus, root, scale: 1 },
            Direction::Inverse => Self { modulus, root: inverse(root), scale: inverse(2) },
        }
    }

    /// A factor in the unit's form.
    fn factor(&self, exponent: u64) -> u64 {
        montgomery(self.modulus).enter(self.modulus.multiply(self.scale, self.modulus.power(self.root, exponent)))
    }

    /// Entry `address` of both tables.
    fn entries(&self, address: usize, low_bits: usize) -> [u64; 2] {
        let low = montgomery(self.modulus).enter(self.modulus.power(self.root, address as u64));
        [low, self.factor((address as u64) << low_bits)]
    }
}

/// The write bus: entries at `address` of limb `limb`, or none.
pub(crate) fn write(
    bits: Bits,
    (limb_bits, low_bits, high_bits): (usize, usize, usize),
    entry: Option<(usize, usize, &[Powers; 2])>,
) -> Bits {
    let address_bits = low_bits.max(high_bits);
    let Some((limb, address, powers)) = entry else {
        return bits.field(0, 1 + limb_bits + address_bits).fields([0u64; 6], WIDTH);
    };
    let [inverse, forward] = [&powers[0], &powers[1]].map(|powers| powers.entries(address, low_bits));
    let q = powers[0].modulus.value();
    let bits = bits.field(1, 1).field(limb as u64, limb_bits).field(address as u64, address_bits);
    bits.fields([inverse[0], forward[0], inverse[1], forward[1], q, negated_inverse(q, WIDTH)], WIDTH)
}

/// Three lanes of a ring of degree 32.
fn factors_are_powers(limbs: usize) {
    let (lanes, [low_bits, high_bits]) = (3, [3, 2]);
    // At least one bit, even for one limb.
    let limb_bits = limbs.next_power_of_two().ilog2().max(1) as usize;
    let mut bench = Bench::new("twiddle_generator");
    for (name, value) in [("LANES", lanes), ("LIMBS", limbs), ("LOW_BITS", low_bits), ("HIGH_BITS", high_bits)] {
        bench = bench.parameter(name, value as u64);
    }
    let unit = bench.simulate().expect("a unit");
    let moduli = moduli(32, limbs);
    let powers: Vec<[Powers; 2]> = moduli
        .iter()
        .map(|&q| [Direction::Inverse, Direction::Forward].map(|direction| Powers::new(q, 5, direction)))
        .collect();
    let widths = (limb_bits, low_bits, high_bits);
    let read = |bits: Bits, request: Option<(usize, usize, [u64; 3])>| match request {
        None => bits.field(0, 2 + limb_bits + lanes * (low_bits + high_bits)),
        Some((direction, limb, exponents)) => bits
            .field(1, 1)
            .field(direction as u64, 1)
            .field(limb as u64, limb_bits)
            .fields(exponents, low_bits + high_bits),
    };
    let writes = (0..limbs).flat_map(|limb| (0..1 << low_bits).map(move |address| (limb, address)));
    let mut words: Vec<Option<Bits>> = writes
        .map(|(limb, address)| Some(read(write(Bits::new(), widths, Some((limb, address, &powers[limb]))), None)))
        .collect();
    let (mut rng, written) = (rng(3), words.len());
    let requests: Vec<Option<(usize, usize, [u64; 3])>> = (0..300)
        .map(|_| {
            let exponents = [0, 1, 2].map(|_| rng.random_range(0..32));
            rng.random::<bool>().then(|| (rng.random_range(0..2), rng.random_range(0..limbs), exponents))
        })
        .collect();
    words.extend(
        requests.iter().map(|&request| request.map(|request| read(write(Bits::new(), widths, None), Some(request)))),
    );
    // An entry of each table, then the product.
    let latency = 1 + described("osiris", "units.pipeline.multiplier") as usize;
    let mut outputs = unit.run(words, latency).expect("a run").into_iter();
    for (cycle, request) in requests.iter().enumerate() {
        let Some((direction, limb, exponents)) = request else { continue };
        let output = outputs.next().expect("factors");
        assert_eq!(output.cycle, (written + cycle + latency) as u64);
        let mut reader = Reader::new(&output.bytes);
        let mut next = || reader.unsigned(WIDTH) as u64;
        let q = moduli[*limb].value();
        assert_eq!([next(), next()], [q, negated_inverse(q, WIDTH)]);
        assert_eq!([next(), next(), next()], exponents.map(|exponent| powers[*limb][*direction].factor(exponent)));
    }
    assert!(outputs.next().is_none());
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn three_lanes_of_three_limbs() {
    factors_are_powers(3);
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn three_lanes_of_one_limb() {
    factors_are_powers(1);
}
