//! Texts and values that a page holds, written so that they stay texts and values.

use std::fmt;

use serde_json::Value;

/// A text in an element or in a quoted attribute.
pub struct Text<T>(pub T);

/// A value in a script element of type `application/json`.
pub struct Json<'a>(pub &'a Value);

impl<T: fmt::Display> fmt::Display for Text<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        write!(Escape { out: f, replace: in_text }, "{}", self.0)
    }
}

/// Outside of its strings JSON has none of the characters that end a script element, and there they can be escaped.
impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        write!(Escape { out: f, replace: in_json }, "{}", self.0)
    }
}

struct Escape<'a, 'f> {
    out: &'a mut fmt::Formatter<'f>,
    replace: fn(char) -> Option<&'static str>,
}

impl fmt::Write for Escape<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some((at, found, replaced)) =
            rest.char_indices().find_map(|(at, c)| Some((at, c, (self.replace)(c)?)))
        {
            self.out.write_str(&rest[..at])?;
            self.out.write_str(replaced)?;
            rest = &rest[at + found.len_utf8()..];
        }
        self.out.write_str(rest)
    }
}

fn in_text(c: char) -> Option<&'static str> {
    Some(match c {
        '&' => "&amp;",
        '<' => "&lt;",
        '>' => "&gt;",
        '"' => "&quot;",
        '\'' => "&#39;",
        _ => return None,
    })
}

fn in_json(c: char) -> Option<&'static str> {
    Some(match c {
        '&' => "\\u0026",
        '<' => "\\u003c",
        '>' => "\\u003e",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_stays_a_text() {
        assert_eq!(Text("<b title='\"'>&amp;").to_string(), "&lt;b title=&#39;&quot;&#39;&gt;&amp;amp;");
        assert_eq!(Text("plain").to_string(), "plain");
    }

    #[test]
    fn a_value_ends_no_script_and_is_read_back() {
        let value = serde_json::json!({"</script><!--": "a & b"});
        let written = Json(&value).to_string();
        assert!(!written.contains(['<', '>', '&']), "{written}");
        assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), value);
    }
}
