//! One server that is all the targets. It answers every request alike, and a line on its input with how many those were.

use std::io::stdin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{process, thread};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";

static REQUESTS: AtomicU64 = AtomicU64::new(0);

/// Serves until its input ends.
pub fn serve(port: u16) {
    let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind(("0.0.0.0", port)).await.unwrap();
        thread::spawn(|| {
            for _ in stdin().lines().map_while(Result::ok) {
                println!("{}", REQUESTS.load(Ordering::Relaxed));
            }
            process::exit(0);
        });
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream));
        }
    });
}

async fn answer(mut stream: TcpStream) {
    let mut buffer = [0; 1024];
    if stream.read(&mut buffer).await.is_ok_and(|read| read > 0) {
        REQUESTS.fetch_add(1, Ordering::Relaxed);
        // Whoever asked may have gone.
        let _ = stream.write_all(ANSWER).await;
        let _ = stream.read(&mut buffer).await;
    }
}
