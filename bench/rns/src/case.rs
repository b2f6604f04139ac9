//! The benchmark's cases: parameter sets and the operations measured on each.

use crate::protocol::{Chain, Request, Scheme};

#[derive(Clone, Debug)]
pub struct Case {
    pub name: &'static str,
    pub scheme: Scheme,
    pub log_n: u32,
    /// Moduli of the peers.
    pub chain: Chain,
    /// Our set of these parameters: the same ring and bits of Q, at most as many bits of P, with moduli that suit this processor.
    pub set: &'static str,
    pub log_scale: u32,
    pub rotations: Vec<i64>,
    pub ops: &'static [&'static str],
    /// Largest allowed error of a decrypted slot.
    pub tolerance: f64,
}

const CKKS: &[&str] = &["multiply", "rotate", "rotate hoisted", "multiply plain"];
const BGV: &[&str] = &["multiply", "rotate"];
const BOOTSTRAPPING: &[&str] = &["bootstrap", "bootstrap half", "bootstrap compact"];

impl Case {
    /// The request that prepares this case; for bootstrapping, only for operation `op`.
    pub fn prepare(&self, op: &str) -> Request {
        Request::Prepare {
            scheme: self.scheme,
            log_n: self.log_n,
            chain: self.chain.clone(),
            log_scale: self.log_scale,
            set: self.set.to_owned(),
            rotations: self.rotations.clone(),
            point: op.to_owned(),
        }
    }

    /// The operation's name in the result rows.
    pub fn row_op(&self, op: &str) -> String {
        match self.scheme {
            Scheme::Bgv => format!("bgv {op}"),
            Scheme::Ckks => format!("ckks {op}"),
            Scheme::Ntt | Scheme::Bootstrapping => op.to_owned(),
        }
    }

    /// The parameters as text, for the result rows.
    pub fn words(&self) -> String {
        match self.scheme {
            Scheme::Ntt => format!("N=2^{}, {}-bit prime", self.log_n, self.chain.log_q[0]),
            Scheme::Bootstrapping => format!("N=2^{}, {}", self.log_n, self.name),
            _ => format!(
                "N=2^{}, {} limbs, logQP {}, dnum {}",
                self.log_n,
                self.chain.log_q.len(),
                self.chain.log_qp(),
                self.chain.digits()
            ),
        }
    }
}

fn ckks(name: &'static str, set: &'static str, log_n: u32, chain: Chain, log_scale: u32) -> Case {
    let rotations = (1..=8).collect();
    Case { name, scheme: Scheme::Ckks, log_n, chain, set, log_scale, rotations, ops: CKKS, tolerance: 1e-4 }
}

fn bgv(name: &'static str, set: &'static str, log_n: u32, chain: Chain) -> Case {
    let rotations = vec![1];
    Case { name, scheme: Scheme::Bgv, log_n, chain, set, log_scale: 0, rotations, ops: BGV, tolerance: 0.0 }
}

/// A case that requires `bits` of precision in the worst slot.
fn bootstrapping(name: &'static str, set: &'static str, log_n: u32, bits: i32) -> Case {
    let (scheme, chain, tolerance) = (Scheme::Bootstrapping, Chain::default(), f64::exp2(f64::from(-bits)));
    Case { name, scheme, log_n, chain, set, log_scale: 40, rotations: vec![], ops: BOOTSTRAPPING, tolerance }
}

fn ntt(name: &'static str, log_n: u32) -> Case {
    let chain = Chain::new([49], []);
    let scheme = Scheme::Ntt;
    Case { name, scheme, log_n, chain, set: "", log_scale: 0, rotations: vec![], ops: &["ntt"], tolerance: 0.0 }
}

/// All cases, in the order in which they run.
pub fn full() -> Vec<Case> {
    let mut limbs = vec![50; 16];
    limbs.extend([49; 9]);
    vec![
        ntt("ntt-12", 12),
        ntt("ntt-13", 13),
        ntt("ntt-14", 14),
        ntt("ntt-15", 15),
        ntt("ntt-16", 16),
        bgv("bgv-12", "bgv-2p12-109", 12, Chain::new([36, 36], [37])),
        bgv("bgv-13", "bgv-2p13-218", 13, Chain::new([43, 43, 44, 44], [44])),
        bgv("bgv-14", "bgv-2p14-423", 14, Chain::new([55, 55, 55, 55, 54, 54], [55, 55])),
        ckks("ckks-14", "ckks-bench-a-ifma", 14, Chain::new([40; 8], [55, 55]), 40),
        ckks("ckks-16", "ckks-bench-b-ifma", 16, Chain::new(limbs, [61; 5]), 49),
        // As secure as the peer's set, with as many levels left.
        bootstrapping("N16QP1546H192H32", "ckks-boot-1519", 16, 24),
    ]
}

/// Small versions of the cases, which check results without times.
pub fn small() -> Vec<Case> {
    let chain = Chain::default;
    vec![
        ntt("ntt-10", 10),
        bgv("bgv-10", "bgv-toy-1024", 10, chain()),
        ckks("ckks-10", "toy-10", 10, chain(), 40),
        bootstrapping("bootstrap-11", "toy-11-boot", 11, 15),
    ]
}
