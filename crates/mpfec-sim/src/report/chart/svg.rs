//! Text for XML and HTML.

use std::borrow::Cow;

/// `text` as it is between tags or within quotes. Control characters, which XML has no place
/// for, become spaces.
pub(in crate::report) fn escaped(text: &str) -> Cow<'_, str> {
    let is_special = |letter: char| "&<>\"'".contains(letter) || letter.is_control();
    if !text.contains(is_special) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            letter if letter.is_control() => out.push(' '),
            letter => out.push(letter),
        }
    }
    Cow::Owned(out)
}

/// How wide `text` is at 12 pixels, about: no font is at hand.
pub(super) fn width_of(text: &str) -> f64 {
    text.chars()
        .map(|letter| match letter {
            'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '|' | '\'' | ' ' | 'f' | 't' | 'r' | '('
            | ')' => 4.2,
            'm' | 'w' | 'M' | 'W' | '%' | '@' => 10.5,
            letter if letter.is_ascii_uppercase() => 8.2,
            letter if letter.is_ascii() => 6.9,
            _ => 9.0,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_can_end_what_it_is_in() {
        assert_eq!(
            escaped("<b a=\"1\">'&'</b>\u{1b}[2J\n"),
            "&lt;b a=&quot;1&quot;&gt;&#39;&amp;&#39;&lt;/b&gt; [2J "
        );
        assert!(matches!(escaped("5 %, ≥ 3"), Cow::Borrowed(_)));
    }
}
