//! smoltcp as a device: one interface without a link header, and its sockets.
//!
//! The structures and numbers below are those of `../device.h`, which explains them.

use std::collections::VecDeque;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::Socket;
use smoltcp::socket::tcp::{self, RecvError, State};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};

const UNSUPPORTED: i64 = -1;
const REFUSED: i64 = -2;
const AGAIN: i64 = -3;
const GONE: i64 = -4;

const VERSION: u32 = 3;
const NEVER: u64 = u64::MAX;

/// smoltcp counts microseconds; at the creation of a device its clock shows one second.
const GRAIN_NS: u64 = 1_000;
const ORIGIN_US: i64 = 1_000_000;

const BUFFER_OCTETS: usize = 65_535;
const KEEPALIVE_IDLE: Duration = Duration::from_secs(7_200);

#[repr(C)]
pub struct Setup {
    local: *const c_char,
    remote: *const c_char,
    mtu: u32,
    seed: u64,
    start: u64,
    options: *const c_char,
}

#[repr(C)]
pub struct Calls {
    version: u32,
    name: *const c_char,
    stack: *const c_char,
    abilities: *const c_char,
    timer_grain: u64,
    timer_late: u32,
    create: unsafe extern "C" fn(*const Setup, *mut c_char, usize) -> *mut Host,
    destroy: unsafe extern "C" fn(*mut Host),
    advance: unsafe extern "C" fn(&mut Host, u64),
    deadline: unsafe extern "C" fn(&mut Host) -> u64,
    packet_in: unsafe extern "C" fn(&mut Host, *const u8, usize),
    packet_out: unsafe extern "C" fn(&mut Host, *mut u8, usize) -> usize,
    listen: unsafe extern "C" fn(&mut Host, u16, u32) -> i64,
    unlisten: unsafe extern "C" fn(&mut Host, i64) -> i64,
    accept: unsafe extern "C" fn(&mut Host, i64) -> i64,
    connect: unsafe extern "C" fn(&mut Host, u16, u16) -> i64,
    send: unsafe extern "C" fn(&mut Host, i64, *const u8, usize) -> i64,
    receive: unsafe extern "C" fn(&mut Host, i64, *mut u8, usize) -> i64,
    finish: unsafe extern "C" fn(&mut Host, i64) -> i64,
    close: unsafe extern "C" fn(&mut Host, i64) -> i64,
    abort: unsafe extern "C" fn(&mut Host, i64) -> i64,
    urgent: *const c_void,
    set: unsafe extern "C" fn(&mut Host, i64, *const c_char, i64) -> i64,
    get: *const c_void,
    state: unsafe extern "C" fn(&mut Host, u16, u16) -> *const c_char,
    events: unsafe extern "C" fn(&mut Host, i64) -> *const c_char,
    travel: Option<unsafe extern "C" fn(&mut Host, u64) -> u64>,
    branch: *const c_void,
}

// The pointers in the table are to constants.
unsafe impl Sync for Calls {}

// --- the link ---

struct Link {
    arrived: VecDeque<Vec<u8>>,
    sent: VecDeque<Vec<u8>>,
    mtu: usize,
}

struct Arrived(Vec<u8>);

struct Sender<'a>(&'a mut VecDeque<Vec<u8>>);

impl RxToken for Arrived {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

impl TxToken for Sender<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        let mut packet = vec![0; length];
        let result = write(&mut packet);
        self.0.push_back(packet);
        result
    }
}

impl Device for Link {
    type RxToken<'a> = Arrived;
    type TxToken<'a> = Sender<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Arrived, Sender<'_>)> {
        let packet = self.arrived.pop_front()?;
        Some((Arrived(packet), Sender(&mut self.sent)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Sender<'_>> {
        Some(Sender(&mut self.sent))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut what = DeviceCapabilities::default();
        what.medium = Medium::Ip;
        what.max_transmission_unit = self.mtu;
        what
    }
}

/// Whether an IP packet holds a TCP segment with RST.
fn is_reset(packet: &[u8]) -> bool {
    let (protocol, header) = match packet.first().map(|first| first >> 4) {
        Some(4) if packet.len() >= 20 => (packet[9], usize::from(packet[0] & 15) * 4),
        Some(6) if packet.len() >= 40 => (packet[6], 40),
        _ => return false,
    };
    protocol == 6 && packet.get(header + 13).is_some_and(|flags| flags & 4 != 0)
}

// --- the host ---

/// Whether the handshake of this state is not complete.
fn opening(state: State) -> bool {
    matches!(state, State::SynSent | State::SynReceived)
}

struct Connection {
    socket: SocketHandle,
    seen: State,
    queued: usize,
    events: String,
    finished: bool,
    closed: bool,
    over: bool,
}

impl Connection {
    fn new(socket: SocketHandle, seen: State) -> Connection {
        Connection {
            socket,
            seen,
            queued: 0,
            events: String::new(),
            finished: false,
            closed: false,
            over: false,
        }
    }

    fn tell(&mut self, event: &str) {
        if !self.events.is_empty() {
            self.events.push(' ');
        }
        self.events.push_str(event);
    }

    fn end(&mut self, cause: &str) {
        if !self.over {
            self.over = true;
            self.tell(cause);
        }
    }

    /// Notes what has changed since the last call. `reset`: the packet that caused it was a RST.
    fn review(&mut self, socket: &tcp::Socket, reset: bool) {
        let (before, now) = (self.seen, socket.state());
        self.seen = now;
        if opening(before) && matches!(now, State::Established | State::CloseWait) {
            self.tell("connected");
        }
        if socket.recv_queue() > self.queued {
            self.tell("received");
        }
        self.queued = socket.recv_queue();
        if matches!(now, State::CloseWait | State::Closing | State::TimeWait) && !self.finished {
            self.finished = true;
            self.tell("peer_finished");
        }
        if now == State::TimeWait {
            self.end("closed:finished");
        }
        if now == State::Closed && before != State::Closed {
            self.end(match before {
                _ if reset && opening(before) => "closed:refused",
                _ if reset => "closed:reset",
                State::LastAck => "closed:finished",
                _ => "closed:timed_out",
            });
        }
    }
}

/// smoltcp has no backlog: a socket that listens becomes the connection, so another takes its place.
struct Listener {
    port: u16,
    backlog: usize,
    sockets: Vec<SocketHandle>,
    accepted: VecDeque<i64>,
}

enum Named {
    Connection(Connection),
    Listener(Listener),
}

#[derive(Clone, Default)]
struct Options {
    timestamps: bool,
    keepalive: Option<Duration>,
    keepalive_idle: Option<Duration>,
    receive_buffer: Option<usize>,
    hop_limit: Option<u8>,
}

pub struct Host {
    interface: Interface,
    sockets: SocketSet<'static>,
    link: Link,
    local: IpAddress,
    remote: IpAddress,
    start: u64,
    now: u64,
    options: Options,
    named: Vec<Named>,
    told: CString,
}

static CLOCK_MS: AtomicU32 = AtomicU32::new(0);

fn clock_ms() -> u32 {
    CLOCK_MS.load(Ordering::Relaxed)
}

impl Host {
    fn instant(&self) -> Instant {
        Instant::from_micros(ORIGIN_US + ((self.now - self.start) / GRAIN_NS) as i64)
    }

    fn new_socket(&self) -> tcp::Socket<'static> {
        let room = self.options.receive_buffer.unwrap_or(BUFFER_OCTETS);
        let received = tcp::SocketBuffer::new(vec![0; room]);
        let mut socket = tcp::Socket::new(received, tcp::SocketBuffer::new(vec![0; BUFFER_OCTETS]));
        if self.options.timestamps {
            socket.set_tsval_generator(Some(clock_ms));
        }
        socket.set_hop_limit(self.options.hop_limit);
        if self.options.keepalive.is_some() {
            socket.set_keep_alive(self.options.keepalive);
        }
        socket
    }

    /// Lets smoltcp work, and notes what has changed.
    fn turn(&mut self, reset: bool) {
        let now = self.instant();
        CLOCK_MS.store(now.total_millis() as u32, Ordering::Relaxed);
        self.interface.poll(now, &mut self.link, &mut self.sockets);
        let mut accepted = Vec::new();
        for at in 0..self.named.len() {
            match &mut self.named[at] {
                Named::Connection(one) => {
                    one.review(self.sockets.get::<tcp::Socket>(one.socket), reset);
                }
                Named::Listener(one) => {
                    let sockets = &self.sockets;
                    let state = |socket: &SocketHandle| sockets.get::<tcp::Socket>(*socket).state();
                    one.sockets.retain(|socket| match state(socket) {
                        State::Listen | State::SynReceived => true,
                        State::Closed => false,
                        _ => {
                            accepted.push((at, *socket));
                            false
                        }
                    });
                }
            }
        }
        for (at, socket) in accepted {
            let mut one = Connection::new(socket, State::Established);
            one.tell("accepted");
            one.review(self.sockets.get::<tcp::Socket>(socket), reset);
            self.named.push(Named::Connection(one));
            let handle = self.named.len() as i64;
            if let Named::Listener(listener) = &mut self.named[at] {
                listener.accepted.push_back(handle);
            }
        }
        for at in 0..self.named.len() {
            self.keep_listening(at);
        }
    }

    /// Adds a socket that listens, if the listener has none and its backlog permits one.
    fn keep_listening(&mut self, at: usize) {
        let Named::Listener(one) = &self.named[at] else {
            return;
        };
        let listens = |socket: &SocketHandle| {
            self.sockets.get::<tcp::Socket>(*socket).state() == State::Listen
        };
        if one.port == 0 || one.sockets.len() > one.backlog || one.sockets.iter().any(listens) {
            return;
        }
        let mut socket = self.new_socket();
        if socket.listen((self.local, one.port)).is_ok() {
            let added = self.sockets.add(socket);
            if let Named::Listener(one) = &mut self.named[at] {
                one.sockets.push(added);
            }
        }
    }

    fn connection(&mut self, handle: i64) -> Option<(&mut Connection, &mut tcp::Socket<'static>)> {
        let at = usize::try_from(handle).ok()?.checked_sub(1)?;
        match self.named.get_mut(at)? {
            Named::Connection(one) => {
                let socket = self.sockets.get_mut::<tcp::Socket>(one.socket);
                Some((one, socket))
            }
            Named::Listener(_) => None,
        }
    }

    fn listener(&mut self, handle: i64) -> Option<&mut Listener> {
        let at = usize::try_from(handle).ok()?.checked_sub(1)?;
        match self.named.get_mut(at)? {
            Named::Listener(one) => Some(one),
            Named::Connection(_) => None,
        }
    }
}

// --- making it ---

fn duration_of(value: &str) -> Option<Duration> {
    let digits = value.trim_end_matches(|c: char| !c.is_ascii_digit());
    let number: u64 = digits.parse().ok()?;
    match &value[digits.len()..] {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_secs(60 * number)),
        _ => None,
    }
}

fn parse(lines: &str) -> Result<Options, String> {
    let mut options = Options::default();
    let mut keepalive = false;
    for line in lines.lines().filter(|line| !line.is_empty()) {
        let (name, value) = line
            .split_once('=')
            .ok_or_else(|| format!("expected name=value, found {line}"))?;
        match (name, value) {
            // smoltcp has one configuration, which always offers window scaling and SACK.
            ("profile", "rfc") | ("window_scale" | "sack", "true") => {}
            ("timestamps", "true" | "false") => options.timestamps = value == "true",
            ("keepalive", "true" | "false") => keepalive = value == "true",
            ("keepalive_idle", _) if duration_of(value).is_some() => {
                options.keepalive_idle = duration_of(value);
            }
            ("receive_buffer_bytes", _) if value.parse::<usize>().is_ok_and(|n| n > 0) => {
                options.receive_buffer = value.parse().ok();
            }
            ("ttl", _) if value.parse::<u8>().is_ok_and(|n| n > 0) => {
                options.hop_limit = value.parse().ok();
            }
            _ => return Err(format!("unsupported: no way to set {name} to {value}")),
        }
    }
    if keepalive {
        options.keepalive = Some(options.keepalive_idle.unwrap_or(KEEPALIVE_IDLE));
    }
    Ok(options)
}

unsafe fn text(of: *const c_char) -> String {
    unsafe { CStr::from_ptr(of) }.to_string_lossy().into_owned()
}

unsafe fn make(setup: &Setup) -> Result<Host, String> {
    let (local, remote, options) =
        unsafe { (text(setup.local), text(setup.remote), text(setup.options)) };
    let options = parse(&options)?;
    let address = |of: &str| of.parse::<IpAddress>().map_err(|_| format!("no IP address: {of}"));
    let (local, remote) = (address(&local)?, address(&remote)?);
    let mut link = Link {
        arrived: VecDeque::new(),
        sent: VecDeque::new(),
        mtu: setup.mtu as usize,
    };
    let mut config = Config::new(HardwareAddress::Ip);
    config.random_seed = setup.seed;
    let mut interface = Interface::new(config, &mut link, Instant::from_micros(ORIGIN_US));
    let prefix = if matches!(local, IpAddress::Ipv4(_)) { 24 } else { 64 };
    interface.update_ip_addrs(|addresses| {
        // The list is empty, so it has room.
        let _ = addresses.push(IpCidr::new(local, prefix));
    });
    Ok(Host {
        interface,
        sockets: SocketSet::new(Vec::new()),
        link,
        local,
        remote,
        start: setup.start,
        now: setup.start,
        options,
        named: Vec::new(),
        told: CString::default(),
    })
}

unsafe extern "C" fn create(setup: *const Setup, why: *mut c_char, room: usize) -> *mut Host {
    match unsafe { make(&*setup) } {
        Ok(host) => Box::into_raw(Box::new(host)),
        Err(reason) => {
            let length = reason.len().min(room.saturating_sub(1));
            if room != 0 {
                unsafe {
                    ptr::copy_nonoverlapping(reason.as_ptr(), why.cast(), length);
                    *why.add(length) = 0;
                }
            }
            ptr::null_mut()
        }
    }
}

unsafe extern "C" fn destroy(host: *mut Host) {
    drop(unsafe { Box::from_raw(host) });
}

// --- time and the link ---

unsafe extern "C" fn advance(host: &mut Host, now: u64) {
    host.now = now;
    host.turn(false);
}

unsafe extern "C" fn deadline(host: &mut Host) -> u64 {
    let now = host.instant();
    match host.interface.poll_at(now, &host.sockets) {
        None => NEVER,
        Some(due) if due <= now => host.now + GRAIN_NS,
        Some(due) => host.start + (due.total_micros() - ORIGIN_US) as u64 * GRAIN_NS,
    }
}

unsafe extern "C" fn packet_in(host: &mut Host, packet: *const u8, length: usize) {
    let packet = unsafe { std::slice::from_raw_parts(packet, length) }.to_vec();
    let reset = is_reset(&packet);
    host.link.arrived.push_back(packet);
    host.turn(reset);
}

unsafe extern "C" fn packet_out(host: &mut Host, to: *mut u8, room: usize) -> usize {
    match host.link.sent.pop_front() {
        None => 0,
        Some(packet) => {
            let length = packet.len().min(room);
            unsafe { ptr::copy_nonoverlapping(packet.as_ptr(), to, length) };
            packet.len()
        }
    }
}

// --- the program's calls ---

unsafe extern "C" fn listen(host: &mut Host, port: u16, backlog: u32) -> i64 {
    let taken = |one: &Named| matches!(one, Named::Listener(one) if one.port == port);
    if port == 0 || host.named.iter().any(taken) {
        return REFUSED;
    }
    host.named.push(Named::Listener(Listener {
        port,
        backlog: backlog as usize,
        sockets: Vec::new(),
        accepted: VecDeque::new(),
    }));
    host.keep_listening(host.named.len() - 1);
    host.named.len() as i64
}

unsafe extern "C" fn unlisten(host: &mut Host, handle: i64) -> i64 {
    let Some(one) = host.listener(handle).filter(|one| one.port != 0) else {
        return GONE;
    };
    one.port = 0;
    for socket in std::mem::take(&mut one.sockets) {
        host.sockets.get_mut::<tcp::Socket>(socket).abort();
    }
    host.turn(false);
    0
}

unsafe extern "C" fn accept(host: &mut Host, handle: i64) -> i64 {
    match host.listener(handle) {
        None => GONE,
        Some(one) => one.accepted.pop_front().unwrap_or(AGAIN),
    }
}

unsafe extern "C" fn connect(host: &mut Host, local_port: u16, remote_port: u16) -> i64 {
    let mut socket = host.new_socket();
    let (local, remote) = ((host.local, local_port), (host.remote, remote_port));
    let taken = host.sockets.iter().any(|(_, socket)| match socket {
        Socket::Tcp(socket) => {
            socket.local_endpoint() == Some(local.into())
                && socket.remote_endpoint() == Some(remote.into())
        }
        _ => false,
    });
    if taken || socket.connect(host.interface.context(), remote, local).is_err() {
        return REFUSED;
    }
    let added = host.sockets.add(socket);
    host.named.push(Named::Connection(Connection::new(added, State::SynSent)));
    host.turn(false);
    host.named.len() as i64
}

unsafe extern "C" fn send(host: &mut Host, handle: i64, data: *const u8, length: usize) -> i64 {
    let data = unsafe { std::slice::from_raw_parts(data, length) };
    let Some((one, socket)) = host.connection(handle) else {
        return GONE;
    };
    if one.closed || one.over {
        return GONE;
    }
    if matches!(socket.state(), State::SynSent | State::SynReceived) {
        return AGAIN; // smoltcp queues nothing before the connection is established
    }
    match socket.send_slice(data) {
        Err(_) => REFUSED,
        Ok(0) if length != 0 => AGAIN,
        Ok(taken) => {
            host.turn(false);
            taken as i64
        }
    }
}

unsafe extern "C" fn receive(host: &mut Host, handle: i64, to: *mut u8, room: usize) -> i64 {
    let Some((one, socket)) = host.connection(handle) else {
        return GONE;
    };
    let to = unsafe { std::slice::from_raw_parts_mut(to, room) };
    match socket.recv_slice(to) {
        Err(RecvError::Finished) => 0,
        Err(RecvError::InvalidState) => match one.seen {
            State::SynSent | State::SynReceived => AGAIN,
            _ if one.finished => 0,
            _ => GONE,
        },
        Ok(0) if room != 0 => AGAIN,
        Ok(taken) => {
            one.queued = socket.recv_queue();
            host.turn(false);
            taken as i64
        }
    }
}

unsafe extern "C" fn finish(host: &mut Host, handle: i64) -> i64 {
    match host.connection(handle) {
        Some((one, socket)) if !one.over => {
            socket.close();
            host.turn(false);
            0
        }
        _ => GONE,
    }
}

unsafe extern "C" fn close(host: &mut Host, handle: i64) -> i64 {
    match host.connection(handle) {
        Some((one, socket)) if !one.over && !one.closed => {
            one.closed = true;
            if one.seen == State::SynSent {
                one.end("closed:aborted");
            }
            socket.close();
            host.turn(false);
            0
        }
        _ => GONE,
    }
}

unsafe extern "C" fn abort(host: &mut Host, handle: i64) -> i64 {
    match host.connection(handle) {
        Some((one, socket)) if !one.over => {
            one.end("closed:aborted");
            socket.abort();
            host.turn(false);
            0
        }
        _ => GONE,
    }
}

unsafe extern "C" fn set(host: &mut Host, handle: i64, name: *const c_char, value: i64) -> i64 {
    let name = unsafe { text(name) };
    let idle = host.options.keepalive_idle.unwrap_or(KEEPALIVE_IDLE);
    let Some((one, socket)) = host.connection(handle) else {
        return GONE;
    };
    if one.over {
        return GONE;
    }
    let Ok(number) = u64::try_from(value) else {
        return REFUSED;
    };
    match name.as_str() {
        "nagle" => socket.set_nagle_enabled(value != 0),
        "delayed_ack" => socket.set_ack_delay((value != 0).then(|| Duration::from_millis(10))),
        "keepalive" => socket.set_keep_alive((value != 0).then_some(idle)),
        "keepalive_idle_ms" if number != 0 => {
            socket.set_keep_alive(Some(Duration::from_millis(number)));
        }
        "user_timeout_ms" => {
            socket.set_timeout((value != 0).then(|| Duration::from_millis(number)));
        }
        "ttl" if (1..=255).contains(&number) => socket.set_hop_limit(Some(number as u8)),
        "ttl" | "keepalive_idle_ms" => return REFUSED,
        _ => return UNSUPPORTED,
    }
    host.turn(false);
    0
}

unsafe extern "C" fn state(host: &mut Host, local_port: u16, remote_port: u16) -> *const c_char {
    let mut found = State::Closed;
    for (_, socket) in host.sockets.iter() {
        let Socket::Tcp(socket) = socket else {
            continue;
        };
        let is_this = socket.local_endpoint().is_some_and(|end| end.port == local_port)
            && socket.remote_endpoint().is_some_and(|end| end.port == remote_port);
        let listens = socket.is_listening() && socket.listen_endpoint().port == local_port;
        if is_this && socket.state() != State::Closed {
            found = socket.state();
            break;
        }
        if listens {
            found = State::Listen;
        }
    }
    host.told = CString::new(found.to_string()).unwrap_or_default();
    host.told.as_ptr()
}

unsafe extern "C" fn events(host: &mut Host, handle: i64) -> *const c_char {
    let told = host.connection(handle).map(|(one, _)| one.events.clone());
    host.told = CString::new(told.unwrap_or_default()).unwrap_or_default();
    host.told.as_ptr()
}

static CALLS: Calls = Calls {
    version: VERSION,
    name: c"smoltcp".as_ptr(),
    stack: c"smoltcp 0.14.0".as_ptr(),
    abilities: c"ipv4 ipv6 udp deterministic renewable branches".as_ptr(),
    timer_grain: GRAIN_NS,
    timer_late: 0,
    create,
    destroy,
    advance,
    deadline,
    packet_in,
    packet_out,
    listen,
    unlisten,
    accept,
    connect,
    send,
    receive,
    finish,
    close,
    abort,
    urgent: ptr::null(),
    set,
    get: ptr::null(),
    state,
    events,
    travel: None,
    branch: ptr::null(),
};

#[unsafe(no_mangle)]
pub extern "C" fn lockstep_device_entry() -> *const Calls {
    &CALLS
}
