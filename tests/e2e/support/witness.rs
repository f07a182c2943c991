//! An independent watch of pods and EndpointSlices: what really happened to a fleet, in order.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use probe_policy::api::GATE;
use tokio::task::JoinSet;

use super::{Namespace, eventually};

/// Watches the fake apps of one namespace.
pub struct Witness {
    book: Arc<Mutex<Book>>,
    _watches: JoinSet<()>,
}

/// Something that happened to a pod.
#[derive(Clone, PartialEq, Eq)]
pub struct Happening {
    /// When the watch saw it.
    pub at: Timestamp,
    /// The pod's name.
    pub pod: String,
    /// The pod's UID.
    pub uid: String,
    pub what: What,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The pod is new.
    Created,
    GateOpened,
    GateClosed,
    BecameReady,
    BecameUnready,
    /// A slice of the Service calls it ready.
    EnteredSlice,
    LeftSlice,
    /// A container of this name runs that did not before.
    ContainerStarted(String),
    ContainerStopped(String),
    /// The eviction API ends the pod.
    Evicted,
    /// Somebody ends the pod.
    Ending,
    Gone,
}

impl Witness {
    /// Begins to watch, with what is there now.
    pub async fn new(namespace: &Namespace) -> Self {
        let book = Arc::new(Mutex::new(Book::default()));
        let mut watches = JoinSet::new();
        let fakes = watcher::Config::default().labels("app=fake");
        let pods = watcher(namespace.api::<Pod>(), fakes).default_backoff();
        watches.spawn(follow(pods, book.clone(), Book::pods, Book::pod, Book::pod_gone));
        let of_service = watcher::Config::default().labels("kubernetes.io/service-name=fake");
        let slices = watcher(namespace.api::<EndpointSlice>(), of_service).default_backoff();
        watches.spawn(follow(slices, book.clone(), Book::slices, Book::slice, Book::slice_gone));
        let witness = Self { book, _watches: watches };
        eventually(
            "the first lists",
            async || {
                if witness.book().listed == 2 { Ok(()) } else { Err("not complete".to_owned()) }
            },
        )
        .await;
        witness
    }

    /// Everything that happened after an instant.
    pub fn since(&self, instant: Timestamp) -> Vec<Happening> {
        self.book().happenings.iter().filter(|happening| happening.at > instant).cloned().collect()
    }

    /// The restarts after an instant, of pods (each ends) and of containers (each stops while its pod goes on).
    pub fn restarts_since(&self, instant: Timestamp) -> Vec<Happening> {
        let all = self.since(instant);
        let ends = |uid: &str| all.iter().find(|it| it.uid == uid && it.what == What::Ending).map(|it| it.at);
        let is_restart = |it: &&Happening| {
            let stopped = matches!(it.what, What::ContainerStopped(_));
            it.what == What::Ending || stopped && ends(&it.uid).is_none_or(|end| it.at < end)
        };
        all.iter().filter(is_restart).cloned().collect()
    }

    /// Waits until a pod has left the pool after an instant, and gives when it left the slices.
    pub async fn leaves_pool(&self, pod: &str, since: Timestamp) -> Timestamp {
        self.sees(pod, What::BecameUnready, since).await;
        self.sees(pod, What::LeftSlice, since).await
    }

    /// Waits until a pod has entered the pool after an instant, and gives when it entered the slices.
    pub async fn enters_pool(&self, pod: &str, since: Timestamp) -> Timestamp {
        self.sees(pod, What::BecameReady, since).await;
        self.sees(pod, What::EnteredSlice, since).await
    }

    /// Waits until this has happened to a pod after an instant, and gives when it first did.
    pub async fn sees(&self, pod: &str, what: What, since: Timestamp) -> Timestamp {
        let is_it = |it: &Happening| it.pod == pod && it.what == what;
        self.sees_first(&format!("{what:?} of {pod}"), since, is_it).await.at
    }

    /// Waits until something like this has happened after an instant, and gives the first that did.
    pub async fn sees_first(&self, what: &str, since: Timestamp, is_it: impl Fn(&Happening) -> bool) -> Happening {
        eventually(what, async || {
            let happened = self.since(since);
            happened.iter().find(|it| is_it(it)).cloned().ok_or_else(|| format!("{happened:#?}"))
        })
        .await
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap()
    }
}

/// What is known, and how it came about.
#[derive(Default)]
struct Book {
    happenings: Vec<Happening>,
    pods: BTreeMap<String, Seen>,
    slices: BTreeMap<String, BTreeSet<Endpoint>>,
    listed: u32,
}

/// A pod as last seen.
#[derive(Default)]
struct Seen {
    name: String,
    gate_is_open: bool,
    ready: Option<Timestamp>,
    running: BTreeMap<String, String>,
    is_evicted: bool,
    is_ending: bool,
}

/// UID and name of a pod that a slice calls ready.
type Endpoint = (String, String);

impl Book {
    fn pods(&mut self, all: Vec<Pod>) {
        let there: BTreeSet<_> = all.iter().filter_map(ResourceExt::uid).collect();
        let gone: Vec<_> = self.pods.keys().filter(|uid| !there.contains(*uid)).cloned().collect();
        gone.iter().for_each(|uid| self.pod_is_gone(uid));
        all.into_iter().for_each(|pod| self.pod(pod));
    }

    fn pod(&mut self, pod: Pod) {
        let (uid, name) = (pod.uid().unwrap(), pod.name_any());
        let before = self.pods.remove(&uid);
        let is_new = before.is_none();
        let before = before.unwrap_or_default();
        let now = Seen::of(&pod, &before);
        let mut happened = Vec::new();
        let mut note = |is_so: bool, what: What| happened.extend(is_so.then_some(what));
        note(is_new, What::Created);
        note(now.is_evicted && !before.is_evicted, What::Evicted);
        note(now.is_ending && !before.is_ending, What::Ending);
        for (container, id) in &before.running {
            note(now.running.get(container) != Some(id), What::ContainerStopped(container.clone()));
        }
        for (container, id) in &now.running {
            note(before.running.get(container) != Some(id), What::ContainerStarted(container.clone()));
        }
        note(now.gate_is_open && !before.gate_is_open, What::GateOpened);
        note(!now.gate_is_open && before.gate_is_open, What::GateClosed);
        // `Ready` since another time is a flip that fell between two looks.
        note(before.ready.is_some() && now.ready != before.ready, What::BecameUnready);
        note(now.ready.is_some() && now.ready != before.ready, What::BecameReady);
        self.pods.insert(uid.clone(), now);
        for what in happened {
            self.note(&name, &uid, what);
        }
    }

    fn pod_gone(&mut self, pod: Pod) {
        self.pod_is_gone(&pod.uid().unwrap());
    }

    fn pod_is_gone(&mut self, uid: &str) {
        if let Some(seen) = self.pods.remove(uid) {
            if !seen.is_ending {
                self.note(&seen.name, uid, What::Ending);
            }
            self.note(&seen.name, uid, What::Gone);
        }
    }

    fn slices(&mut self, all: Vec<EndpointSlice>) {
        let before = self.in_slices();
        self.slices = all.iter().map(|slice| (slice.name_any(), ready_endpoints(slice))).collect();
        self.compare(before);
    }

    fn slice(&mut self, slice: EndpointSlice) {
        let before = self.in_slices();
        self.slices.insert(slice.name_any(), ready_endpoints(&slice));
        self.compare(before);
    }

    fn slice_gone(&mut self, slice: EndpointSlice) {
        let before = self.in_slices();
        self.slices.remove(&slice.name_any());
        self.compare(before);
    }

    fn in_slices(&self) -> BTreeSet<Endpoint> {
        self.slices.values().flatten().cloned().collect()
    }

    fn compare(&mut self, before: BTreeSet<Endpoint>) {
        let now = self.in_slices();
        for (uid, name) in before.difference(&now) {
            self.note(name, uid, What::LeftSlice);
        }
        for (uid, name) in now.difference(&before) {
            self.note(name, uid, What::EnteredSlice);
        }
    }

    fn note(&mut self, pod: &str, uid: &str, what: What) {
        let (pod, uid) = (pod.to_owned(), uid.to_owned());
        self.happenings.push(Happening { at: Timestamp::now(), pod, uid, what });
    }
}

impl Seen {
    fn of(pod: &Pod, before: &Self) -> Self {
        let status = pod.status.clone().unwrap_or_default();
        let conditions = status.conditions.unwrap_or_default();
        let is_true = |type_: &str| conditions.iter().find(|it| it.type_ == type_ && it.status == "True");
        let ready = is_true("Ready").map(|it| it.last_transition_time.as_ref().map_or(Timestamp::MIN, |time| time.0));
        let evicted = is_true("DisruptionTarget").and_then(|it| it.reason.as_deref()) == Some("EvictionByEvictionAPI");
        Self {
            name: pod.name_any(),
            gate_is_open: is_true(GATE).is_some(),
            ready,
            running: status.container_statuses.unwrap_or_default().into_iter().filter_map(running).collect(),
            is_evicted: evicted || before.is_evicted,
            is_ending: pod.metadata.deletion_timestamp.is_some(),
        }
    }
}

/// Name and ID of a container that runs.
fn running(status: ContainerStatus) -> Option<(String, String)> {
    status.state?.running?;
    Some((status.name, status.container_id?))
}

fn ready_endpoints(slice: &EndpointSlice) -> BTreeSet<Endpoint> {
    let ready = slice.endpoints.iter().filter(|it| it.conditions.as_ref().and_then(|it| it.ready) == Some(true));
    ready.filter_map(|endpoint| endpoint.target_ref.clone()).filter_map(|pod| Some((pod.uid?, pod.name?))).collect()
}

/// Enters everything that a watch delivers; it goes on after errors.
async fn follow<K>(
    stream: impl Stream<Item = watcher::Result<Event<K>>>,
    book: Arc<Mutex<Book>>,
    all: fn(&mut Book, Vec<K>),
    one: fn(&mut Book, K),
    gone: fn(&mut Book, K),
) {
    let mut stream = std::pin::pin!(stream);
    let mut list = Vec::new();
    while let Some(event) = stream.next().await {
        let mut book = book.lock().unwrap();
        match event {
            Ok(Event::Init) => list.clear(),
            Ok(Event::InitApply(object)) => list.push(object),
            Ok(Event::InitDone) => {
                all(&mut book, std::mem::take(&mut list));
                book.listed += 1;
            }
            Ok(Event::Apply(object)) => one(&mut book, object),
            Ok(Event::Delete(object)) => gone(&mut book, object),
            Err(_) => {}
        }
    }
}

impl fmt::Debug for Happening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} {} ({}) {:?}", self.at, self.pod, &self.uid[..8], self.what)
    }
}
