//! CKKS, client side: parameters, security, encoding, keys, encryption, decryption, noise, files.
