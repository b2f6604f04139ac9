//! From the homomorphic program to the kernel program: every server-side algorithm, once.
