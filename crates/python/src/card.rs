//! The card of NVIDIA's, and what it holds of a server's keys.

use crate::failure::{Failure, Kind};
use polyfabric_kernels::Torus;
use polyfabric_planner::rns::RnsPlan;
use polyfabric_runtime::gpu::{Cuda, Executor, GpuError, rns};
use polyfabric_schemes::rns::KeySet;
use polyfabric_schemes::tfhe::ServerKey;
use std::sync::{Arc, Mutex, PoisonError};

/// The first card, opened once: it is let go when the process ends. One that was not there is looked for again.
pub fn card() -> Result<Arc<Cuda>, GpuError> {
    static CARD: Mutex<Option<Arc<Cuda>>> = Mutex::new(None);
    let mut card = CARD.lock().unwrap_or_else(PoisonError::into_inner);
    match &*card {
        Some(card) => Ok(Arc::clone(card)),
        None => Ok(Arc::clone(card.insert(Arc::new(Cuda::first()?)))),
    }
}

/// A program on slots on the card, with a server's keys and all that it reads.
struct Prepared {
    plan: Arc<RnsPlan>,
    executor: Arc<rns::Executor<Cuda>>,
}

/// The program on slots that a server's keys were last used for on the card.
#[derive(Default)]
pub struct SlotsOnCard(Mutex<Option<Prepared>>);

impl SlotsOnCard {
    /// What runs `plan` with `keys`; another program is let go of.
    pub fn of(&self, plan: &Arc<RnsPlan>, keys: &KeySet) -> Result<Arc<rns::Executor<Cuda>>, Failure> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(prepared) = held.as_ref().filter(|prepared| Arc::ptr_eq(&prepared.plan, plan)) {
            return Ok(Arc::clone(&prepared.executor));
        }
        // Another program's memory is given back before this one's is taken.
        *held = None;
        let card = card().map_err(Failure::of(Kind::Run))?;
        let executor = Arc::new(rns::Executor::new(&card, plan.kernel(), keys).map_err(Failure::of(Kind::Run))?);
        *held = Some(Prepared { plan: Arc::clone(plan), executor: Arc::clone(&executor) });
        Ok(executor)
    }
}

/// A server's keys on the card, once an execution there has needed them.
#[derive(Default)]
pub struct OnCard<T: Torus>(Mutex<Option<Arc<Executor<T, Cuda>>>>);

impl<T: Torus> OnCard<T> {
    /// What runs programs with `key`.
    pub fn of(&self, key: &ServerKey<T>) -> Result<Arc<Executor<T, Cuda>>, Failure> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(executor) = &*held {
            return Ok(Arc::clone(executor));
        }
        let card = card().map_err(Failure::of(Kind::Run))?;
        let executor = Arc::new(Executor::new(&card, key).map_err(Failure::of(Kind::Run))?);
        Ok(Arc::clone(held.insert(executor)))
    }
}

/// Of a key of either torus.
#[derive(Default)]
pub struct AnyOnCard {
    /// On the torus of 32 bits.
    pub torus32: OnCard<u32>,
    /// On that of 64.
    pub torus64: OnCard<u64>,
}
