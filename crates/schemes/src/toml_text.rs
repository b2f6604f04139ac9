//! Formats errors in TOML files in a few lines that fit a terminal.

/// Maximum characters of a file's line in a message.
const LINE: usize = 100;

/// Maximum characters of the parser's message, which may quote the file.
const MESSAGE: usize = 400;

/// The position of an error in `text`, its line and the parser's message.
///
/// ```
/// let text = "ring_degree = many\n";
/// let error = toml::from_str::<toml::Table>(text).expect_err("no value");
/// let shown = polyfabric_schemes::toml_text::fault(&error, text);
/// assert!(shown.starts_with("TOML parse error at line 1, column 15\n  |\n1 | ring_degree = many\n  |               ^^^^\n"));
/// ```
pub fn fault(error: &toml::de::Error, text: &str) -> String {
    let message = shortened(&visible(error.message()), MESSAGE);
    let Some(span) = error.span() else { return message };
    let start = boundary(text, span.start);
    let begin = text[..start].rfind('\n').map_or(0, |end| end + 1);
    let (number, column) = (text[..begin].matches('\n').count() + 1, text[begin..start].chars().count());
    let line: Vec<char> = text[begin..].lines().next().unwrap_or_default().chars().collect();
    let marked = text[start..boundary(text, span.end.max(start))].chars().count();

    // In a longer line, the part around the error.
    let from = column.saturating_sub(LINE / 2).min(line.len().saturating_sub(LINE));
    let to = line.len().min(from + LINE);
    let at = column.clamp(from, to);
    let piece = |from: usize, to: usize| visible(&line[from..to].iter().collect::<String>());
    let before = format!("{}{}", if from > 0 { "…" } else { "" }, piece(from, at));
    let (own, after) = (piece(at, to), if to < line.len() { "…" } else { "" });
    let marks = "^".repeat(piece(at, to.min(at + marked)).chars().count().max(1));
    let (gutter, indent) = (" ".repeat(number.to_string().len()), " ".repeat(before.chars().count()));
    format!(
        "TOML parse error at line {number}, column {}\n{gutter} |\n{number} | {before}{own}{after}\n{gutter} | {indent}{marks}\n{message}",
        column + 1
    )
}

/// The last character boundary of `text` up to `at`.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// `text`, cut to at most `most` characters.
pub fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Whether a terminal would interpret `character` as a control character.
pub fn is_order(character: char) -> bool {
    character.is_control() && !matches!(character, '\n' | '\t')
}

/// `text` with control characters as numbers.
fn visible(text: &str) -> String {
    text.chars().map(|c| if is_order(c) { c.escape_unicode().to_string() } else { c.to_string() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        fault(&toml::from_str::<toml::Table>(text).expect_err("a fault"), text)
    }

    #[test]
    fn a_short_line_is_shown_as_the_reader_shows_it() {
        for text in ["a = 1\nb = many\n", "a = [1,\n 2\n", "[ckks\n", "ä = \"ö\" x\n", "a = ", "a = 1\na = 2"] {
            let theirs = toml::from_str::<toml::Table>(text).expect_err("a fault").to_string();
            assert_eq!(message(text), theirs.trim_end(), "{text:?}");
        }
    }

    #[test]
    fn a_long_line_shows_the_part_at_fault() {
        for (before, after) in [(0, 5000), (60, 5000), (5000, 0), (5000, 40), (5000, 5000)] {
            let text = format!("a = \"{}\" x{}\n", "é".repeat(before), " ".repeat(after));
            let message = message(&text);
            let lines: Vec<&str> = message.lines().collect();
            assert_eq!(lines[0], format!("TOML parse error at line 1, column {}", before + 8), "{before} {after}");
            assert!(lines.iter().all(|line| line.chars().count() <= LINE + 8), "{message}");
            let mark = lines[3].chars().position(|c| c == '^').expect("a mark");
            assert_eq!(lines[2].chars().nth(mark), Some('x'), "{message}");
        }
    }

    #[test]
    fn quoted_parts_of_the_file_are_cut_and_cannot_control_a_terminal() {
        #[derive(Debug, serde::Deserialize)]
        struct Own {
            #[serde(rename = "number")]
            _number: u32,
        }
        let text = format!("number = \"{}\\u001b[2J{}\"", "a".repeat(10), "a".repeat(100_000));
        let message = fault(&toml::from_str::<Own>(&text).expect_err("no number"), &text);
        assert!(message.chars().count() < 1000, "{message}");
        assert!(!message.contains(is_order), "{message:?}");
        let raw = "number = \u{1b}[2J";
        assert!(!fault(&toml::from_str::<Own>(raw).expect_err("no number"), raw).contains(is_order));
    }

    #[test]
    fn lines_that_end_as_on_windows_are_shown_without_their_end() {
        let message = message("a = 1\r\nb = many\r\n");
        assert!(message.contains("\n2 | b = many\n"), "{message}");
    }
}
