//! What this kernel allows: epoll by hand, a new connection for every attempt, nothing decided and nothing counted.

use probe_policy::engine::{Span, Time};
use probe_policy::runtime::Clock;
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};

use super::Task;

const REQUEST: &[u8] =
    b"GET /healthz HTTP/1.1\r\nHost: x\r\nUser-Agent: floor\r\nAccept: */*\r\nConnection: close\r\n\r\n";
/// Attempts begin together that are due within so long, as ours do.
const GRID: Span = Span::from_millis(10);

/// An attempt under way.
struct Attempt {
    socket: OwnedFd,
    has_asked: bool,
}

/// Asks every target for ever.
pub fn probe(task: Task) {
    let (clock, epoll) = (Clock::start(), epoll::create(epoll::CreateFlags::CLOEXEC).unwrap());
    let (begin, mut begun) = (clock.now(), 0);
    let mut attempts: Vec<Option<Attempt>> = (0..task.targets).map(|_| None).collect();
    let mut events: Vec<epoll::Event> = Vec::with_capacity(512);
    loop {
        let now = clock.now();
        while due(task, begin, begun) <= now {
            let target = (begun % u64::from(task.targets)) as u32;
            attempts[target as usize] = Some(connect(&epoll, task, target));
            begun += 1;
        }
        let wait = due(task, begin, begun).since(clock.now()).as_nanos();
        let wait = Timespec { tv_sec: (wait / 1_000_000_000) as i64, tv_nsec: (wait % 1_000_000_000) as i64 };
        epoll::wait(&epoll, spare_capacity(&mut events), Some(&wait)).unwrap();
        for event in events.drain(..) {
            let attempt = &mut attempts[event.data.u64() as usize];
            *attempt = attempt.take().and_then(|attempt| go_on(attempt, event.flags));
        }
    }
}

/// Spread evenly, on the grid.
fn due(task: Task, begin: Time, attempt: u64) -> Time {
    let period = Span::from_millis(task.period_ms).as_nanos();
    let grid = GRID.as_nanos();
    begin + Span::from_nanos(period * attempt / u64::from(task.targets) / grid * grid)
}

fn connect(epoll: &OwnedFd, task: Task, target: u32) -> Attempt {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None).unwrap();
    match net::connect(&socket, &Task::address(target)) {
        Ok(()) | Err(Errno::INPROGRESS) => {}
        Err(error) => panic!("target {target}: {error}, of {}", task.targets),
    }
    let flags = epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::ET;
    epoll::add(epoll, &socket, epoll::EventData::new_u64(target.into()), flags).unwrap();
    Attempt { socket, has_asked: false }
}

/// Sends, or receives and ends.
fn go_on(mut attempt: Attempt, ready: epoll::EventFlags) -> Option<Attempt> {
    let socket = &attempt.socket;
    if !attempt.has_asked {
        if sockopt::socket_error(socket).is_ok_and(|state| state.is_ok()) {
            net::send(socket, REQUEST, SendFlags::NOSIGNAL).unwrap();
            attempt.has_asked = true;
        }
        return attempt.has_asked.then_some(attempt);
    }
    if !ready.contains(epoll::EventFlags::IN) {
        return Some(attempt);
    }
    let mut answer = [0; 4096];
    // Whoever is not ready yet is asked again by the next event.
    match net::recv(socket, &mut answer, RecvFlags::empty()) {
        Err(Errno::AGAIN) => Some(attempt),
        Ok(_) | Err(_) => None,
    }
}
