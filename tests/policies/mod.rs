//! Policies that must be taken, and policies that must be refused with one and the same sentence offline and by a real
//! API server.

/// A policy that is refused.
pub struct Refused {
    /// Its spec, in YAML.
    pub spec: String,
    /// The field that is to blame.
    pub path: &'static str,
    /// A part of what is said of it.
    pub sentence: &'static str,
}

/// The manifest of a policy.
pub fn manifest(spec: &str) -> String {
    format!("apiVersion: probepolicy.dev/v1alpha1\nkind: ProbePolicy\nmetadata: {{name: example}}\nspec: {spec}\n")
}

/// Policies that make sense.
pub fn good() -> Vec<String> {
    let mut specs: Vec<String> = [
        "{selector: {matchExpressions: [{key: app, operator: In, values: [a, b]}]}}",
        "{selector: {matchExpressions: [{key: app, operator: Exists}, {key: b, operator: NotIn, values: ['']}]}}",
        "{selector: {matchLabels: {app.kubernetes.io/name: a.B_c-9, empty: ''}}}",
    ]
    .map(str::to_owned)
    .to_vec();
    specs.extend(
        [
            "mode: Observe",
            "mode: Paused",
            "startup: null",
            "liveness: {httpGet: {port: 1}}",
            "liveness: {httpGet: {port: 65535, path: '/live?deep=1&x=%20'}}",
            "liveness: {httpGet: {port: http}, tcpSocket: null}",
            "liveness: {httpGet: {port: 80, maxBody: 0}}",
            "liveness: {httpGet: {port: 80, scheme: HTTPS}}",
            "liveness: {httpGet: {port: 80, scheme: HTTPS, tls: {}}}",
            "liveness: {httpGet: {port: 80, scheme: HTTPS, tls: {serverName: a-1.b.example}}}",
            "liveness: {httpGet: {port: 80, httpHeaders: [{name: Host, value: a.b:1}, {name: X-a_1, value: ''}]}}",
            "liveness: {httpGet: {port: 80, expectedStatuses: ['100', 200-200, 300-599]}}",
            "liveness: {httpGet: {port: 80, redirects: SameHost}}",
            "liveness: {httpGet: {port: 80, maxBody: 1048576}}",
            "liveness: {httpGet: {port: 80, health: {components: ['a:b'], scopes: [Process, Path, Shared]}}}",
            "liveness: {grpc: {port: 80}}",
            "liveness: {grpc: {port: grpc, service: a.b/C, accept: [Serving, NotServing, Unknown], tls: {}}}",
            "liveness: {exec: {command: [cat, '', '/a b']}, container: app}",
            "liveness: {tcpSocket: {port: a-1-b}, container: app}",
            "liveness: {tcpSocket: {port: 80}, period: 10ms, timeout: 24h, initialDelay: 24h}",
            "readiness: {tcpSocket: {port: 80}, startupPeriod: 9s, fastPeriod: 10ms}",
            "liveness: {tcpSocket: {port: 80}, fastPeriod: 9s999ms}",
            "liveness: {tcpSocket: {port: 80}, ipFamily: Both}",
            "liveness: {exec: {command: [a]}, ipFamily: First}",
            "liveness: {tcpSocket: {port: 80}, period: 1s, timeout: 30s}",
            "startup: {tcpSocket: {port: 80}, failureThreshold: 10000, successThreshold: 1}",
            "readiness: {tcpSocket: {port: 80}, failureThreshold: 1, successThreshold: 10000}",
            "readiness: {tcpSocket: {port: 80}, period: 1m30s500ms, timeout: 00001s}",
            "restart: {}",
            "restart: {method: Delete, maxConcurrent: 1%}",
            "restart: {maxConcurrent: 100%, gracePeriod: 1s, deadline: 1s, loopAfter: 1}",
            "restart: {maxConcurrent: 10000, gracePeriod: 24h, deadline: 24h, loopAfter: 10000}",
            "restart: {backoff: {initial: 0s}, giveUpAfter: 0}",
            "restart: {giveUpAfter: 10000}",
            "restart: {budget: {restarts: 1, per: 24h}}",
            "restart: {budget: null}",
            "restart: {backoff: {initial: 0s, max: 0s, resetAfter: 1s}}",
            "restart: {backoff: {initial: 5m}}",
            "pool: {through: None}",
            "pool: {minReady: 0}",
            "pool: {onPolicyChange: Keep}",
            "readiness: {tcpSocket: {port: 80}, failureWindow: {failures: 1, attempts: 64}}",
            "liveness: {tcpSocket: {port: 80}, failureWindow: {failures: 64, attempts: 64}}",
            "pool: {dwell: 24h, ejectionBackoff: {}}",
            "pool: {ejectionBackoff: {initial: 24h, max: 24h, decayAfter: 1s}}",
            "pool: {dwell: 0s, ejectionBackoff: {initial: 5m}}",
            "pool: {onPolicyChange: Prepare}",
            "pool: {onPolicyChange: Rolling, minReady: 100%}",
            "pool: {minReady: 100%, whenBelow: Open, cooldown: 1s}",
            "pool: {minReady: 10000, whenBelow: Close, cooldown: 24h}",
            "fleet: {}",
            "fleet: {breaker: {}}",
            "fleet: {breaker: {openAt: Never}, sharedFailure: Ignore}",
            "fleet: {breaker: {openAt: 2, minJudged: 10000, cooldown: 24h, trial: 0s}}",
            "fleet: {breaker: {openAt: 100%, minJudged: 2, cooldown: 1s, trial: 24h}}",
            "fleet: {dependencies: []}",
            "fleet: {dependencies: [{name: exactly-15-long, selector: {matchLabels: {app: b}}, tcpSocket: {port: 5432}}]}",
            "fleet: {dependencies: [{name: a, selector: {matchExpressions: [{key: b, operator: Exists}]}, grpc: {port: a}, \
             period: 10ms, timeout: 24h, failureThreshold: 10000, successThreshold: 10000, whenDown: HoldAll}, \
             {name: b, selector: {matchLabels: {app: b}}, httpGet: {port: http, path: /up}, whenDown: HoldEjections}]}",
            "mode: Enforce, pool: {through: ReadinessGate}",
            "pool: {through: EndpointSlice, service: shop}",
        ]
        .map(with_selector),
    );
    specs
}

/// Policies that can be read and make no sense.
pub fn nonsense() -> Vec<Refused> {
    const EMPTY: &str = "an empty selector would take every pod";
    const VALUES: &str = "must be label values";
    const FIT: &str = "must be there for In and NotIn";
    const SHORTER: &str = "must be shorter than period";
    const ONLY_READINESS: &str = "must be set for readiness only";
    const DURATION: &str = "must be a duration such as 10s";
    const PERIOD: &str = "must be from 10ms to 24h";
    const DELAY: &str = "must be at most 24h";
    const SECONDS: &str = "must be from 1s to 24h";
    const COUNT: &str = "must be from 1 to 10000";
    const ONCE: &str = "must be 1 for a startup or liveness rule";
    const HANDLER: &str = "must have exactly one handler";
    const PORT: &str = "must be a port number from 1 to 65535, or a port name";
    const PATH: &str = "must start with / and hold";
    const HTTPS: &str = "must only be there with scheme: HTTPS";
    const NAME: &str = "must be a DNS name";
    const HEADER: &str = "must be a header's name";
    const STATUSES: &str = "must be statuses such as 204";
    const MAX_BODY: &str = "must be from 0 to 1048576 bytes";
    const CONTAINER: &str = "must be a container's name";
    const AMOUNT: &str = "must be a number from 1 to 10000, or a percentage from 1% to 100%";

    const FOUR_OF_THREE: &str = "readiness: {tcpSocket: {port: 80}, failureWindow: {failures: 4, attempts: 3}}";
    const WINDOW_OF_STARTUP: &str = "startup: {tcpSocket: {port: 80}, failureWindow: {failures: 1, attempts: 2}}";
    const NO_WINDOW: &str = "liveness: {tcpSocket: {port: 80}, failureWindow: {failures: 0, attempts: 3}}";
    const LONG_WINDOW: &str = "liveness: {tcpSocket: {port: 80}, failureWindow: {failures: 3, attempts: 65}}";
    const ITS_SERVICE: &str = "must name a Service without a selector for through: EndpointSlice";
    const OPEN_AT: &str = "must be a number from 2 to 10000, a percentage from 1% to 100%, or Never";

    let mut refused = Vec::new();
    let mut add = |spec: String, path, sentence| refused.push(Refused { spec, path, sentence });
    for (selector, path, sentence) in [
        ("{}", "spec.selector", EMPTY),
        ("{matchLabels: {}}", "spec.selector", EMPTY),
        ("{matchLabels: {}, matchExpressions: []}", "spec.selector", EMPTY),
        ("{matchLabels: {app: 'a b'}}", "spec.selector.matchLabels", VALUES),
        ("{matchLabels: {app: -a}}", "spec.selector.matchLabels", VALUES),
        ("{matchExpressions: [{key: app, operator: In}]}", "spec.selector.matchExpressions[0].values", FIT),
        (
            "{matchExpressions: [{key: app, operator: NotIn, values: []}]}",
            "spec.selector.matchExpressions[0].values",
            FIT,
        ),
        (
            "{matchExpressions: [{key: app, operator: Exists, values: [a]}]}",
            "spec.selector.matchExpressions[0].values",
            FIT,
        ),
        (
            "{matchExpressions: [{key: app, operator: In, values: [a_]}]}",
            "spec.selector.matchExpressions[0].values",
            VALUES,
        ),
        (
            "{matchExpressions: [{key: a/b/c, operator: Exists}]}",
            "spec.selector.matchExpressions[0].key",
            "must be a label's key",
        ),
        (
            "{matchExpressions: [{key: '', operator: Exists}]}",
            "spec.selector.matchExpressions[0].key",
            "must be a label's key",
        ),
    ] {
        add(format!("{{selector: {selector}}}"), path, sentence);
    }
    for (rest, path, sentence) in [
        ("liveness: {}", "spec.liveness", HANDLER),
        ("startup: {period: 5s}", "spec.startup", HANDLER),
        ("readiness: {httpGet: {port: 80}, tcpSocket: {port: 80}}", "spec.readiness", HANDLER),
        ("readiness: {httpGet: {port: 80}, grpc: {port: 80}}", "spec.readiness", HANDLER),
        (
            "liveness: {httpGet: {port: 80, health: {}}}",
            "spec.liveness.httpGet.health",
            "must name a component or a scope",
        ),
        ("liveness: {grpc: {port: 0}}", "spec.liveness.grpc.port", PORT),
        ("liveness: {grpc: {port: 80, service: a b}}", "spec.liveness.grpc.service", "must be at most 253 visible"),
        ("liveness: {grpc: {port: 80, accept: []}}", "spec.liveness.grpc.accept", "must name at least one state"),
        ("liveness: {grpc: {port: 80, tls: {serverName: A}}}", "spec.liveness.grpc.tls.serverName", NAME),
        ("readiness: {tcpSocket: {port: 80}, exec: {command: [a]}}", "spec.readiness", HANDLER),
        ("liveness: {exec: {command: [a]}, ipFamily: IPv6}", "spec.liveness.ipFamily", "must be First with exec"),
        ("liveness: {exec: {command: []}}", "spec.liveness.exec.command", "must name a program"),
        ("liveness: {exec: {command: ['', a]}}", "spec.liveness.exec.command", "must name a program"),
        ("liveness: {tcpSocket: {port: 80}, period: 0s}", "spec.liveness.period", PERIOD),
        ("startup: {tcpSocket: {port: 80}, period: 9ms}", "spec.startup.period", PERIOD),
        ("readiness: {tcpSocket: {port: 80}, period: 24h1ms}", "spec.readiness.period", PERIOD),
        ("readiness: {tcpSocket: {port: 80}, period: 99999h}", "spec.readiness.period", PERIOD),
        ("liveness: {tcpSocket: {port: 80}, period: -1s}", "spec.liveness.period", DURATION),
        ("liveness: {tcpSocket: {port: 80}, period: '5'}", "spec.liveness.period", DURATION),
        ("liveness: {tcpSocket: {port: 80}, period: 1.5s}", "spec.liveness.period", DURATION),
        ("liveness: {tcpSocket: {port: 80}, period: ''}", "spec.liveness.period", DURATION),
        ("liveness: {tcpSocket: {port: 80}, period: 100000s}", "spec.liveness.period", DURATION),
        ("readiness: {tcpSocket: {port: 80}, startupPeriod: 5ms}", "spec.readiness.startupPeriod", PERIOD),
        ("readiness: {tcpSocket: {port: 80}, startupPeriod: 10s}", "spec.readiness.startupPeriod", SHORTER),
        ("readiness: {tcpSocket: {port: 80}, startupPeriod: soon}", "spec.readiness.startupPeriod", DURATION),
        ("liveness: {tcpSocket: {port: 80}, startupPeriod: 1s}", "spec.liveness.startupPeriod", ONLY_READINESS),
        ("startup: {tcpSocket: {port: 80}, startupPeriod: 1s}", "spec.startup.startupPeriod", ONLY_READINESS),
        ("readiness: {tcpSocket: {port: 80}, fastPeriod: 0s}", "spec.readiness.fastPeriod", PERIOD),
        ("liveness: {tcpSocket: {port: 80}, period: 1s, fastPeriod: 1s}", "spec.liveness.fastPeriod", SHORTER),
        ("startup: {tcpSocket: {port: 80}, fastPeriod: 1s}", "spec.startup.fastPeriod", "must not be set for startup"),
        ("liveness: {tcpSocket: {port: 80}, timeout: 0s}", "spec.liveness.timeout", PERIOD),
        ("liveness: {tcpSocket: {port: 80}, timeout: 5 s}", "spec.liveness.timeout", DURATION),
        ("liveness: {tcpSocket: {port: 80}, initialDelay: 25h}", "spec.liveness.initialDelay", DELAY),
        ("liveness: {tcpSocket: {port: 80}, failureThreshold: 0}", "spec.liveness.failureThreshold", COUNT),
        ("readiness: {tcpSocket: {port: 80}, failureThreshold: -3}", "spec.readiness.failureThreshold", COUNT),
        ("readiness: {tcpSocket: {port: 80}, failureThreshold: 10001}", "spec.readiness.failureThreshold", COUNT),
        ("readiness: {tcpSocket: {port: 80}, successThreshold: 0}", "spec.readiness.successThreshold", COUNT),
        ("startup: {tcpSocket: {port: 80}, successThreshold: 2}", "spec.startup.successThreshold", ONCE),
        ("liveness: {tcpSocket: {port: 80}, successThreshold: 2}", "spec.liveness.successThreshold", ONCE),
        ("liveness: {httpGet: {port: 0}}", "spec.liveness.httpGet.port", PORT),
        ("liveness: {httpGet: {port: 65536}}", "spec.liveness.httpGet.port", PORT),
        ("startup: {httpGet: {port: -1}}", "spec.startup.httpGet.port", PORT),
        ("readiness: {tcpSocket: {port: 0}}", "spec.readiness.tcpSocket.port", PORT),
        ("liveness: {httpGet: {port: ''}}", "spec.liveness.httpGet.port", PORT),
        ("liveness: {httpGet: {port: '80'}}", "spec.liveness.httpGet.port", PORT),
        ("liveness: {httpGet: {port: Http}}", "spec.liveness.httpGet.port", PORT),
        ("liveness: {httpGet: {port: a--b}}", "spec.liveness.httpGet.port", PORT),
        ("liveness: {httpGet: {port: -a}}", "spec.liveness.httpGet.port", PORT),
        ("liveness: {httpGet: {port: a234567890123456}}", "spec.liveness.httpGet.port", PORT),
        ("liveness: {httpGet: {port: 80, path: ''}}", "spec.liveness.httpGet.path", PATH),
        ("liveness: {httpGet: {port: 80, path: live}}", "spec.liveness.httpGet.path", PATH),
        ("liveness: {httpGet: {port: 80, path: /a b}}", "spec.liveness.httpGet.path", PATH),
        ("liveness: {httpGet: {port: 80, path: \"/a\\r\\nHost: b\"}}", "spec.liveness.httpGet.path", PATH),
        ("liveness: {httpGet: {port: 80, path: \"/a\\n\"}}", "spec.liveness.httpGet.path", PATH),
        ("liveness: {httpGet: {port: 80, path: /ü}}", "spec.liveness.httpGet.path", PATH),
        ("liveness: {httpGet: {port: 80, path: /a#b}}", "spec.liveness.httpGet.path", PATH),
        ("liveness: {httpGet: {port: 80, tls: {}}}", "spec.liveness.httpGet.tls", HTTPS),
        ("liveness: {httpGet: {port: 80, scheme: HTTP, tls: {}}}", "spec.liveness.httpGet.tls", HTTPS),
        (
            "liveness: {httpGet: {port: 80, scheme: HTTPS, tls: {serverName: a..b}}}",
            "spec.liveness.httpGet.tls.serverName",
            NAME,
        ),
        (
            "liveness: {httpGet: {port: 80, scheme: HTTPS, tls: {serverName: 10.0.0.1}}}",
            "spec.liveness.httpGet.tls.serverName",
            NAME,
        ),
        (
            "liveness: {httpGet: {port: 80, scheme: HTTPS, tls: {serverName: ''}}}",
            "spec.liveness.httpGet.tls.serverName",
            NAME,
        ),
        (
            "liveness: {httpGet: {port: 80, scheme: HTTPS, tls: {serverName: a, caBundle: none}}}",
            "spec.liveness.httpGet.tls.caBundle",
            "must be certificates in PEM",
        ),
        (
            "liveness: {httpGet: {port: 80, scheme: HTTPS, tls: {caBundle: '-----BEGIN CERTIFICATE-----'}}}",
            "spec.liveness.httpGet.tls.serverName",
            "must be there beside caBundle",
        ),
        (
            "liveness: {httpGet: {port: 80, httpHeaders: [{name: a b, value: c}]}}",
            "spec.liveness.httpGet.httpHeaders[0].name",
            HEADER,
        ),
        (
            "liveness: {httpGet: {port: 80, httpHeaders: [{name: Content-length, value: '0'}]}}",
            "spec.liveness.httpGet.httpHeaders[0].name",
            HEADER,
        ),
        (
            "liveness: {httpGet: {port: 80, httpHeaders: [{name: a, value: \"b\\r\\nc: d\"}]}}",
            "spec.liveness.httpGet.httpHeaders[0].value",
            "must be at most 1024 visible ASCII characters and blanks",
        ),
        (
            "liveness: {httpGet: {port: 80, httpHeaders: [{name: Host, value: a}, {name: hOST, value: b}]}}",
            "spec.liveness.httpGet.httpHeaders",
            "must not have the same name twice",
        ),
        ("liveness: {httpGet: {port: 80, expectedStatuses: []}}", "spec.liveness.httpGet.expectedStatuses", STATUSES),
        (
            "liveness: {httpGet: {port: 80, expectedStatuses: [2xx]}}",
            "spec.liveness.httpGet.expectedStatuses",
            STATUSES,
        ),
        (
            "liveness: {httpGet: {port: 80, expectedStatuses: ['600']}}",
            "spec.liveness.httpGet.expectedStatuses",
            STATUSES,
        ),
        (
            "liveness: {httpGet: {port: 80, expectedStatuses: [299-200]}}",
            "spec.liveness.httpGet.expectedStatuses",
            STATUSES,
        ),
        ("liveness: {httpGet: {port: 80, maxBody: -1}}", "spec.liveness.httpGet.maxBody", MAX_BODY),
        ("liveness: {httpGet: {port: 80, maxBody: 1048577}}", "spec.liveness.httpGet.maxBody", MAX_BODY),
        ("liveness: {tcpSocket: {port: 80}, container: ''}", "spec.liveness.container", CONTAINER),
        ("liveness: {tcpSocket: {port: 80}, container: App}", "spec.liveness.container", CONTAINER),
        ("liveness: {tcpSocket: {port: 80}, container: a-}", "spec.liveness.container", CONTAINER),
        ("restart: {maxConcurrent: 0}", "spec.restart.maxConcurrent", AMOUNT),
        ("restart: {maxConcurrent: -1}", "spec.restart.maxConcurrent", AMOUNT),
        ("restart: {maxConcurrent: 10001}", "spec.restart.maxConcurrent", AMOUNT),
        ("restart: {maxConcurrent: 0%}", "spec.restart.maxConcurrent", AMOUNT),
        ("restart: {maxConcurrent: 101%}", "spec.restart.maxConcurrent", AMOUNT),
        ("restart: {maxConcurrent: +5%}", "spec.restart.maxConcurrent", AMOUNT),
        ("restart: {maxConcurrent: '5'}", "spec.restart.maxConcurrent", AMOUNT),
        ("restart: {backoff: {initial: 10m}}", "spec.restart.backoff.initial", "must not be longer than max"),
        ("restart: {backoff: {max: 25h}}", "spec.restart.backoff.max", DELAY),
        ("restart: {backoff: {resetAfter: 5m}}", "spec.restart.backoff.resetAfter", "must be longer than max"),
        ("restart: {backoff: {resetAfter: 0s}}", "spec.restart.backoff.resetAfter", SECONDS),
        ("restart: {backoff: {max: '1'}}", "spec.restart.backoff.max", DURATION),
        ("restart: {budget: {restarts: 0, per: 1h}}", "spec.restart.budget.restarts", COUNT),
        ("restart: {budget: {restarts: 10001, per: 1h}}", "spec.restart.budget.restarts", COUNT),
        ("restart: {budget: {restarts: 1, per: 999ms}}", "spec.restart.budget.per", SECONDS),
        ("restart: {gracePeriod: 0s}", "spec.restart.gracePeriod", SECONDS),
        ("restart: {gracePeriod: 999ms}", "spec.restart.gracePeriod", SECONDS),
        ("restart: {deadline: 0s}", "spec.restart.deadline", SECONDS),
        ("restart: {loopAfter: 0}", "spec.restart.loopAfter", COUNT),
        ("restart: {giveUpAfter: -1}", "spec.restart.giveUpAfter", "must be from 0 to 10000"),
        ("restart: {giveUpAfter: 10001}", "spec.restart.giveUpAfter", "must be from 0 to 10000"),
        (FOUR_OF_THREE, "spec.readiness.failureWindow.failures", "must not be more than attempts"),
        (WINDOW_OF_STARTUP, "spec.startup.failureWindow", "must not be set for startup"),
        (NO_WINDOW, "spec.liveness.failureWindow.failures", "must be from 1 to 64"),
        (LONG_WINDOW, "spec.liveness.failureWindow.attempts", "must be from 1 to 64"),
        ("pool: {dwell: 25h}", "spec.pool.dwell", DELAY),
        ("pool: {ejectionBackoff: {initial: 6m}}", "spec.pool.ejectionBackoff.initial", "must not be longer than max"),
        ("pool: {ejectionBackoff: {decayAfter: 0s}}", "spec.pool.ejectionBackoff.decayAfter", SECONDS),
        ("pool: {through: EndpointSlice}", "spec.pool.service", ITS_SERVICE),
        ("pool: {service: shop}", "spec.pool.service", ITS_SERVICE),
        ("pool: {through: EndpointSlice, service: Shop}", "spec.pool.service", "must be a Service's name"),
        ("pool: {minReady: -1}", "spec.pool.minReady", "must be a number from 0 to 10000"),
        ("pool: {minReady: 0%}", "spec.pool.minReady", "must be a number from 0 to 10000"),
        ("pool: {minReady: 101%}", "spec.pool.minReady", "must be a number from 0 to 10000"),
        ("pool: {cooldown: 0s}", "spec.pool.cooldown", SECONDS),
        ("fleet: {breaker: {openAt: 1}}", "spec.fleet.breaker.openAt", OPEN_AT),
        ("fleet: {breaker: {openAt: 10001}}", "spec.fleet.breaker.openAt", OPEN_AT),
        ("fleet: {breaker: {openAt: 0%}}", "spec.fleet.breaker.openAt", OPEN_AT),
        ("fleet: {breaker: {openAt: 101%}}", "spec.fleet.breaker.openAt", OPEN_AT),
        ("fleet: {breaker: {openAt: 'Off'}}", "spec.fleet.breaker.openAt", OPEN_AT),
        ("fleet: {breaker: {minJudged: 1}}", "spec.fleet.breaker.minJudged", "must be from 2 to 10000"),
        ("fleet: {breaker: {cooldown: 0s}}", "spec.fleet.breaker.cooldown", SECONDS),
        (
            "fleet: {dependencies: [{name: a, selector: {}, tcpSocket: {port: 1}}]}",
            "spec.fleet.dependencies[0].selector",
            EMPTY,
        ),
        (
            "fleet: {dependencies: [{name: a, selector: {matchLabels: {a: b}}}]}",
            "spec.fleet.dependencies[0]",
            "must have exactly one handler: httpGet, tcpSocket or grpc",
        ),
        (
            "fleet: {dependencies: [{name: A, selector: {matchLabels: {a: b}}, tcpSocket: {port: 1}}]}",
            "spec.fleet.dependencies[0].name",
            "must be a dependency's name",
        ),
        (
            "fleet: {dependencies: [{name: a, selector: {matchLabels: {a: b}}, tcpSocket: {port: 1}}, \
             {name: a, selector: {matchLabels: {a: b}}, tcpSocket: {port: 1}}]}",
            "spec.fleet.dependencies",
            "must be at most 4 dependencies, no two of the same name",
        ),
        (
            "fleet: {dependencies: [{name: a, selector: {matchLabels: {a: b}}, tcpSocket: {port: 1}, period: 1ms}]}",
            "spec.fleet.dependencies[0].period",
            PERIOD,
        ),
        ("fleet: {breaker: {trial: 25h}}", "spec.fleet.breaker.trial", DELAY),
    ] {
        add(with_selector(rest), path, sentence);
    }
    refused
}

/// Policies that cannot even be read: the field, which both name in words of their own.
pub fn malformed() -> Vec<(String, &'static str)> {
    let mut specs = vec![("{}".to_owned(), "selector"), ("{selector: null}".to_owned(), "selector")];
    specs.extend(
        [
            ("mode: enforce", "mode"),
            ("mode: true", "mode"),
            ("floor: {}", "floor"),
            ("liveness: {httpGet: {}}", "port"),
            ("liveness: {httpGet: {port: 80, host: example.org}}", "host"),
            ("liveness: {httpGet: {port: 1.5}}", "port"),
            ("liveness: {httpGet: {port: 80, scheme: https}}", "scheme"),
            ("liveness: {httpGet: {port: 80, redirects: All}}", "redirects"),
            ("liveness: {grpc: {port: 80, accept: [SERVING]}}", "accept"),
            ("liveness: {exec: {command: a}}", "command"),
            ("liveness: {heartbeat: {}}", "heartbeat"),
            ("liveness: {tcpSocket: {port: 80}, period: 5}", "period"),
            ("liveness: {tcpSocket: {port: 80}, periodSeconds: 5}", "periodSeconds"),
            ("startup: {tcpSocket: {port: 80}, timeoutSeconds: 1}", "timeoutSeconds"),
            ("readiness: {tcpSocket: {port: 80}, initialDelaySeconds: 7}", "initialDelaySeconds"),
            ("liveness: {tcpSocket: {port: 80}, failureThreshold: many}", "failureThreshold"),
            ("liveness: {tcpSocket: {port: 80}, failureThreshold: 5000000000}", "failureThreshold"),
            ("restart: {method: Exec}", "method"),
            ("restart: {maxConcurrent: 1.5}", "maxConcurrent"),
            ("pool: {through: Endpoints}", "through"),
            ("pool: {whenBelow: Eject}", "whenBelow"),
            ("fleet: {breaker: Never}", "breaker"),
            ("fleet: {dependencies: [{name: a, tcpSocket: {port: 1}}]}", "selector"),
            (
                "fleet: {dependencies: [{name: a, selector: {matchLabels: {a: b}}, tcpSocket: {port: 1, host: b}}]}",
                "host",
            ),
            ("fleet: {dependencies: [{name: a, selector: {matchLabels: {a: b}}, exec: {command: [a]}}]}", "exec"),
        ]
        .map(|(rest, field)| (with_selector(rest), field)),
    );
    specs
}

fn with_selector(rest: &str) -> String {
    format!("{{selector: {{matchLabels: {{app: a}}}}, {rest}}}")
}
