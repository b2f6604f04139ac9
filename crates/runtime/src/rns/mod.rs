//! Execution of RNS kernel programs.
