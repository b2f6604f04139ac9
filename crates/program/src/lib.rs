//! The homomorphic program, the kernel program, and the lowering between them.
