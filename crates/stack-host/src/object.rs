//! The stack of a shared object.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use slowstart_stack::{
    Act, Ecn, Endpoint, Identity, Report, Settings, Stack, Transmit, wire::VERSION,
};
use units::{Duration, Instant};

/// No deadline, no threshold, no sample.
const NONE: u64 = u64::MAX;
/// Bytes of the buffer that `transmit` fills.
const ROOM: usize = 65_536;

/// `struct slowstart_settings`.
#[repr(C)]
struct RawSettings {
    controller: *const c_char,
    seed: *const u8,
    receive_window: u64,
    flow: u32,
    initial_window: u32,
    datagram: u32,
    is_client: u32,
}

/// `struct slowstart_report`.
#[repr(C)]
struct RawReport {
    received: u64,
    packets_sent: u64,
    packets_lost: u64,
    timeouts: u64,
    acked: u64,
    cwnd: u64,
    ssthresh: u64,
    in_flight: u64,
    rtt: u64,
    is_established: u32,
    is_finished: u32,
    closed: *const c_char,
}

/// `struct slowstart_stack`. A function that the stack left out is `None`.
#[repr(C)]
struct RawStack {
    version: u32,
    name: *const c_char,
    release: *const c_char,
    controllers: *const c_char,
    open: Option<unsafe extern "C" fn(u64, *const RawSettings) -> *mut c_void>,
    close: Option<unsafe extern "C" fn(*mut c_void)>,
    receive: Option<unsafe extern "C" fn(*mut c_void, u64, c_int, *const u8, usize)>,
    expire: Option<unsafe extern "C" fn(*mut c_void, u64)>,
    deadline: Option<unsafe extern "C" fn(*mut c_void) -> u64>,
    transmit: Option<unsafe extern "C" fn(*mut c_void, u64, *mut u8, usize, *mut c_int) -> usize>,
    application: Option<unsafe extern "C" fn(*mut c_void, u64, c_int, u64)>,
    report: Option<unsafe extern "C" fn(*mut c_void, *mut RawReport)>,
}

/// The functions of an endpoint.
#[derive(Clone, Copy)]
struct Functions {
    open: unsafe extern "C" fn(u64, *const RawSettings) -> *mut c_void,
    close: unsafe extern "C" fn(*mut c_void),
    receive: unsafe extern "C" fn(*mut c_void, u64, c_int, *const u8, usize),
    expire: unsafe extern "C" fn(*mut c_void, u64),
    deadline: unsafe extern "C" fn(*mut c_void) -> u64,
    transmit: unsafe extern "C" fn(*mut c_void, u64, *mut u8, usize, *mut c_int) -> usize,
    application: unsafe extern "C" fn(*mut c_void, u64, c_int, u64),
    report: unsafe extern "C" fn(*mut c_void, *mut RawReport),
}

/// The stack of a shared object, which stays loaded until the process ends.
pub(crate) struct Object {
    identity: Identity,
    functions: Functions,
}

impl Object {
    /// Loads it.
    pub(crate) fn load(file: &Path) -> Result<Self, String> {
        let shown = file.display();
        let path = CString::new(file.as_os_str().as_bytes())
            .map_err(|_| format!("{shown}: the name has a zero byte"))?;
        #[allow(unsafe_code, reason = "there is no safe way to load a shared object")]
        // SAFETY: `path` is a C string. Code of the object that runs at its loading is the user's.
        let object = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if object.is_null() {
            return Err(last_error().unwrap_or_else(|| format!("{shown} cannot be loaded")));
        }
        #[allow(unsafe_code, reason = "there is no safe way to find a symbol")]
        // SAFETY: `object` is loaded, and the name is a C string.
        let symbol = unsafe { libc::dlsym(object, c"slowstart_stack".as_ptr()) };
        if symbol.is_null() {
            return Err(format!(
                "{shown} has no function slowstart_stack (slowstart_stack.h declares it)"
            ));
        }
        #[allow(unsafe_code, reason = "the header says which type the function has")]
        // SAFETY: a function of this name has the type that the header declares.
        let entry: unsafe extern "C" fn() -> *const RawStack =
            unsafe { std::mem::transmute(symbol) };
        #[allow(unsafe_code, reason = "the function is the stack's")]
        // SAFETY: it takes nothing, and returns a table that lives as long as the object, or NULL.
        let raw = unsafe { entry().as_ref() };
        let raw = raw.ok_or_else(|| format!("{shown}: slowstart_stack returned NULL"))?;
        if raw.version != VERSION {
            return Err(format!(
                "{shown} has version {} of the interface, not version {VERSION}",
                raw.version
            ));
        }
        let functions = functions(raw)
            .map_err(|name| format!("{shown}: the function {name} of its table is NULL"))?;
        let controllers = text(raw.controllers).unwrap_or_default();
        Ok(Self {
            identity: Identity {
                name: text(raw.name).unwrap_or_default(),
                version: text(raw.release).unwrap_or_default(),
                controllers: controllers
                    .split(',')
                    .map(|name| name.trim().to_owned())
                    .filter(|name| !name.is_empty())
                    .collect(),
            },
            functions,
        })
    }
}

/// The functions of a table, or the name of the first that is missing.
fn functions(raw: &RawStack) -> Result<Functions, &'static str> {
    Ok(Functions {
        open: raw.open.ok_or("open")?,
        close: raw.close.ok_or("close")?,
        receive: raw.receive.ok_or("receive")?,
        expire: raw.expire.ok_or("expire")?,
        deadline: raw.deadline.ok_or("deadline")?,
        transmit: raw.transmit.ok_or("transmit")?,
        application: raw.application.ok_or("application")?,
        report: raw.report.ok_or("report")?,
    })
}

/// What the loader says of the last failure.
fn last_error() -> Option<String> {
    #[allow(unsafe_code, reason = "there is no safe wrapper")]
    // SAFETY: it takes nothing, and returns a C string or NULL.
    let text_of_loader = unsafe { libc::dlerror() };
    text(text_of_loader)
}

/// A C string of the stack.
fn text(from: *const c_char) -> Option<String> {
    if from.is_null() {
        return None;
    }
    #[allow(unsafe_code, reason = "C strings have no safe type")]
    // SAFETY: it is not NULL, and the header says that it is a string.
    let text = unsafe { CStr::from_ptr(from) };
    Some(text.to_string_lossy().into_owned())
}

impl Stack for Object {
    fn identity(&self) -> Identity {
        self.identity.clone()
    }

    fn open(&mut self, now: Instant, settings: &Settings) -> Result<Box<dyn Endpoint>, String> {
        let controller = CString::new(settings.controller.as_str())
            .map_err(|_| "the controller's name has a zero byte".to_owned())?;
        let raw = RawSettings {
            controller: controller.as_ptr(),
            seed: settings.seed.as_ptr(),
            receive_window: settings.receive_window,
            flow: settings.flow,
            initial_window: settings.initial_window,
            datagram: settings.datagram,
            is_client: settings.is_client.into(),
        };
        #[allow(unsafe_code, reason = "the function is the stack's")]
        // SAFETY: the settings and what they point to live during the call.
        let endpoint = unsafe { (self.functions.open)(now.as_nanos(), &raw const raw) };
        if endpoint.is_null() {
            return Err("open returned NULL".to_owned());
        }
        Ok(Box::new(Opened {
            endpoint,
            functions: self.functions,
            buffer: vec![0; ROOM],
            most: settings.datagram as usize,
        }))
    }
}

/// An endpoint of the stack. `endpoint` is what `open` returned; only this uses it, until `close`.
struct Opened {
    endpoint: *mut c_void,
    functions: Functions,
    buffer: Vec<u8>,
    most: usize,
}

impl Endpoint for Opened {
    fn receive(&mut self, now: Instant, ecn: Ecn, datagram: &[u8]) {
        let ecn = match ecn {
            Ecn::NotEct => 0,
            Ecn::Ect => 1,
            Ecn::Ce => 2,
        };
        let (bytes, length) = (datagram.as_ptr(), datagram.len());
        #[allow(unsafe_code, reason = "the function is the stack's")]
        // SAFETY: the endpoint is open, and the datagram has this length.
        unsafe {
            (self.functions.receive)(self.endpoint, now.as_nanos(), ecn, bytes, length);
        }
    }

    fn expire(&mut self, now: Instant) {
        #[allow(unsafe_code, reason = "the function is the stack's")]
        // SAFETY: the endpoint is open.
        unsafe {
            (self.functions.expire)(self.endpoint, now.as_nanos());
        }
    }

    fn deadline(&mut self) -> Option<Instant> {
        #[allow(unsafe_code, reason = "the function is the stack's")]
        // SAFETY: the endpoint is open.
        let at = unsafe { (self.functions.deadline)(self.endpoint) };
        (at != NONE).then(|| Instant::from_nanos(at))
    }

    fn transmit(&mut self, now: Instant) -> Option<Transmit> {
        let mut ecn: c_int = 0;
        let room = self.most.min(ROOM);
        let buffer = self.buffer.as_mut_ptr();
        #[allow(unsafe_code, reason = "the function is the stack's")]
        // SAFETY: the endpoint is open, and the buffer has at least `room` bytes.
        let length = unsafe {
            (self.functions.transmit)(self.endpoint, now.as_nanos(), buffer, room, &raw mut ecn)
        };
        // A length above `room` is the stack's fault, which the reader of the answer reports.
        let mut datagram = self.buffer[..length.min(ROOM)].to_vec();
        if length > ROOM {
            datagram.push(0);
        }
        (length > 0).then_some(Transmit {
            ecn: match ecn {
                0 => Ecn::NotEct,
                2 => Ecn::Ce,
                _ => Ecn::Ect,
            },
            datagram,
        })
    }

    fn application(&mut self, now: Instant, act: Act) {
        let (code, bytes) = match act {
            Act::Write(bytes) => (3, bytes),
            Act::WriteLast(bytes) => (4, bytes),
            Act::Finish => (5, 0),
        };
        #[allow(unsafe_code, reason = "the function is the stack's")]
        // SAFETY: the endpoint is open.
        unsafe {
            (self.functions.application)(self.endpoint, now.as_nanos(), code, bytes);
        }
    }

    fn report(&mut self) -> Report {
        let mut raw = RawReport {
            received: 0,
            packets_sent: 0,
            packets_lost: 0,
            timeouts: 0,
            acked: 0,
            cwnd: 0,
            ssthresh: NONE,
            in_flight: 0,
            rtt: NONE,
            is_established: 0,
            is_finished: 0,
            closed: std::ptr::null(),
        };
        #[allow(unsafe_code, reason = "the function is the stack's")]
        // SAFETY: the endpoint is open, and the report is valid.
        unsafe {
            (self.functions.report)(self.endpoint, &raw mut raw);
        }
        let some = |value: u64| (value != NONE).then_some(value);
        Report {
            is_established: raw.is_established != 0,
            is_finished: raw.is_finished != 0,
            closed: text(raw.closed),
            received: raw.received,
            packets_sent: raw.packets_sent,
            packets_lost: raw.packets_lost,
            timeouts: raw.timeouts,
            acked: raw.acked,
            cwnd: raw.cwnd,
            ssthresh: some(raw.ssthresh),
            in_flight: raw.in_flight,
            rtt: some(raw.rtt).map(Duration::from_nanos),
        }
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        #[allow(unsafe_code, reason = "the function is the stack's")]
        // SAFETY: the endpoint is open, and nothing uses it after this.
        unsafe {
            (self.functions.close)(self.endpoint);
        }
    }
}
