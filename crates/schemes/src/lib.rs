//! Schemes, client side: parameters, security, keys, encoding, encryption, noise.
