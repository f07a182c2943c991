//! The question: a GET with as few headers as a server may expect, and those that the rule gives.

use std::net::SocketAddr;

use crate::api::HttpGet;

/// The whole request for `path` as it is sent to `address`.
pub(super) fn text(get: &HttpGet, path: &str, address: SocketAddr) -> String {
    const OWN: [(&str, &str); 3] = [
        ("User-Agent", concat!("probe-policy/", env!("CARGO_PKG_VERSION"))),
        ("Accept", "*/*"),
        ("Connection", "close"),
    ];
    let mut text = String::with_capacity(256);
    let mut add = |parts: &[&str]| parts.iter().for_each(|part| text.push_str(part));
    add(&["GET ", path, " HTTP/1.1\r\n"]);
    if get.header("host").is_none() {
        add(&["Host: ", &address.to_string(), "\r\n"]);
    }
    let own = OWN.into_iter().filter(|(name, _)| get.header(name).is_none());
    for (name, value) in get.headers().chain(own) {
        add(&[name, ": ", value, "\r\n"]);
    }
    text.push_str("\r\n");
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::test_support::get;

    #[test]
    fn the_request_names_the_address() {
        for address in ["10.0.0.1:80", "[fd00::1]:8080"] {
            assert_eq!(
                text(&get(json!({})), "/live?deep=1", address.parse().unwrap()),
                format!(
                    "GET /live?deep=1 HTTP/1.1\r\nHost: {address}\r\nUser-Agent: probe-policy/{}\r\nAccept: */*\r\n\
                     Connection: close\r\n\r\n",
                    env!("CARGO_PKG_VERSION")
                )
            );
        }
    }

    #[test]
    fn headers_of_the_rule_take_the_place_of_our_own() {
        let headers = json!([
            {"name": "host", "value": "shop.example"},
            {"name": "ACCEPT", "value": "application/health+json"},
            {"name": "User-Agent", "value": ""},
            {"name": "X-Probe", "value": "a, b"},
        ]);
        assert_eq!(
            text(&get(json!({"httpHeaders": headers})), "/", "10.0.0.1:80".parse().unwrap()),
            "GET / HTTP/1.1\r\nhost: shop.example\r\nACCEPT: application/health+json\r\nUser-Agent: \r\n\
             X-Probe: a, b\r\nConnection: close\r\n\r\n"
        );
    }
}
