//! Does tfhe-rs decrypt Polyfabric's bootstraps to the same results as its own bootstraps; and are unsuitable arguments refused?

use polyfabric_machines::description;
use polyfabric_tfhe_rs::{AdapterError, Backend, Deviations, Element, KeySwitchOrder};
use tfhe::core_crypto::commons::math::random::{RandomGenerable, Uniform};
use tfhe::core_crypto::commons::math::torus::UnsignedTorus;
use tfhe::core_crypto::prelude::*;

/// Small noise, so that no test fails by chance.
const DEVIATIONS: Deviations = Deviations { lwe: 1e-7, glwe: 1e-8 };
const N: usize = 20;
const BITS: usize = 2;

trait Number:
    Element + UnsignedTorus + CastFrom<usize> + CastInto<usize> + RandomGenerable<Uniform, CustomModulus = Self>
{
}
impl Number for u32 {}
impl Number for u64 {}

struct Keys<T: Number> {
    small: LweSecretKeyOwned<T>,
    large: LweSecretKeyOwned<T>,
    bootstrap: LweBootstrapKeyOwned<T>,
    key_switch: LweKeyswitchKeyOwned<T>,
    encryption: EncryptionRandomGenerator<DefaultRandomGenerator>,
}

fn noise(deviation: f64) -> Gaussian<f64> {
    Gaussian::from_dispersion_parameter(StandardDev(deviation), 0.0)
}

fn delta<T: Number>() -> T {
    T::ONE << (<T as Numeric>::BITS - BITS - 1)
}

impl<T: Number> Keys<T> {
    /// `k` polynomials of `degree`; three levels in either gadget, so that a wrong order is detected.
    fn new(k: usize, degree: usize) -> Self {
        let mut seeder = new_seeder();
        let seeder = seeder.as_mut();
        let mut secret = SecretRandomGenerator::<DefaultRandomGenerator>::new(seeder.seed());
        let mut encryption = EncryptionRandomGenerator::new(seeder.seed(), seeder);
        let small = LweSecretKey::generate_new_binary(LweDimension(N), &mut secret);
        let glwe: GlweSecretKeyOwned<T> =
            GlweSecretKey::generate_new_binary(GlweDimension(k), PolynomialSize(degree), &mut secret);
        let (base, levels, modulus) =
            (DecompositionBaseLog(6), DecompositionLevelCount(3), CiphertextModulus::new_native());
        let bootstrap = allocate_and_generate_new_lwe_bootstrap_key(
            &small,
            &glwe,
            base,
            levels,
            noise(DEVIATIONS.glwe),
            modulus,
            &mut encryption,
        );
        let large = glwe.into_lwe_secret_key();
        let key_switch = allocate_and_generate_new_lwe_keyswitch_key(
            &large,
            &small,
            base,
            levels,
            noise(DEVIATIONS.lwe),
            modulus,
            &mut encryption,
        );
        Self { small, large, bootstrap, key_switch, encryption }
    }

    fn backend(&self) -> Backend<T> {
        Backend::new(&self.bootstrap, Some(&self.key_switch), DEVIATIONS).unwrap()
    }

    fn encrypt(&mut self, large: bool, messages: &[usize]) -> LweCiphertextListOwned<T> {
        let key = if large { &self.large } else { &self.small };
        let (size, modulus) = (key.lwe_dimension().to_lwe_size(), CiphertextModulus::new_native());
        let mut list = LweCiphertextList::new(T::ZERO, size, LweCiphertextCount(messages.len()), modulus);
        let encoded: Vec<T> = messages.iter().map(|&message| T::cast_from(message) * delta::<T>()).collect();
        let plaintexts = PlaintextList::from_container(encoded);
        encrypt_lwe_ciphertext_list(key, &mut list, &plaintexts, noise(DEVIATIONS.lwe), &mut self.encryption);
        list
    }

    fn decrypt(&self, large: bool, list: &LweCiphertextListOwned<T>) -> Vec<usize> {
        let key = if large { &self.large } else { &self.small };
        let rounded = |phase: T| -> usize {
            let value: usize = (UnsignedInteger::wrapping_add(phase, delta::<T>() >> 1)
                >> (<T as Numeric>::BITS - BITS - 1))
                .cast_into();
            value % (2 << BITS)
        };
        list.iter().map(|ciphertext| rounded(decrypt_lwe_ciphertext(key, &ciphertext).0)).collect()
    }

    fn table(&self, function: impl Fn(usize) -> usize) -> GlweCiphertextOwned<T> {
        generate_programmable_bootstrap_glwe_lut(
            self.bootstrap.polynomial_size(),
            self.bootstrap.glwe_size(),
            1 << BITS,
            CiphertextModulus::new_native(),
            delta::<T>(),
            |message: T| T::cast_from(function(message.cast_into())),
        )
    }
}

fn list<T: Number>(tables: &[&GlweCiphertextOwned<T>]) -> GlweCiphertextListOwned<T> {
    let data: Vec<T> = tables.iter().flat_map(|table| table.as_ref().iter().copied()).collect();
    let first = tables[0];
    GlweCiphertextList::from_container(
        data,
        first.glwe_size(),
        first.polynomial_size(),
        CiphertextModulus::new_native(),
    )
}

fn square(message: usize) -> usize {
    message * message % 4
}

fn every_order<T: Number>(k: usize, degree: usize) {
    let mut keys = Keys::<T>::new(k, degree);
    let backend = keys.backend();
    let processor = backend.processor(1).unwrap();
    let messages: Vec<usize> = (0..9).map(|index| index % 4).collect();
    let expected: Vec<usize> = messages.iter().map(|&message| square(message)).collect();
    let table = list(&[&keys.table(square)]);
    for (order, from_large, to_large) in [
        (KeySwitchOrder::None, false, true),
        (KeySwitchOrder::Before, true, true),
        (KeySwitchOrder::After, false, false),
    ] {
        let given = keys.encrypt(from_large, &messages);
        let found = processor.bootstrap(&given, &table, order).unwrap();
        assert_eq!(keys.decrypt(to_large, &found), expected, "{order:?}, k {k}, N {degree}");
    }
}

#[test]
fn bootstraps_in_every_order_decrypt() {
    every_order::<u32>(2, 512);
    every_order::<u64>(1, 1024);
}

#[test]
fn each_ciphertext_has_its_own_function() {
    let mut keys = Keys::<u64>::new(1, 512);
    let backend = keys.backend();
    let (squares, opposites) = (keys.table(square), keys.table(|message| 3 - message));
    let given = keys.encrypt(false, &[3, 3, 2]);
    let tables = list(&[&squares, &opposites, &squares]);
    let found = backend.processor(1).unwrap().bootstrap(&given, &tables, KeySwitchOrder::None).unwrap();
    assert_eq!(keys.decrypt(true, &found), [1, 0, 0]);
}

#[test]
fn results_are_near_those_of_the_other_library() {
    let mut keys = Keys::<u32>::new(2, 512);
    let backend = keys.backend();
    let (table, given) = (keys.table(square), keys.encrypt(false, &[0, 1, 2, 3]));
    let found = backend.processor(1).unwrap().bootstrap(&given, &list(&[&table]), KeySwitchOrder::None).unwrap();
    let bootstrap = &keys.bootstrap;
    let mut fourier = FourierLweBootstrapKey::new(
        bootstrap.input_lwe_dimension(),
        bootstrap.glwe_size(),
        bootstrap.polynomial_size(),
        bootstrap.decomposition_base_log(),
        bootstrap.decomposition_level_count(),
    );
    convert_standard_lwe_bootstrap_key_to_fourier(bootstrap, &mut fourier);
    for (ciphertext, ours) in given.iter().zip(found.iter()) {
        let size = keys.large.lwe_dimension().to_lwe_size();
        let mut theirs = LweCiphertext::new(0u32, size, CiphertextModulus::new_native());
        programmable_bootstrap_lwe_ciphertext(&ciphertext, &mut theirs, &table, &fourier);
        let [ours, theirs] =
            [decrypt_lwe_ciphertext(&keys.large, &ours).0, decrypt_lwe_ciphertext(&keys.large, &theirs).0];
        let apart = f64::from(ours.wrapping_sub(theirs) as i32) / 32f64.exp2();
        // One function of one ciphertext: both have the decomposition's error, some 2^-18·√(N k)/..., far below a step of 2^-3.
        assert!(apart.abs() < 1e-3, "{apart}");
    }
}

#[test]
fn a_machine_carries_a_batch_out_and_counts_it() {
    let mut keys = Keys::<u32>::new(2, 512);
    let backend = keys.backend();
    let machine = description("fpt").unwrap();
    let messages = [0, 1, 2, 3, 3];
    let given = keys.encrypt(false, &messages);
    let table = list(&[&keys.table(square)]);
    let (found, report) = backend.replay(&machine, &given, &table, KeySwitchOrder::None).unwrap();
    assert_eq!(keys.decrypt(true, &found), messages.map(square));
    let counted = backend.count(&machine, messages.len(), KeySwitchOrder::None).unwrap();
    assert_eq!((counted.cycles, counted.operations), (report.cycles, 5));
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut keys = Keys::<u64>::new(1, 512);
    let backend = keys.backend();
    let processor = backend.processor(1).unwrap();
    let table = keys.table(square);
    let tables = list(&[&table]);
    let small = keys.encrypt(false, &[1, 2]);
    let message = |found: Result<LweCiphertextListOwned<u64>, AdapterError>| found.unwrap_err().to_string();
    let order = KeySwitchOrder::Before;
    assert_eq!(
        message(processor.bootstrap(&small, &tables, order)),
        "the ciphertexts have 20 mask elements, and with the key switch Before the lookup they have 512; choose another order, or other ciphertexts"
    );
    let three = list(&[&table, &table, &table]);
    assert_eq!(
        message(processor.bootstrap(&small, &three, KeySwitchOrder::None)),
        "3 lookup tables for 2 ciphertexts; give one for all, or one for each"
    );
    let mut encrypted = table.clone();
    encrypted.as_mut()[5] = 1;
    assert_eq!(
        message(processor.bootstrap(&small, &list(&[&encrypted]), KeySwitchOrder::None)),
        "lookup table 0 is encrypted: its mask is not 0; give a trivial GLWE ciphertext, as generate_programmable_bootstrap_glwe_lut makes it"
    );
    let other = Keys::<u64>::new(2, 512);
    assert_eq!(
        message(processor.bootstrap(&small, &list(&[&other.table(square)]), KeySwitchOrder::None)),
        "the lookup tables have k = 2 and N = 512, and the bootstrapping key k = 1 and N = 512; make them for this key"
    );
    let refused = |found: Result<Backend<u64>, AdapterError>| found.err().map(|error| error.to_string()).unwrap();
    assert_eq!(
        refused(Backend::new(&keys.bootstrap, Some(&other.key_switch), DEVIATIONS)),
        "the key-switching key goes from 1024 to 20 bits, and the bootstrapping key's results have 512 and its inputs 20; give keys that were made together"
    );
    assert_eq!(
        refused(Backend::new(&keys.bootstrap, Some(&keys.key_switch), Deviations { glwe: 0.0, ..DEVIATIONS })),
        "the GLWE noise has a deviation of 0; give what the key was made with, a fraction of the torus above 0"
    );
    let alone = Backend::new(&keys.bootstrap, None::<&LweKeyswitchKeyOwned<u64>>, DEVIATIONS).unwrap();
    assert_eq!(
        message(alone.processor(1).unwrap().bootstrap(&small, &tables, KeySwitchOrder::After)),
        "parameter set tfhe-rs has no key-switch gadget, but the choice places a key switch after; choose another set, or no key switch"
    );
    let modulus = CiphertextModulus::try_new_power_of_2(62).unwrap();
    let odd = LweCiphertextList::new(0u64, LweSize(N + 1), LweCiphertextCount(1), modulus);
    assert!(
        message(processor.bootstrap(&odd, &tables, KeySwitchOrder::None))
            .starts_with("the ciphertexts have the modulus")
    );
}
