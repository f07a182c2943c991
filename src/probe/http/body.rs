//! The body of an HTTP/1 answer: whether it is sound, where it ends and, if somebody asks, what it says.

/// A body of which some bytes may already have been taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// Ends after so many more bytes.
    Sized { missing: u64 },
    /// Ends with its last chunk.
    Chunked(Chunks),
    /// Ends when the connection does.
    UntilClose,
}

/// What a body says.
#[derive(Debug)]
pub(super) enum Content {
    /// Nobody asks.
    Ignored,
    /// The bytes so far, without chunk framing.
    Kept(Vec<u8>),
}

impl Content {
    /// The bytes that were kept.
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Ignored => &[],
            Self::Kept(bytes) => bytes,
        }
    }

    fn add(&mut self, more: &[u8]) {
        match self {
            Self::Ignored => {}
            Self::Kept(bytes) => bytes.extend_from_slice(more),
        }
    }
}

/// Whether a body has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// It goes on.
    Open,
    /// It has ended.
    Complete,
}

/// Bytes that cannot be a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

impl Body {
    pub(super) const fn sized(length: u64) -> Self {
        Self::Sized { missing: length }
    }

    pub(super) const fn chunked() -> Self {
        Self::Chunked(Chunks::FIRST)
    }

    /// Takes the next bytes; those behind the body's end are ignored.
    pub(super) fn take(&mut self, bytes: &[u8], content: &mut Content) -> Result<Extent, Malformed> {
        match self {
            Self::Sized { missing } => {
                let here = (*missing).min(bytes.len() as u64);
                content.add(&bytes[..here as usize]);
                *missing -= here;
                Ok(if *missing == 0 { Extent::Complete } else { Extent::Open })
            }
            Self::Chunked(chunks) => chunks.take(bytes, content),
            Self::UntilClose => {
                content.add(bytes);
                Ok(Extent::Open)
            }
        }
    }

    /// Whether the connection may end while the body is open.
    pub(super) const fn may_end_here(&self) -> bool {
        match self {
            Self::Sized { .. } | Self::Chunked(_) => false,
            Self::UntilClose => true,
        }
    }
}

/// What comes next in a chunked body (RFC 9112, section 7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chunks {
    /// A digit of a chunk's size, or what follows the digits.
    Size { size: u64, digits: u8 },
    /// The rest of the line that gave the size.
    Extension { size: u64 },
    /// The line feed behind the size.
    SizeEnd { size: u64 },
    /// So much more of the chunk.
    Data { missing: u64 },
    /// The carriage return behind the chunk.
    DataReturn,
    /// The line feed behind it.
    DataEnd,
    /// A trailer line, or the empty line that ends the body.
    TrailerStart,
    /// The rest of a trailer line.
    Trailer,
    /// The very last line feed.
    End,
    /// Nothing.
    Ended,
}

impl Chunks {
    const FIRST: Self = Self::Size { size: 0, digits: 0 };

    fn take(&mut self, mut bytes: &[u8], content: &mut Content) -> Result<Extent, Malformed> {
        while *self != Self::Ended
            && let Some((&byte, rest)) = bytes.split_first()
        {
            (*self, bytes) = if let Self::Data { missing } = *self {
                let here = missing.min(bytes.len() as u64);
                content.add(&bytes[..here as usize]);
                let next = if here == missing { Self::DataReturn } else { Self::Data { missing: missing - here } };
                (next, &bytes[here as usize..])
            } else {
                (self.after(byte)?, rest)
            };
        }
        Ok(if *self == Self::Ended { Extent::Complete } else { Extent::Open })
    }

    /// What comes after `byte` of the framing. Sixteen digits hold every size.
    fn after(self, byte: u8) -> Result<Self, Malformed> {
        let digit = char::from(byte).to_digit(16).map(u64::from);
        match (self, byte, digit) {
            (Self::Size { size, digits: digits @ ..16 }, _, Some(digit)) => {
                Ok(Self::Size { size: size << 4 | digit, digits: digits + 1 })
            }
            (Self::Size { size, digits: 1.. }, b';' | b' ' | b'\t', _) => Ok(Self::Extension { size }),
            (Self::Size { size, digits: 1.. } | Self::Extension { size }, b'\r', _) => Ok(Self::SizeEnd { size }),
            (Self::Extension { size }, byte, _) if byte != b'\n' => Ok(Self::Extension { size }),
            (Self::SizeEnd { size: 0 }, b'\n', _) => Ok(Self::TrailerStart),
            (Self::SizeEnd { size }, b'\n', _) => Ok(Self::Data { missing: size }),
            (Self::DataReturn, b'\r', _) => Ok(Self::DataEnd),
            (Self::DataEnd, b'\n', _) => Ok(Self::FIRST),
            (Self::TrailerStart, b'\r', _) => Ok(Self::End),
            (Self::Trailer, b'\n', _) => Ok(Self::TrailerStart),
            (Self::TrailerStart | Self::Trailer, _, _) => Ok(Self::Trailer),
            (Self::End, b'\n', _) => Ok(Self::Ended),
            _ => Err(Malformed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOUND: [&[u8]; 6] = [
        b"0\r\n\r\n",
        b"5\r\nhello\r\n0\r\n\r\n",
        b"A;name=\"value\"\r\n0123456789\r\n00\r\n\r\n",
        b"1\r\na\r\n1\r\nb\r\n0 \r\n\r\n",
        b"2\r\n\r\n\r\n0\r\nX-Checksum: 5\r\nX-More: a\r\n\r\n",
        b"0000000000000001\r\na\r\n0000000000000000\r\n\r\n",
    ];

    #[test]
    fn a_chunked_body_ends_with_its_last_byte_however_it_is_cut() {
        for body in SOUND {
            for cut in 0..body.len() {
                let mut chunked = Body::chunked();
                assert_eq!(chunked.take(&body[..cut], &mut Content::Ignored), Ok(Extent::Open), "{body:?} up to {cut}");
                assert_eq!(
                    chunked.take(&body[cut..], &mut Content::Ignored),
                    Ok(Extent::Complete),
                    "{body:?} from {cut}"
                );
            }
        }
    }

    #[test]
    fn broken_chunking_is_malformed() {
        for body in [
            &b"\r\n"[..],
            b"x\r\n",
            b"-1\r\n",
            b"0x5\r\n",
            b"5\nhello",
            b"5;a\nhello",
            b"5\rhello",
            b"5\r\nhello0\r\n\r\n",
            b"5\r\nhello\n0\r\n\r\n",
            b"0\r\n\rx",
            b"00000000000000001\r\n",
        ] {
            assert_eq!(Body::chunked().take(body, &mut Content::Ignored), Err(Malformed), "{body:?}");
        }
    }

    #[test]
    fn only_a_body_without_a_declared_end_may_end_with_the_connection() {
        assert!(Body::UntilClose.may_end_here());
        assert!(!Body::sized(1).may_end_here());
        assert!(!Body::chunked().may_end_here());
    }

    #[test]
    fn a_sized_body_ends_after_its_bytes_and_ignores_what_follows() {
        let (mut body, mut content) = (Body::sized(5), Content::Kept(Vec::new()));
        assert_eq!(body.take(b"hell", &mut content), Ok(Extent::Open));
        assert_eq!(body.take(b"o and more", &mut content), Ok(Extent::Complete));
        assert_eq!(content.bytes(), b"hello");
        assert_eq!(Body::sized(0).take(b"", &mut content), Ok(Extent::Complete));
    }

    #[test]
    fn the_content_of_chunks_is_kept_without_their_framing() {
        let mut content = Content::Kept(Vec::new());
        let taken = Body::chunked().take(b"2\r\nhe\r\n3;a\r\nllo\r\n0\r\nX: y\r\n\r\n", &mut content);
        assert_eq!((taken, content.bytes()), (Ok(Extent::Complete), &b"hello"[..]));
    }
}
