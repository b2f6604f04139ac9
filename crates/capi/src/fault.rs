//! How calls fail: a status, and a message that the thread keeps.

use polyfabric_client::{Failure, Kind};
use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// `pf_status`.
#[repr(C)]
#[derive(Clone, Copy)]
pub enum Status {
    Ok = 0,
    File = 1,
    Input = 2,
    Parameter = 3,
    Run = 4,
    Call = 5,
    Defect = 6,
}

/// Status and message of a call that failed.
pub struct Fault(pub Status, pub String);

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        let status = match failure.kind {
            Kind::File => Status::File,
            Kind::Input => Status::Input,
            Kind::Parameter => Status::Parameter,
            Kind::Run => Status::Run,
        };
        Self(status, failure.message)
    }
}

thread_local! {
    /// The message of the thread's last call that failed.
    static ERROR: RefCell<CString> = RefCell::default();
}

/// The message of a panic.
fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown")
}

/// The status of `work`, whose message is kept.
pub fn call(work: impl FnOnce() -> Result<(), Fault>) -> Status {
    let outcome = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let message = format!("a defect of this library, please report it: {}", said(&*panic));
        Err(Fault(Status::Defect, message))
    });
    let Err(Fault(status, message)) = outcome else { return Status::Ok };
    ERROR.with_borrow_mut(|kept| *kept = CString::new(message.replace('\0', " ")).unwrap_or_default());
    status
}

/// The fault of a null pointer.
pub fn null(what: &str) -> Fault {
    Fault(Status::Call, format!("{what} is a null pointer; give the address of one"))
}

/// The message of the thread's last call that failed.
pub fn last() -> *const c_char {
    ERROR.with_borrow(|kept| kept.as_ptr())
}
