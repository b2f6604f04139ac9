//! The peer's integers: its high-level interface with its default parameters, for a failure probability of 2^-128.

use crate::clock::both_seconds;
use crate::protocol::{IntegerRound, Operands, Operation};
use tfhe::prelude::*;
use tfhe::{ClientKey, ConfigBuilder, FheBool, FheUint8, FheUint32, FheUint64, ServerKey, set_server_key};

/// Keys, and threads that have the server key.
pub struct Integers {
    client: ClientKey,
    server: ServerKey,
    pool: Option<rayon::ThreadPool>,
}

/// Encrypts, times the operation and decrypts, for one width.
macro_rules! round {
    ($kind:ty, $word:ty, $client:expr, $operation:expr, $operands:expr) => {{
        let Operands { x, y, amount } = $operands;
        let (a, b) = (<$kind>::encrypt(x as $word, $client), <$kind>::encrypt(y as $word, $client));
        let by = <$kind>::encrypt(amount as $word, $client);
        let bit = FheBool::encrypt(amount & 1 == 1, $client);
        let (seconds, processor_seconds, (number, flag)) = both_seconds(|| match $operation {
            Operation::Add => (Some(&a + &b), None),
            Operation::Multiply => (Some(&a * &b), None),
            Operation::Less => (None, Some(a.lt(&b))),
            Operation::Select => (Some(bit.if_then_else(&a, &b)), None),
            Operation::Shift => (Some(&a << &by), None),
            Operation::Divide => (Some(&a / &b), None),
        });
        let number = number.map(|number| {
            let value: $word = number.decrypt($client);
            u64::from(value)
        });
        let value = number.or(flag.map(|flag| u64::from(flag.decrypt($client))));
        value.map(|value| IntegerRound { seconds, processor_seconds, value })
    }};
}

impl Integers {
    pub fn new() -> Self {
        let (client, server) = tfhe::generate_keys(ConfigBuilder::default().build());
        Self { client, server, pool: None }
    }

    /// One operation on fresh ciphertexts; `None` for a width that is not compared.
    pub fn round(
        &mut self,
        operation: Operation,
        bits: u32,
        operands: Operands,
        threads: usize,
    ) -> Option<IntegerRound> {
        if self.pool.as_ref().is_none_or(|pool| pool.current_num_threads() != threads) {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started");
            pool.broadcast(|_| set_server_key(self.server.clone()));
            self.pool = Some(pool);
        }
        let (client, pool) = (&self.client, self.pool.as_ref()?);
        pool.install(|| match bits {
            8 => round!(FheUint8, u8, client, operation, operands),
            32 => round!(FheUint32, u32, client, operation, operands),
            64 => round!(FheUint64, u64, client, operation, operands),
            _ => None,
        })
    }
}
