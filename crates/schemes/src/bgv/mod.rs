//! BGV, client side: parameters, packed slots, encryption, decryption, noise.
