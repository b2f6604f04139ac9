//! Ring-GSW, client side.
