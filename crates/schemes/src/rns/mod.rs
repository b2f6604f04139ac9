//! What CKKS, BGV and ring-GSW share: limbs, rings, polynomials in residue form, gadgets, switching keys.
