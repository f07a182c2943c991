//! The HTTP kind: one GET.

use std::fmt;
use std::ops::RangeInclusive;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::health::HealthBody;
use super::tls::{Application, Tls, TlsSpec};
use crate::api::checks::Check;
use crate::api::convert::SpecError;
use crate::api::{Port, checks};

/// An HTTP GET request, as it is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(validation = TLS_NEEDS_HTTPS.rule())]
pub struct HttpGetSpec {
    /// The pod's port: a number from 1 to 65535, or the name of a port that the container declares.
    #[schemars(extend("maxLength" = 64))]
    #[x_kube(validation = checks::PORT.rule())]
    pub port: IntOrString,

    /// The path that is requested, with its query: starts with /, visible ASCII characters only. Default /.
    #[serde(default = "default::path")]
    #[schemars(length(max = 1024))]
    #[x_kube(validation = PATH.rule())]
    pub path: String,

    /// HTTP, or HTTPS: the same over TLS. Default HTTP.
    #[serde(default)]
    pub scheme: Scheme,

    /// How an HTTPS server is met. Default: any certificate will do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsSpec>,

    /// Headers of the request, at most 16, each once. One named Host takes the place of the address, one named
    /// User-Agent or Accept that of our own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(validation = HEADERS.rule())]
    pub http_headers: Vec<HttpHeaderSpec>,

    /// The statuses that pass, from 1 to 16 of them: one such as 204, or a range such as 200-299, from 100 to 599.
    /// Default 200-299.
    #[serde(default = "default::expected_statuses")]
    #[schemars(length(max = 16), inner(length(max = 7)))]
    #[x_kube(validation = STATUSES.rule())]
    pub expected_statuses: Vec<String>,

    /// What becomes of a redirect whose status is not expected. None: it fails. SameHost: it is followed, up to ten
    /// times, if it leads to a path of the same scheme and host; always at the same address and port. Default None.
    #[serde(default)]
    pub redirects: Redirects,

    /// How many bytes of the body are read, from 0 to 1048576, chunk framing included. One that is sound up to there
    /// passes; one that stalls, breaks off or is malformed before fails. 0: the head alone decides. Default 65536.
    #[serde(default = "default::max_body")]
    #[x_kube(validation = MAX_BODY.rule())]
    pub max_body: i32,

    /// What is read of a health body (application/health+json), which maxBody has to hold: an expected status passes if
    /// the components that the rule names are there and well. Optional; without it what a body says does not matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<HealthBody>,
}

/// What HTTP goes over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(inline)]
pub enum Scheme {
    /// A connection as it is.
    #[default]
    Http,
    /// TLS.
    Https,
}

/// A header of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpHeaderSpec {
    /// The header's name, at most 64 characters.
    #[schemars(length(max = 64))]
    #[x_kube(validation = HEADER_NAME.rule())]
    pub name: String,

    /// The header's value: at most 1024 visible ASCII characters and blanks.
    #[schemars(length(max = 1024))]
    #[x_kube(validation = HEADER_VALUE.rule())]
    pub value: String,
}

/// What becomes of a redirect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum Redirects {
    /// It fails.
    #[default]
    None,
    /// It is followed if it stays with the same scheme and host.
    SameHost,
}

/// An HTTP GET request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpGet {
    port: Port,
    path: String,
    tls: Option<Tls>,
    headers: Vec<HttpHeaderSpec>,
    expected: Vec<RangeInclusive<u16>>,
    redirects: Redirects,
    max_body: usize,
    health: Option<HealthBody>,
}

impl HttpGet {
    pub(super) fn parse(at: &str, spec: &HttpGetSpec) -> Result<Self, SpecError> {
        TLS_NEEDS_HTTPS.parse(at, spec)?;
        let tls = match spec.scheme {
            Scheme::Http => None,
            Scheme::Https => {
                let tls = spec.tls.clone().unwrap_or_default();
                Some(Tls::parse(&format!("{at}.tls"), &tls, Application::Http1)?)
            }
        };
        for (index, header) in spec.http_headers.iter().enumerate() {
            HEADER_NAME.parse(format_args!("{at}.httpHeaders[{index}].name"), &header.name)?;
            HEADER_VALUE.parse(format_args!("{at}.httpHeaders[{index}].value"), &header.value)?;
        }
        HEADERS.parse(format_args!("{at}.httpHeaders"), &spec.http_headers)?;
        let health = match &spec.health {
            Some(health) => Some(HealthBody::parse(&format!("{at}.health"), health)?),
            None => None,
        };
        Ok(Self {
            port: checks::PORT.parse(format_args!("{at}.port"), &spec.port)?,
            path: PATH.parse(format_args!("{at}.path"), &spec.path)?,
            tls,
            headers: spec.http_headers.clone(),
            expected: STATUSES.parse(format_args!("{at}.expectedStatuses"), &spec.expected_statuses)?,
            redirects: spec.redirects,
            max_body: MAX_BODY.parse(format_args!("{at}.maxBody"), &spec.max_body)?,
            health,
        })
    }

    /// Where.
    pub const fn port(&self) -> &Port {
        &self.port
    }

    /// For what: path and query, as they go on the wire.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// How the server is met, if it is an HTTPS server.
    pub const fn tls(&self) -> Option<&Tls> {
        self.tls.as_ref()
    }

    /// The value of a header that the user gave; `name` in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The headers that the user gave, by name and value.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers.iter().map(|header| (&*header.name, &*header.value))
    }

    /// Whether a status passes.
    pub fn expects(&self, status: u16) -> bool {
        self.expected.iter().any(|range| range.contains(&status))
    }

    /// What becomes of a redirect whose status is not expected.
    pub const fn redirects(&self) -> Redirects {
        self.redirects
    }

    /// How many bytes of the body are read.
    pub const fn max_body(&self) -> usize {
        self.max_body
    }

    /// What is read of a health body.
    pub const fn health(&self) -> Option<&HealthBody> {
        self.health.as_ref()
    }
}

/// Settings at their default are left out, so that a new one does not change the questions that were asked before.
impl fmt::Display for HttpGet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "httpGet {} {}", self.port, self.path)?;
        if let Some(tls) = &self.tls {
            tls.fmt(f)?;
        }
        for (name, value) in self.headers() {
            write!(f, " {name}={value:?}")?;
        }
        if self.expected != [200..=299] {
            write!(f, " expects={:?}", self.expected)?;
        }
        if self.redirects != Redirects::None {
            write!(f, " redirects={:?}", self.redirects)?;
        }
        if self.max_body != default::MAX_BODY as usize {
            write!(f, " maxBody={}", self.max_body)?;
        }
        if let Some(HealthBody { components, scopes }) = &self.health {
            write!(f, " health={components:?}{scopes:?}")?;
        }
        Ok(())
    }
}

const TLS_NEEDS_HTTPS: Check<HttpGetSpec> = Check {
    cel: "!has(self.tls) || self.scheme == 'HTTPS'",
    member: ".tls",
    sentence: "must only be there with scheme: HTTPS",
    parse: |get| (get.tls.is_none() || get.scheme == Scheme::Https).then_some(()),
};

const PATH: Check<String, String> = Check {
    cel: r##"self.size() <= 1024 && self.matches('^/[!"$-~]*$')"##,
    member: "",
    sentence: "must start with / and hold at most 1024 visible ASCII characters other than # (percent-encode others)",
    parse: |path| is_path(path).then(|| path.clone()),
};

const HEADERS: Check<Vec<HttpHeaderSpec>> = Check {
    cel: "self.all(header, self.exists_one(other, other.name.lowerAscii() == header.name.lowerAscii()))",
    member: "",
    sentence: "must not have the same name twice",
    parse: |headers| {
        let same = |a: &HttpHeaderSpec, b: &HttpHeaderSpec| a.name.eq_ignore_ascii_case(&b.name);
        let once = |header| headers.iter().filter(|other| same(header, other)).count() == 1;
        headers.iter().all(once).then_some(())
    },
};

/// Tokens other than those with a quote or a backquote, and not those by which a request is framed.
const HEADER_NAME: Check<String> = Check {
    cel: "self.matches('^[A-Za-z0-9!#$%&*+.^_|~-]{1,64}$') && !(self.lowerAscii() in ['connection', \
          'content-length', 'expect', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade'])",
    member: "",
    sentence: "must be a header's name of at most 64 characters, and none by which requests are framed: Connection, \
               Content-Length, Expect, Keep-Alive, TE, Trailer, Transfer-Encoding, Upgrade",
    parse: |name| {
        const FRAMING: [&str; 8] =
            ["connection", "content-length", "expect", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"];
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&*+.^_|~-".contains(&b);
        let frames = FRAMING.iter().any(|framing| framing.eq_ignore_ascii_case(name));
        ((1..=64).contains(&name.len()) && name.bytes().all(allowed) && !frames).then_some(())
    },
};

const HEADER_VALUE: Check<String> = Check {
    cel: "self.size() <= 1024 && self.matches('^[ -~]*$')",
    member: "",
    sentence: "must be at most 1024 visible ASCII characters and blanks",
    parse: |value| (value.len() <= 1024 && value.bytes().all(|b| (b' '..=b'~').contains(&b))).then_some(()),
};

const STATUSES: Check<Vec<String>, Vec<RangeInclusive<u16>>> = Check {
    cel: "self.size() >= 1 && self.all(status, status.matches('^[1-5][0-9]{2}(-[1-5][0-9]{2})?$') && \
          (status.size() == 3 || int(status.substring(0, 3)) <= int(status.substring(4))))",
    member: "",
    sentence: "must be statuses such as 204 or ranges such as 200-299, from 100 to 599, at least one, in quotes",
    parse: |statuses| {
        let ranges = statuses.iter().map(|status| range(status)).collect::<Option<Vec<_>>>()?;
        (1..=16).contains(&ranges.len()).then_some(ranges)
    },
};

const MAX_BODY: Check<i32, usize> = Check {
    cel: "self >= 0 && self <= 1048576",
    member: "",
    sentence: "must be from 0 to 1048576 bytes",
    parse: |bytes| usize::try_from(*bytes).ok().filter(|bytes| *bytes <= 1 << 20),
};

mod default {
    pub const MAX_BODY: i32 = 64 * 1024;

    pub fn path() -> String {
        "/".to_owned()
    }

    pub fn expected_statuses() -> Vec<String> {
        vec!["200-299".to_owned()]
    }

    pub fn max_body() -> i32 {
        MAX_BODY
    }
}

/// Nothing that could end a line or a word of the request early.
fn is_path(path: &str) -> bool {
    path.len() <= 1024 && path.starts_with('/') && path.bytes().all(|b| b.is_ascii_graphic() && b != b'#')
}

/// The statuses from one to another, or one alone.
fn range(text: &str) -> Option<RangeInclusive<u16>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let status = |text: &str| {
        let is_number = text.len() == 3 && text.bytes().all(|b| b.is_ascii_digit());
        text.parse().ok().filter(|status| is_number && (100..600).contains(status))
    };
    let (first, last) = (status(first)?, status(last)?);
    (first <= last).then_some(first..=last)
}
