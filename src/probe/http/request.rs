//! The question: a GET with as few headers as a server may expect.

use std::net::SocketAddr;
use std::sync::Arc;

/// A GET of one path. Cheap to clone: what it says is shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpGet {
    path: Arc<str>,
    host: Option<Arc<str>>,
}

/// Text that cannot stand in a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidHttpGet {
    /// In the place of the path.
    #[error("{0:?} is no path: write one that begins with / and has at most {MAX_PATH} visible ASCII characters")]
    Path(String),
    /// In the place of the host.
    #[error("{0:?} is no host: write 1 to {MAX_HOST} visible ASCII characters")]
    Host(String),
}

const MAX_PATH: usize = 2048;
const MAX_HOST: usize = 255;

impl HttpGet {
    /// A GET of `path`, query included, with `host` as the `Host` header; `None` is the address that is asked.
    pub fn new(path: &str, host: Option<&str>) -> Result<Self, InvalidHttpGet> {
        if !path.starts_with('/') || path.len() > MAX_PATH || !is_visible(path) {
            return Err(InvalidHttpGet::Path(path.to_owned()));
        }
        if let Some(host) = host.filter(|host| host.is_empty() || host.len() > MAX_HOST || !is_visible(host)) {
            return Err(InvalidHttpGet::Host(host.to_owned()));
        }
        Ok(Self { path: path.into(), host: host.map(Arc::from) })
    }

    /// The whole request as it is sent to `address`.
    pub(super) fn request(&self, address: SocketAddr) -> String {
        let path = &self.path;
        let host = self.host.as_deref().map_or_else(|| address.to_string(), str::to_owned);
        let version = env!("CARGO_PKG_VERSION");
        format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: probe-policy/{version}\r\n\
             Accept: */*\r\nConnection: close\r\n\r\n"
        )
    }
}

/// Nothing that could end a line or a word of the request early.
fn is_visible(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_names_the_address_unless_a_host_is_given() {
        for (address, host, line) in [
            ("10.0.0.1:80", None, "10.0.0.1:80"),
            ("[fd00::1]:8080", None, "[fd00::1]:8080"),
            ("10.0.0.1:80", Some("validator.example"), "validator.example"),
        ] {
            let get = HttpGet::new("/live?deep=1", host).unwrap();
            assert_eq!(
                get.request(address.parse().unwrap()),
                format!(
                    "GET /live?deep=1 HTTP/1.1\r\nHost: {line}\r\nUser-Agent: probe-policy/{}\r\nAccept: */*\r\n\
                     Connection: close\r\n\r\n",
                    env!("CARGO_PKG_VERSION")
                )
            );
        }
    }

    #[test]
    fn text_that_would_break_the_request_is_refused() {
        let long = format!("/{}", "a".repeat(MAX_PATH));
        for path in ["", "live", "/a b", "/a\r\nX: y", "/\u{e4}", "/\t", long.as_str()] {
            assert_eq!(HttpGet::new(path, None), Err(InvalidHttpGet::Path(path.to_owned())));
        }
        let long = "a".repeat(MAX_HOST + 1);
        for host in ["", "a b", "a\r\nX: y", long.as_str()] {
            assert_eq!(HttpGet::new("/", Some(host)), Err(InvalidHttpGet::Host(host.to_owned())));
        }
    }
}
