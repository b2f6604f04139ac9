//! Keys of several owners: CKKS and BGV for n parties, all of whom must take part in a decryption, or any t of them (`threshold.rs`).
//!
//! Each party draws a ternary s_i. The secret is s = Σ s_i, which nobody has. The parties make joint keys in two rounds and then decrypt with
//! one message each. Ciphertexts, the public key and the evaluation keys are as with one owner, so servers do not differ.
//!
//! | round | party i sends | all of them give |
//! |---|---|---|
//! | first | −a·s_i + e_i for the public key, the same with a part of the old secret for each automorphism; −a·u_i + g·s_i + e and −a·s_i + e' for the relinearisation key | public key, keys of automorphisms, H_0 and H_1 |
//! | second | s_i·H_0 + (u_i − s_i)·H_1 + e'' + e''' | the relinearisation key, (Σ, H_1) |
//! | decryption | s_i·c_1 + e with *smudging* noise e | the phase c_0 + Σ |
//!
//! Here a are uniform polynomials from a seed that all agree on, and u_i is a second ternary secret of the party. The protocols are those of
//! C. Mouchet, J. Troncoso-Pastoriza, J.-P. Bossuat and J.-P. Hubaux, PoPETs 2021 (public, automorphism and relinearisation keys), and of
//! G. Asharov, A. Jain, A. López-Alt, E. Tromer, V. Vaikuntanathan and D. Wichs, EUROCRYPT 2012 (public key, decryption with smudging). The
//! second message is the sum of the two that PoPETs 2021 has, which only their sum is used of.
//!
//! # Security
//! The parties follow the protocol (semi-honest). Then n − 1 of them together learn the results that were decrypted and no more of the
//! last one's secret and inputs than RLWE with his ternary secret hides. A party that deviates can do worse: one that chooses its first
//! message after it saw the others' can make the second round reveal a secret, and one that makes up a ciphertext can have it decrypted.
//!
//! [`Smudging`] states how well a share hides the error of its ciphertext. All randomness of a party comes from one seed: the same request
//! gives the same bytes, and noise differs between any two requests. So nobody averages the noise away by asking twice.

mod keys;
mod message;
mod party;
mod session;
mod shares;
mod smudging;
#[cfg(test)]
mod tests;
mod threshold;

pub use keys::{JointKeys, JointPublicKey};
pub use message::{Joint, Message, Round};
pub use party::Party;
pub use session::{JointError, Session};
pub use shares::phases;
pub use smudging::Smudging;
pub use threshold::Deal;
