//! The C interface of a client, as `libpolyfabric_client`. `include/polyfabric_client.h` describes it.
//!
//! No panic crosses the border: every call that can fail returns a status, and keeps its message for `pf_error`.

mod arguments;
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
mod browser;
mod fault;

use arguments::{Bytes, give, given, pointed};
use fault::{Fault, Status, call, null};
use polyfabric_client::{Client, Limits, Specification};
use std::ffi::{CStr, c_char};

/// `pf_limits`.
#[repr(C)]
pub struct CLimits {
    security: f64,
    key_bytes: u64,
}

/// Reads a specification and the limits for it.
///
/// # Safety
/// As of [`given`] and [`pointed`].
unsafe fn specified(
    specification: *const u8,
    size: usize,
    limits: *const CLimits,
) -> Result<(Specification, Limits), Fault> {
    // SAFETY: the caller vouches for both.
    let (text, limits) = unsafe { (given("the specification", specification, size)?, limits.as_ref()) };
    let limits = limits.map(|own| Limits { security: own.security, key_bytes: own.key_bytes });
    Ok((Specification::read(text)?, limits.unwrap_or_default()))
}

/// Gives a client to the caller.
///
/// # Safety
/// `target` is null or may be written.
unsafe fn give_client(target: *mut *mut Client, make: impl FnOnce() -> Result<Client, Fault>) -> Result<(), Fault> {
    if target.is_null() {
        return Err(null("the place of the client"));
    }
    let made = Box::new(make()?);
    // SAFETY: the caller vouches for it.
    unsafe { target.write(Box::into_raw(made)) };
    Ok(())
}

/// Generates a secret key.
///
/// # Safety
/// Arguments are as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pf_client_generate(
    specification: *const u8,
    size: usize,
    limits: *const CLimits,
    client: *mut *mut Client,
) -> Status {
    // SAFETY: the caller vouches for the arguments.
    call(|| unsafe {
        give_client(client, || {
            let (specification, limits) = specified(specification, size, limits)?;
            Ok(Client::generate(specification, &limits)?)
        })
    })
}

/// Reads a secret key.
///
/// # Safety
/// Arguments are as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pf_client_load(
    specification: *const u8,
    size: usize,
    key: *const u8,
    key_size: usize,
    limits: *const CLimits,
    client: *mut *mut Client,
) -> Status {
    // SAFETY: the caller vouches for the arguments.
    call(|| unsafe {
        give_client(client, || {
            let (specification, limits) = specified(specification, size, limits)?;
            Ok(Client::load(specification, given("the key", key, key_size)?, &limits)?)
        })
    })
}

/// Writes the secret key.
///
/// # Safety
/// Arguments are as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pf_client_save(client: *const Client, key: *mut Bytes) -> Status {
    // SAFETY: the caller vouches for the arguments.
    call(|| unsafe { give("the place of the key", pointed("the client", client)?.save()?, key) })
}

/// Makes an evaluation key.
///
/// # Safety
/// Arguments are as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pf_client_evaluation_key(client: *const Client, key: *mut Bytes) -> Status {
    // SAFETY: the caller vouches for the arguments.
    call(|| unsafe {
        let made = pointed("the client", client)?.evaluation_key(&|_| ())?;
        give("the place of the key", made, key)
    })
}

/// Encrypts inputs.
///
/// # Safety
/// Arguments are as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pf_client_encrypt(
    client: *const Client,
    inputs: *const c_char,
    request: *mut Bytes,
) -> Status {
    // SAFETY: the caller vouches for the arguments.
    call(|| unsafe {
        let client = pointed("the client", client)?;
        if inputs.is_null() {
            return Err(null("the text of the inputs"));
        }
        let text = CStr::from_ptr(inputs).to_str();
        let text =
            text.map_err(|_| Fault(Status::Call, "the text of the inputs is not UTF-8; encode it".to_owned()))?;
        give("the place of the request", client.encrypt(text)?, request)
    })
}

/// Decrypts an answer.
///
/// # Safety
/// Arguments are as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pf_client_decrypt(
    client: *const Client,
    answer: *const u8,
    size: usize,
    outputs: *mut Bytes,
) -> Status {
    // SAFETY: the caller vouches for the arguments.
    call(|| unsafe {
        let found = pointed("the client", client)?.decrypt(given("the answer", answer, size)?)?;
        give("the place of the outputs", found.into_bytes(), outputs)
    })
}

/// Frees a client; its secret key wipes itself.
///
/// # Safety
/// `client` is null or from this library, and not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pf_client_free(client: *mut Client) {
    if !client.is_null() {
        // SAFETY: it is a box that `give_client` made.
        drop(unsafe { Box::from_raw(client) });
    }
}

/// Wipes and frees bytes.
///
/// # Safety
/// `bytes` is null or points to bytes from this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pf_bytes_free(bytes: *mut Bytes) {
    // SAFETY: the caller vouches for them.
    if let Some(bytes) = unsafe { bytes.as_mut() } {
        // SAFETY: as above.
        unsafe { bytes.free() };
    }
}

/// The message of the thread's last call that failed.
#[unsafe(no_mangle)]
pub extern "C" fn pf_error() -> *const c_char {
    fault::last()
}
