//! Execution of kernel programs: a batched CPU runtime and an operation-by-operation interpreter.
