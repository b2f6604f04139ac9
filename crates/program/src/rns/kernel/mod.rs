//! The kernel program: operations on polynomials in residue form.
