//! Where a redirect leads, as far as it may be followed.

use std::net::SocketAddr;

use crate::api::HttpGet;

/// The longest path that is followed.
const MAX_PATH: usize = 2048;

/// The path that a `Location` leads to, if it stays with the scheme and the host that were asked: a path from the root,
/// or a URL whose host is the address, or what the request said in its `Host` header.
pub(super) fn path_at_same_host(location: &[u8], get: &HttpGet, address: SocketAddr) -> Option<String> {
    let location = std::str::from_utf8(location).ok()?;
    let location = location.split('#').next()?;
    let (scheme, default_port) = if get.tls().is_some() { ("https:", 443) } else { ("http:", 80) };
    let after_scheme = match location.split_at_checked(scheme.len()) {
        Some((start, rest)) if start.eq_ignore_ascii_case(scheme) && rest.starts_with("//") => rest,
        Some(_) | None => location,
    };
    let path = match after_scheme.strip_prefix("//") {
        Some(rest) => {
            let (host, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
            let asked = get.header("host").is_some_and(|asked| asked.eq_ignore_ascii_case(host));
            let is_address = host.parse() == Ok(address) || format!("{host}:{default_port}").parse() == Ok(address);
            (asked || is_address).then_some(path)?
        }
        None => location.starts_with('/').then_some(location)?,
    };
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    (path.len() <= MAX_PATH && path.bytes().all(|b| b.is_ascii_graphic())).then_some(path)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::test_support::get;

    #[test]
    fn only_what_stays_with_the_host_is_followed() {
        let plain = get(json!({}));
        let named = get(json!({"httpHeaders": [{"name": "Host", "value": "shop.example"}]}));
        let secure = get(json!({"scheme": "HTTPS"}));
        for (get, location, path) in [
            (&plain, "/a?b", Some("/a?b")),
            (&plain, "/a#b", Some("/a")),
            (&plain, "http://10.0.0.1:80/a", Some("/a")),
            (&plain, "http://10.0.0.1/a", Some("/a")),
            (&plain, "HTTP://10.0.0.1:80", Some("/")),
            (&plain, "http://10.0.0.1:80?a", Some("/?a")),
            (&plain, "//10.0.0.1:80/a", Some("/a")),
            (&named, "http://Shop.Example/a", Some("/a")),
            (&named, "http://10.0.0.1:80/a", Some("/a")),
            (&secure, "https://10.0.0.1:80/a", Some("/a")),
            (&plain, "", None),
            (&plain, "a", None),
            (&plain, "?a", None),
            (&plain, "http:/a", None),
            (&plain, "https://10.0.0.1:80/a", None),
            (&secure, "https://10.0.0.1/a", None),
            (&secure, "http://10.0.0.1:80/a", None),
            (&plain, "http://10.0.0.1:81/a", None),
            (&plain, "http://10.0.0.2:80/a", None),
            (&plain, "http://169.254.169.254/a", None),
            (&plain, "//169.254.169.254/a", None),
            (&plain, "http://shop.example/a", None),
            (&named, "http://shop.example.org/a", None),
            (&plain, "http://10.0.0.1:80@169.254.169.254/a", None),
            (&plain, "/a b", None),
            (&plain, "/a\r\nHost: b", None),
            (&plain, "/\u{e4}", None),
        ] {
            let found = path_at_same_host(location.as_bytes(), get, "10.0.0.1:80".parse().unwrap());
            assert_eq!(found.as_deref(), path, "{location:?}");
        }
        let long = format!("/{}", "a".repeat(MAX_PATH));
        assert_eq!(path_at_same_host(long.as_bytes(), &plain, "10.0.0.1:80".parse().unwrap()), None);
    }
}
