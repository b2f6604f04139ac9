//! The client: tfhe-rs's own keys, encryption and decryption of Booleans at plus and minus an eighth.

use polyfabric_tfhe_rs::{AdapterError, Backend, Deviations};
use tfhe::core_crypto::prelude::*;

/// A parameter set, in the types of tfhe-rs's functions.
#[derive(Clone, Copy)]
pub struct Set {
    n: usize,
    k: usize,
    degree: usize,
    bootstrap: (usize, usize),
    key_switch: (usize, usize),
    deviations: Deviations,
}

/// Set I of FPT's paper, the default of the Boolean library of its time.
pub const SET_I: Set = Set {
    n: 586,
    k: 2,
    degree: 512,
    bootstrap: (8, 2),
    key_switch: (2, 5),
    deviations: Deviations { lwe: 9.25e-5, glwe: 3.42e-8 },
};

/// Small, with little noise, and no security: for tests.
pub const SMALL: Set = Set {
    n: 32,
    k: 2,
    degree: 512,
    bootstrap: (8, 2),
    key_switch: (2, 8),
    deviations: Deviations { lwe: 1e-7, glwe: 1e-9 },
};

/// An eighth of the torus.
pub const EIGHTH: u32 = 1 << 29;

/// Keys and randomness.
pub struct Client {
    set: Set,
    small: LweSecretKeyOwned<u32>,
    glwe: GlweSecretKeyOwned<u32>,
    encryption: EncryptionRandomGenerator<DefaultRandomGenerator>,
}

fn noise(deviation: f64) -> Gaussian<f64> {
    Gaussian::from_dispersion_parameter(StandardDev(deviation), 0.0)
}

impl Client {
    pub fn new(set: Set) -> Self {
        let mut seeder = new_seeder();
        let seeder = seeder.as_mut();
        let mut secret = SecretRandomGenerator::<DefaultRandomGenerator>::new(seeder.seed());
        Self {
            set,
            small: LweSecretKey::generate_new_binary(LweDimension(set.n), &mut secret),
            glwe: GlweSecretKey::generate_new_binary(GlweDimension(set.k), PolynomialSize(set.degree), &mut secret),
            encryption: EncryptionRandomGenerator::new(seeder.seed(), seeder),
        }
    }

    /// The server's keys, converted for Polyfabric.
    pub fn backend(&mut self) -> Result<Backend<u32>, AdapterError> {
        let (set, modulus) = (self.set, CiphertextModulus::new_native());
        let bootstrap = par_allocate_and_generate_new_lwe_bootstrap_key(
            &self.small,
            &self.glwe,
            DecompositionBaseLog(set.bootstrap.0),
            DecompositionLevelCount(set.bootstrap.1),
            noise(set.deviations.glwe),
            modulus,
            &mut self.encryption,
        );
        let key_switch = allocate_and_generate_new_lwe_keyswitch_key(
            &self.glwe.as_lwe_secret_key(),
            &self.small,
            DecompositionBaseLog(set.key_switch.0),
            DecompositionLevelCount(set.key_switch.1),
            noise(set.deviations.lwe),
            modulus,
            &mut self.encryption,
        );
        Backend::new(&bootstrap, Some(&key_switch), set.deviations)
    }

    /// The function of every gate: an eighth for a phase in the upper half of the torus.
    pub fn sign(&self) -> GlweCiphertextListOwned<u32> {
        let (size, degree) = (GlweDimension(self.set.k).to_glwe_size(), PolynomialSize(self.set.degree));
        let glwe = [vec![0; self.set.k * self.set.degree], vec![EIGHTH; self.set.degree]].concat();
        GlweCiphertextList::from_container(glwe, size, degree, CiphertextModulus::new_native())
    }

    pub fn encrypt(&mut self, bits: &[bool]) -> LweCiphertextListOwned<u32> {
        let size = self.small.lwe_dimension().to_lwe_size();
        let mut encrypted =
            LweCiphertextList::new(0, size, LweCiphertextCount(bits.len()), CiphertextModulus::new_native());
        let encoded = bits.iter().map(|&bit| if bit { EIGHTH } else { EIGHTH.wrapping_neg() }).collect::<Vec<u32>>();
        let plaintexts = PlaintextList::from_container(encoded);
        let deviation = noise(self.set.deviations.lwe);
        encrypt_lwe_ciphertext_list(&self.small, &mut encrypted, &plaintexts, deviation, &mut self.encryption);
        encrypted
    }

    pub fn decrypt(&self, bits: &LweCiphertextListOwned<u32>) -> Vec<bool> {
        bits.iter().map(|bit| decrypt_lwe_ciphertext(&self.small, &bit).0 < 1 << 31).collect()
    }
}
