//! One server that is all the targets. It answers every request alike, and a line on its input with what has arrived.

use std::io::stdin;
use std::sync::{Arc, Mutex};
use std::{process, thread};

use probe_policy::runtime::Clock;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::runtime;

use super::arrivals::Book;
use super::{PORT, Task};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
/// Connections that may wait to be accepted.
const BACKLOG: u32 = 4_096;

/// Serves until its input ends.
pub fn serve(task: Task) {
    let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuseaddr(true).unwrap();
        socket.bind(([0, 0, 0, 0], PORT).into()).unwrap();
        let listener = socket.listen(BACKLOG).unwrap();
        let clock = Clock::start();
        let book = Arc::new(Mutex::new(Book::new(task, clock.now())));
        let summed = book.clone();
        thread::spawn(move || {
            for _ in stdin().lines().map_while(Result::ok) {
                println!("{}", summed.lock().unwrap().sum_up(clock.now()).line());
            }
            process::exit(0);
        });
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, clock, book.clone()));
        }
    });
}

async fn answer(mut stream: TcpStream, clock: Clock, book: Arc<Mutex<Book>>) {
    let mut buffer = [0; 1024];
    if stream.read(&mut buffer).await.is_ok_and(|read| read > 0) {
        if let Some(target) = stream.local_addr().ok().and_then(Task::index) {
            book.lock().unwrap().note(target, clock.now());
        }
        // Whoever asked may have gone.
        let _ = stream.write_all(ANSWER).await;
        let _ = stream.read(&mut buffer).await;
    }
}
