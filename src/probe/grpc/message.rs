//! The two messages of a health check, each one field long, in gRPC's frame: a byte that says whether it is compressed,
//! four for its length, and Protocol Buffers. A library for those would be larger than what is left to write by hand.

use crate::api::ServingState;

/// A varint, in the number of a field.
const VARINT: u64 = 0;
/// Text or bytes, in the number of a field.
const BYTES: u64 = 2;

/// `HealthCheckRequest { service = 1 }` in its frame. An empty service is left out, as Protocol Buffers have it.
pub(super) fn request(service: &str) -> Vec<u8> {
    let mut message = Vec::new();
    if !service.is_empty() {
        write_varint(&mut message, 1 << 3 | BYTES);
        write_varint(&mut message, service.len() as u64);
        message.extend_from_slice(service.as_bytes());
    }
    let mut frame = vec![0];
    frame.extend_from_slice(&u32::try_from(message.len()).unwrap_or(u32::MAX).to_be_bytes());
    frame.append(&mut message);
    frame
}

/// What `HealthCheckResponse { status = 1 }` says; `None` if the bytes are not that message in one frame, uncompressed.
/// A state that we do not know is unknown.
pub(super) fn state(frame: &[u8]) -> Option<ServingState> {
    let (head, mut message) = frame.split_at_checked(5)?;
    let [0, length @ ..] = head else { return None };
    if u32::from_be_bytes(length.try_into().ok()?) as usize != message.len() {
        return None;
    }
    let mut status = 0;
    while !message.is_empty() {
        let key = read_varint(&mut message)?;
        match (key >> 3, key & 7) {
            (1, VARINT) => status = read_varint(&mut message)?,
            (1.., VARINT) => drop(read_varint(&mut message)?),
            (1.., 1) => message = message.get(8..)?,
            (1.., BYTES) => {
                let length = read_varint(&mut message)?;
                message = message.get(usize::try_from(length).ok()?..)?;
            }
            (1.., 5) => message = message.get(4..)?,
            _ => return None,
        }
    }
    Some(match status {
        1 => ServingState::Serving,
        2 => ServingState::NotServing,
        _ => ServingState::Unknown,
    })
}

fn write_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn read_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_names_the_service() {
        assert_eq!(request(""), b"\0\0\0\0\0");
        assert_eq!(request("shop"), b"\0\0\0\0\x06\x0a\x04shop");
        let long = request(&"a".repeat(200));
        assert_eq!(long[..8], *b"\0\0\0\0\xcb\x0a\xc8\x01");
        assert_eq!(long.len(), 8 + 200);
    }

    #[test]
    fn an_answer_says_the_state() {
        use ServingState::{NotServing, Serving, Unknown};
        for (frame, expected) in [
            (&b"\0\0\0\0\x02\x08\x01"[..], Some(Serving)),
            (b"\0\0\0\0\x02\x08\x02", Some(NotServing)),
            (b"\0\0\0\0\x02\x08\x00", Some(Unknown)),
            (b"\0\0\0\0\x02\x08\x03", Some(Unknown)),
            (b"\0\0\0\0\x03\x08\x81\x02", Some(Unknown)),
            (b"\0\0\0\0\x00", Some(Unknown)),
            // Fields that we do not know are passed over, of two that we know the last one counts.
            (b"\0\0\0\0\x08\x08\x02\x12\x02ab\x08\x01", Some(Serving)),
            (b"\0\0\0\0\x0a\x08\x01\x19abcdefg", None),
            (b"\0\0\0\0\x0b\x08\x01\x11abcdefgh", Some(Serving)),
            (b"\0\0\0\0\x07\x08\x01\x15abcd", Some(Serving)),
            (b"", None),
            (b"\0\0\0\0", None),
            (b"\0\0\0\0\x02\x08", None),
            (b"\0\0\0\0\x01\x08\x01", None),
            (b"\x01\0\0\0\x02\x08\x01", None),
            (b"\0\0\0\0\x01\x08", None),
            (b"\0\0\0\0\x02\x0a\x05", None),
            (b"\0\0\0\0\x02\x0b\x01", None),
        ] {
            assert_eq!(state(frame), expected, "{frame:?}");
        }
    }

    #[test]
    fn every_beginning_of_an_answer_is_none() {
        let answer = b"\0\0\0\0\x02\x08\x01";
        for length in 0..answer.len() {
            assert_eq!(state(&answer[..length]), None, "{length}");
        }
    }
}
