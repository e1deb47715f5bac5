//! Text from outside, made safe for a terminal or a page.

/// Whether a terminal would act on a character, or reorder text around it, instead of printing it.
pub fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Text with its control characters escaped.
pub fn printable(text: &str) -> String {
    let render = |c: char| if is_control(c) { c.escape_unicode().to_string() } else { c.to_string() };
    text.chars().map(render).collect()
}
