//! The whole controller against a real API server that holds thousands of pods: how soon it is ready, what it costs, how
//! soon it writes what an attempt decides, and what it does to the API server when all pods flap. Nothing here passes or
//! fails.
//!
//! ```text
//! benches/fleet/run [PODS]
//! ```
//!
//! The pods are objects that no kubelet knows; their addresses are this machine's.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run has nothing to measure")]

mod controller;
mod pods;
mod relay;
mod targets;

use std::env;
use std::net::Ipv4Addr;
use std::time::Duration;

use controller::Controller;
use kube::Client;
use probe_policy::engine::Span;
use probe_policy::runtime::Clock;
use relay::Relay;
use targets::Targets;
use tokio::time::sleep;

const NAMESPACE: &str = "fleet";
/// Where every pod listens.
const PORT: u16 = 18_080;
/// From one attempt at a pod to the next.
const PERIOD: Duration = Duration::from_secs(10);
/// How many pods fail, one after the other, while it is measured how soon that is written.
const FAILING: usize = 500;

#[tokio::main]
async fn main() {
    let pods = env::args().find_map(|arg| arg.parse().ok()).unwrap_or(10_000);
    let clock = Clock::start();
    let begin = clock.now();
    let client = Client::try_default().await.expect("KUBECONFIG leads to an API server");
    pods::make(&client, pods).await;
    println!("{pods} pods made in {:.0} s", clock.now().since(begin).as_secs_f64());

    let targets = Targets::serve(pods, clock).await;
    idle(pods, &targets, clock).await;
    let relay = Relay::start(clock).await;
    react(pods, &targets, &relay).await;
    flap(&client, pods, &targets, &relay).await;
}

/// How soon it is ready, and what it costs while every pod passes.
async fn idle(pods: usize, targets: &Targets, clock: Clock) {
    let begin = clock.now();
    let controller = Controller::start(None);
    controller.ready(pods).await;
    let ready = clock.now().since(begin).as_secs_f64();
    controller.settled(pods).await;
    let settled = clock.now().since(begin).as_secs_f64();
    let (used, asked, since) = (controller.cpu(), targets.requests(), clock.now());
    sleep(2 * PERIOD).await;
    let (used, asked) = (controller.cpu() - used, targets.requests() - asked);
    let seconds = clock.now().since(since).as_secs_f64();
    let scheduled = pods as f64 * seconds / PERIOD.as_secs_f64();
    println!(
        "ready after {ready:.1} s, with every gate written after {settled:.1} s; {:.1} MiB at most, {:.1} MiB while it probes, with {:.3} cores and {:.2} % of the attempts",
        controller.mib("VmHWM"),
        controller.mib("VmRSS"),
        used.as_secs_f64() / seconds,
        100.0 * asked as f64 / scheduled,
    );
}

/// From the answer that decides an ejection to the request that writes it.
async fn react(pods: usize, targets: &Targets, relay: &Relay) {
    let controller = Controller::start(Some(relay.address()));
    controller.ready(pods).await;
    controller.settled(pods).await;
    relay.forget();
    let failing: Vec<usize> = (0..FAILING).map(|n| n * pods / FAILING).collect();
    failing.iter().for_each(|pod| targets.fail(*pod));
    sleep(PERIOD + Duration::from_secs(2)).await;
    let mut took: Vec<Span> =
        failing.iter().filter_map(|pod| Some(relay.written(*pod)?.since(targets.failed(*pod)?))).collect();
    took.sort();
    let millis = |percent: usize| took[(took.len() - 1) * percent / 100].as_secs_f64() * 1e3;
    println!(
        "{} ejections, from the answer to the request: median {:.2} ms, p99 {:.2} ms, at most {:.2} ms",
        took.len(),
        millis(50),
        millis(99),
        millis(100),
    );
    targets.heal();
}

/// Every pod fails every other attempt.
async fn flap(client: &Client, pods: usize, targets: &Targets, relay: &Relay) {
    let controller = Controller::start(Some(relay.address()));
    controller.ready(pods).await;
    controller.settled(pods).await;
    targets.flap();
    relay.forget();
    let seconds = 4 * PERIOD.as_secs();
    let mut most = 0;
    for _ in 0..seconds {
        let before = relay.writes();
        sleep(Duration::from_secs(1)).await;
        most = most.max(relay.writes() - before);
    }
    println!(
        "all {pods} flapping: {} gates written a second, {most} at most; WritesLag: {}",
        relay.writes() / seconds,
        pods::writes_lag(client).await,
    );
}

/// A pod's address.
fn address(pod: usize) -> Ipv4Addr {
    let [.., high, low] = pod.to_be_bytes();
    Ipv4Addr::new(10, 64, high, low)
}
