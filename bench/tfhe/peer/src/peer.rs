//! The peer: tfhe-rs's programmable bootstrap, its batch call, and its key switch.

use crate::keys::{Element, Secrets, accumulator, error_of, noise, random_messages, slot};
use crate::protocol::Dimensions;
use crate::side::{Side, table};
use tfhe::core_crypto::commons::math::random::{RandomGenerable, Uniform};
use tfhe::core_crypto::prelude::*;

pub struct Peer<T: Element> {
    set: Dimensions,
    small_key: LweSecretKeyOwned<T>,
    large_key: LweSecretKeyOwned<T>,
    bootstrap_key: FourierLweBootstrapKeyOwned,
    key_switch_key: LweKeyswitchKeyOwned<T>,
    encryption: EncryptionRandomGenerator<DefaultRandomGenerator>,
    lut: GlweCiphertextOwned<T>,
    fft: Fft,
    messages: Vec<usize>,
    /// One slice of the batch for each thread.
    lanes: Vec<Lane<T>>,
    pool: Option<rayon::ThreadPool>,
}

struct Lane<T: Element> {
    inputs: LweCiphertextListOwned<T>,
    outputs: LweCiphertextListOwned<T>,
    switched: LweCiphertextListOwned<T>,
    luts: GlweCiphertextListOwned<T>,
    buffers: ComputationBuffers,
}

impl<T: Element> Peer<T> {
    pub fn new(set: &Dimensions) -> Self {
        let Secrets { small_key, glwe_key, mut encryption } = Secrets::<T>::new(set);
        let modulus = CiphertextModulus::new_native();
        let standard = par_allocate_and_generate_new_lwe_bootstrap_key(
            &small_key,
            &glwe_key,
            DecompositionBaseLog(set.log2_base),
            DecompositionLevelCount(set.levels),
            noise(set.glwe_noise),
            modulus,
            &mut encryption,
        );
        let mut bootstrap_key = FourierLweBootstrapKey::new(
            standard.input_lwe_dimension(),
            standard.glwe_size(),
            standard.polynomial_size(),
            standard.decomposition_base_log(),
            standard.decomposition_level_count(),
        );
        convert_standard_lwe_bootstrap_key_to_fourier(&standard, &mut bootstrap_key);
        drop(standard);
        let large_key = glwe_key.into_lwe_secret_key();
        let key_switch_key = allocate_and_generate_new_lwe_keyswitch_key(
            &large_key,
            &small_key,
            DecompositionBaseLog(set.key_switch_log2_base),
            DecompositionLevelCount(set.key_switch_levels),
            noise(set.lwe_noise),
            modulus,
            &mut encryption,
        );
        Self {
            set: set.clone(),
            small_key,
            large_key,
            bootstrap_key,
            key_switch_key,
            encryption,
            lut: accumulator(set),
            fft: Fft::new(PolynomialSize(set.ring_degree)),
            messages: Vec::new(),
            lanes: Vec::new(),
            pool: None,
        }
    }

    fn lane(&mut self, messages: &[usize]) -> Lane<T> {
        let modulus = CiphertextModulus::new_native();
        let count = LweCiphertextCount(messages.len());
        let small = self.small_key.lwe_dimension().to_lwe_size();
        let large = self.large_key.lwe_dimension().to_lwe_size();
        let mut inputs = LweCiphertextList::new(T::ZERO, small, count, modulus);
        let plaintexts = PlaintextList::from_container(messages.iter().map(|&m| slot::<T>(m)).collect::<Vec<_>>());
        let noise = noise(self.set.lwe_noise);
        encrypt_lwe_ciphertext_list(&self.small_key, &mut inputs, &plaintexts, noise, &mut self.encryption);
        let (size, degree) = (self.lut.glwe_size(), self.lut.polynomial_size());
        let luts = GlweCiphertextList::from_container(self.lut.as_ref().repeat(messages.len()), size, degree, modulus);
        let fft = self.fft.as_view();
        let mut buffers = ComputationBuffers::new();
        let single = programmable_bootstrap_lwe_ciphertext_mem_optimized_requirement::<T>(size, degree, fft);
        let batch = batch_programmable_bootstrap_lwe_ciphertext_mem_optimized_requirement::<T>(
            size,
            degree,
            CiphertextCount(messages.len()),
            fft,
        );
        buffers.resize(single.or(batch).unaligned_bytes_required());
        Lane {
            inputs,
            outputs: LweCiphertextList::new(T::ZERO, large, count, modulus),
            switched: LweCiphertextList::new(T::ZERO, small, count, modulus),
            luts,
            buffers,
        }
    }

    fn phases(&self, key: &LweSecretKeyOwned<T>, of: impl Fn(&Lane<T>) -> &LweCiphertextListOwned<T>) -> Vec<T> {
        self.lanes
            .iter()
            .flat_map(|lane| {
                of(lane).iter().map(|ciphertext| decrypt_lwe_ciphertext(key, &ciphertext).0).collect::<Vec<_>>()
            })
            .collect()
    }

    fn on_each_lane(&mut self, work: impl Fn(&Shared<'_, T>, &mut Lane<T>) + Sync) {
        let shared = Shared {
            bootstrap_key: &self.bootstrap_key,
            key_switch_key: &self.key_switch_key,
            lut: &self.lut,
            fft: self.fft.as_view(),
        };
        match &self.pool {
            None => self.lanes.iter_mut().for_each(|lane| work(&shared, lane)),
            Some(pool) => {
                let (shared, work) = (&shared, &work);
                let lanes = &mut self.lanes;
                pool.in_place_scope(|scope| {
                    for lane in lanes {
                        scope.spawn(move |_| work(shared, lane));
                    }
                });
            }
        }
    }
}

struct Shared<'a, T: Element> {
    bootstrap_key: &'a FourierLweBootstrapKeyOwned,
    key_switch_key: &'a LweKeyswitchKeyOwned<T>,
    lut: &'a GlweCiphertextOwned<T>,
    fft: FftView<'a>,
}

impl<T: Element> Side for Peer<T>
where
    T: RandomGenerable<Uniform, CustomModulus = T>,
{
    fn prepare(&mut self, batch: usize, threads: usize) {
        self.messages = random_messages(batch);
        let messages = self.messages.clone();
        let share = batch.div_ceil(threads);
        self.lanes = messages.chunks(share).map(|chunk| self.lane(chunk)).collect();
        self.pool = (threads > 1)
            .then(|| rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started"));
    }

    fn bootstrap(&mut self) {
        self.on_each_lane(|shared, lane| {
            let stack = lane.buffers.stack();
            if lane.inputs.lwe_ciphertext_count().0 == 1 {
                programmable_bootstrap_lwe_ciphertext_mem_optimized(
                    &lane.inputs.get(0),
                    &mut lane.outputs.get_mut(0),
                    shared.lut,
                    shared.bootstrap_key,
                    shared.fft,
                    stack,
                );
            } else {
                batch_programmable_bootstrap_lwe_ciphertext_mem_optimized(
                    &lane.inputs,
                    &mut lane.outputs,
                    &lane.luts,
                    shared.bootstrap_key,
                    shared.fft,
                    stack,
                );
            }
        });
    }

    fn key_switch(&mut self) {
        // The peer has no batched key switch: its users call the single one in a loop.
        self.on_each_lane(|shared, lane| {
            for (input, mut output) in lane.outputs.iter().zip(lane.switched.iter_mut()) {
                keyswitch_lwe_ciphertext(shared.key_switch_key, &input, &mut output);
            }
        });
    }

    fn bootstrap_errors(&self) -> Vec<f64> {
        let phases = self.phases(&self.large_key, |lane| &lane.outputs);
        phases.iter().zip(&self.messages).map(|(&phase, &message)| error_of(phase, slot(table(message)))).collect()
    }

    fn key_switch_errors(&self) -> Vec<f64> {
        let before = self.phases(&self.large_key, |lane| &lane.outputs);
        let after = self.phases(&self.small_key, |lane| &lane.switched);
        after.iter().zip(&before).map(|(&after, &before)| error_of(after, before)).collect()
    }
}
