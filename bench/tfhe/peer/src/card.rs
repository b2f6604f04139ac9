//! The peer on a GPU: the CUDA backend of tfhe-rs, through its public batch interface.

use crate::keys::{Secrets, accumulator, error_of, noise, random_messages, slot};
use crate::protocol::{CardSet, Dimensions};
use crate::side::{Side, table};
use tfhe::core_crypto::gpu::glwe_ciphertext_list::CudaGlweCiphertextList;
use tfhe::core_crypto::gpu::lwe_bootstrap_key::{CudaLweBootstrapKey, CudaModulusSwitchNoiseReductionConfiguration};
use tfhe::core_crypto::gpu::lwe_ciphertext_list::CudaLweCiphertextList;
use tfhe::core_crypto::gpu::lwe_keyswitch_key::CudaLweKeyswitchKey;
use tfhe::core_crypto::gpu::lwe_multi_bit_bootstrap_key::CudaLweMultiBitBootstrapKey;
use tfhe::core_crypto::gpu::vec::{CudaVec, GpuIndex};
use tfhe::core_crypto::gpu::{
    CudaStreams, cuda_keyswitch_lwe_ciphertext, cuda_multi_bit_programmable_bootstrap_lwe_ciphertext,
    cuda_programmable_bootstrap_lwe_ciphertext, is_cuda_available,
};
use tfhe::core_crypto::prelude::*;
use tfhe::shortint::parameters::v1_8::*;
use tfhe::shortint::parameters::{ClassicPBSParameters, ModulusSwitchType, MultiBitPBSParameters};

/// For more ciphertexts, the backend's documentation advises its key switch by matrix products (GEMM), on an H100.
const GEMM_KEY_SWITCH_ABOVE: usize = 128;
/// Most levels that the key switch by matrix products supports.
const GEMM_KEY_SWITCH_LEVELS: usize = 9;

enum BootstrapKey {
    Classical(CudaLweBootstrapKey),
    MultiBit(CudaLweMultiBitBootstrapKey<u64>),
}

pub struct Card {
    set: Dimensions,
    small_key: LweSecretKeyOwned<u64>,
    large_key: LweSecretKeyOwned<u64>,
    encryption: EncryptionRandomGenerator<DefaultRandomGenerator>,
    bootstrap_key: BootstrapKey,
    key_switch_key: CudaLweKeyswitchKey<u64>,
    accumulator: CudaGlweCiphertextList<u64>,
    messages: Vec<usize>,
    batch: Option<Batch>,
    streams: CudaStreams,
}

/// Ciphertexts in the GPU's memory.
struct Batch {
    inputs: CudaLweCiphertextList<u64>,
    outputs: CudaLweCiphertextList<u64>,
    switched: CudaLweCiphertextList<u64>,
    /// Index of each ciphertext: the identity.
    indexes: CudaVec<u64>,
    /// Table index of each ciphertext; there is one table.
    lut_indexes: CudaVec<u64>,
}

/// Why the backend does not support `set`.
fn refusal(set: &CardSet) -> Option<String> {
    let CardSet { dimensions, key_bits, .. } = set;
    if dimensions.torus_bits != 64 {
        Some("its CUDA backend supports only the 64-bit torus".to_owned())
    } else if dimensions.lwe_dimension % key_bits != 0 {
        Some(format!("{key_bits} key bits per iteration do not divide its {} bits", dimensions.lwe_dimension))
    } else if !is_cuda_available() {
        Some("it finds no GPU".to_owned())
    } else {
        None
    }
}

impl Card {
    pub fn new(set: &CardSet) -> Result<Self, String> {
        if let Some(reason) = refusal(set) {
            return Err(reason);
        }
        let CardSet { dimensions, key_bits, centred, .. } = set;
        let streams = CudaStreams::new_single_gpu(GpuIndex::new(0));
        let Secrets { small_key, glwe_key, mut encryption } = Secrets::new(dimensions);
        let (base, levels) = (DecompositionBaseLog(dimensions.log2_base), DecompositionLevelCount(dimensions.levels));
        let (glwe_noise, modulus) = (noise(dimensions.glwe_noise), CiphertextModulus::new_native());
        let bootstrap_key = if *key_bits == 1 {
            let key = par_allocate_and_generate_new_lwe_bootstrap_key(
                &small_key,
                &glwe_key,
                base,
                levels,
                glwe_noise,
                modulus,
                &mut encryption,
            );
            let switch = centred.then_some(CudaModulusSwitchNoiseReductionConfiguration::Centered);
            BootstrapKey::Classical(CudaLweBootstrapKey::from_lwe_bootstrap_key(&key, switch, &streams))
        } else {
            let key = par_allocate_and_generate_new_lwe_multi_bit_bootstrap_key(
                &small_key,
                &glwe_key,
                base,
                levels,
                LweBskGroupingFactor(*key_bits),
                glwe_noise,
                modulus,
                &mut encryption,
            );
            BootstrapKey::MultiBit(CudaLweMultiBitBootstrapKey::from_lwe_multi_bit_bootstrap_key(&key, &streams))
        };
        let large_key = glwe_key.into_lwe_secret_key();
        let key_switch_key = allocate_and_generate_new_lwe_keyswitch_key(
            &large_key,
            &small_key,
            DecompositionBaseLog(dimensions.key_switch_log2_base),
            DecompositionLevelCount(dimensions.key_switch_levels),
            noise(dimensions.lwe_noise),
            modulus,
            &mut encryption,
        );
        Ok(Self {
            set: dimensions.clone(),
            small_key,
            large_key,
            encryption,
            bootstrap_key,
            key_switch_key: CudaLweKeyswitchKey::from_lwe_keyswitch_key(&key_switch_key, &streams),
            accumulator: CudaGlweCiphertextList::from_glwe_ciphertext(&accumulator(dimensions), &streams),
            messages: Vec::new(),
            batch: None,
            streams,
        })
    }

    fn upload(&self, words: &[u64]) -> CudaVec<u64> {
        // SAFETY: `words` stays valid until the stream is synchronised.
        let copy = unsafe { CudaVec::from_cpu_async(words, &self.streams, 0) };
        self.streams.synchronize();
        copy
    }

    fn phases(&self, key: &LweSecretKeyOwned<u64>, of: impl Fn(&Batch) -> &CudaLweCiphertextList<u64>) -> Vec<u64> {
        let Some(batch) = &self.batch else { return Vec::new() };
        let list = of(batch).to_lwe_ciphertext_list(&self.streams);
        list.iter().map(|ciphertext| decrypt_lwe_ciphertext(key, &ciphertext).0).collect()
    }
}

impl Side for Card {
    fn prepare(&mut self, batch: usize, _: usize) {
        self.batch = None;
        self.messages = random_messages(batch);
        let (modulus, count) = (CiphertextModulus::new_native(), LweCiphertextCount(batch));
        let (small, large) = (self.small_key.lwe_dimension(), self.large_key.lwe_dimension());
        let plaintexts =
            PlaintextList::from_container(self.messages.iter().map(|&m| slot::<u64>(m)).collect::<Vec<_>>());
        let mut inputs = LweCiphertextList::new(0, small.to_lwe_size(), count, modulus);
        let noise = noise(self.set.lwe_noise);
        par_encrypt_lwe_ciphertext_list(&self.small_key, &mut inputs, &plaintexts, noise, &mut self.encryption);
        self.batch = Some(Batch {
            inputs: CudaLweCiphertextList::from_lwe_ciphertext_list(&inputs, &self.streams),
            outputs: CudaLweCiphertextList::new(large, count, modulus, &self.streams),
            switched: CudaLweCiphertextList::new(small, count, modulus, &self.streams),
            indexes: self.upload(&(0..batch as u64).collect::<Vec<_>>()),
            lut_indexes: self.upload(&vec![0; batch]),
        });
    }

    fn bootstrap(&mut self) {
        let Some(Batch { inputs, outputs, indexes, lut_indexes, .. }) = &mut self.batch else { return };
        let (lut, streams) = (&self.accumulator, &self.streams);
        match &self.bootstrap_key {
            BootstrapKey::Classical(key) => {
                cuda_programmable_bootstrap_lwe_ciphertext(
                    inputs,
                    outputs,
                    lut,
                    lut_indexes,
                    indexes,
                    indexes,
                    key,
                    streams,
                );
            }
            BootstrapKey::MultiBit(key) => cuda_multi_bit_programmable_bootstrap_lwe_ciphertext(
                inputs,
                outputs,
                lut,
                lut_indexes,
                indexes,
                indexes,
                key,
                streams,
            ),
        }
        streams.synchronize();
    }

    fn key_switch(&mut self) {
        let Some(Batch { outputs, switched, indexes, .. }) = &mut self.batch else { return };
        let gemm = self.messages.len() > GEMM_KEY_SWITCH_ABOVE && self.set.key_switch_levels <= GEMM_KEY_SWITCH_LEVELS;
        let (key, streams) = (&self.key_switch_key, &self.streams);
        cuda_keyswitch_lwe_ciphertext(key, outputs, switched, indexes, indexes, true, streams, gemm);
        streams.synchronize();
    }

    fn bootstrap_errors(&self) -> Vec<f64> {
        let phases = self.phases(&self.large_key, |batch| &batch.outputs);
        phases.iter().zip(&self.messages).map(|(&phase, &message)| error_of(phase, slot(table(message)))).collect()
    }

    fn key_switch_errors(&self) -> Vec<f64> {
        let before = self.phases(&self.large_key, |batch| &batch.outputs);
        let after = self.phases(&self.small_key, |batch| &batch.switched);
        after.iter().zip(&before).map(|(&after, &before)| error_of(after, before)).collect()
    }
}

/// The standard deviation of Gaussian noise.
fn deviation(noise: DynamicDistribution<u64>) -> f64 {
    match noise {
        DynamicDistribution::Gaussian(gaussian) => gaussian.standard_dev().0,
        DynamicDistribution::TUniform(_) => unreachable!("the sets that are listed have Gaussian noise"),
    }
}

/// Dimensions of either type of the library's sets, whose fields have the same names.
macro_rules! dimensions {
    ($set:expr) => {
        Dimensions {
            torus_bits: 64,
            lwe_dimension: $set.lwe_dimension.0,
            glwe_dimension: $set.glwe_dimension.0,
            ring_degree: $set.polynomial_size.0,
            log2_base: $set.pbs_base_log.0,
            levels: $set.pbs_level.0,
            key_switch_log2_base: $set.ks_base_log.0,
            key_switch_levels: $set.ks_level.0,
            lwe_noise: deviation($set.lwe_noise_distribution),
            glwe_noise: deviation($set.glwe_noise_distribution),
        }
    };
}

fn classical(name: &str, set: &ClassicPBSParameters) -> CardSet {
    let centred = set.modulus_switch_noise_reduction_params == ModulusSwitchType::CenteredMeanNoiseReduction;
    CardSet { name: name.to_owned(), dimensions: dimensions!(set), key_bits: 1, centred }
}

fn multi_bit(name: &str, set: &MultiBitPBSParameters) -> CardSet {
    CardSet { name: name.to_owned(), dimensions: dimensions!(set), key_bits: set.grouping_factor.0, centred: false }
}

/// The library's sets for a failure probability of 2^-128 and its CUDA backend: one and two message bits, and as many carry bits.
pub fn sets() -> Vec<CardSet> {
    let (one, two) = ("message-1-carry-1", "message-2-carry-2");
    vec![
        classical(one, &V1_8_PARAM_MESSAGE_1_CARRY_1_KS_PBS_GAUSSIAN_2M128),
        multi_bit(one, &V1_8_PARAM_GPU_MULTI_BIT_GROUP_2_MESSAGE_1_CARRY_1_KS_PBS_GAUSSIAN_2M128),
        multi_bit(one, &V1_8_PARAM_GPU_MULTI_BIT_GROUP_4_MESSAGE_1_CARRY_1_KS_PBS_GAUSSIAN_2M128),
        classical(two, &V1_8_PARAM_MESSAGE_2_CARRY_2_KS_PBS_GAUSSIAN_2M128),
        multi_bit(two, &V1_8_PARAM_GPU_MULTI_BIT_GROUP_2_MESSAGE_2_CARRY_2_KS_PBS_GAUSSIAN_2M128),
        multi_bit(two, &V1_8_PARAM_GPU_MULTI_BIT_GROUP_4_MESSAGE_2_CARRY_2_KS_PBS_GAUSSIAN_2M128),
    ]
}
