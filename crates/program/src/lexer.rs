//! Tokens of the text forms and their source positions. Each text form wraps [`SyntaxError`] in its own error type.

use crate::Location;
use std::fmt;
use thiserror::Error;

/// A syntax error: position and cause.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("line {line}, column {column}: {cause}")]
pub struct SyntaxError {
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    pub cause: SyntaxErrorCause,
}

/// The cause of a [`SyntaxError`].
#[derive(Clone, Debug, Error, PartialEq)]
pub enum SyntaxErrorCause {
    #[error("expected {expected}, found {found}")]
    Expected { expected: String, found: String },
    #[error("{value} is out of range: {expected}")]
    Number { value: String, expected: String },
    #[error("%{found} is defined here, but the next is %{expected}; number definitions from 0 in order")]
    Order { found: u64, expected: usize },
}

#[derive(Clone, Debug, PartialEq)]
enum Token<'a> {
    /// Letters, digits and `_`, from a letter on.
    Word(&'a str),
    /// Characters between double quotes, with `\"` and `\\`.
    Quoted(String),
    /// Digits, or `0x` and hexadecimal digits; the sign is a separate symbol.
    Number(&'a str),
    /// Any other single character; `..` is one symbol.
    Symbol(&'a str),
    /// End of the text.
    End,
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(text) | Self::Number(text) | Self::Symbol(text) => write!(f, "`{text}`"),
            Self::Quoted(text) => write!(f, "{text:?}"),
            Self::End => f.write_str("the end of the text"),
        }
    }
}

/// A position in the text, both counted from 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub line: usize,
    pub column: usize,
}

impl Place {
    /// The error "expected `expected`, found `found`".
    pub fn expected(self, expected: impl Into<String>, found: impl Into<String>) -> SyntaxError {
        self.error(SyntaxErrorCause::Expected { expected: expected.into(), found: found.into() })
    }

    pub fn error(self, cause: SyntaxErrorCause) -> SyntaxError {
        SyntaxError { line: self.line, column: self.column, cause }
    }
}

/// Reads tokens one by one, with one token of lookahead.
pub(crate) struct Lexer<'a> {
    rest: &'a str,
    /// Position after the lookahead token.
    end: Place,
    token: Token<'a>,
    token_place: Place,
    /// Text from the lookahead token on.
    token_rest: &'a str,
}

type Result<T> = std::result::Result<T, SyntaxError>;

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str) -> Result<Self> {
        let place = Place { line: 1, column: 1 };
        let mut lexer = Self { rest: text, end: place, token: Token::End, token_place: place, token_rest: text };
        lexer.advance()?;
        Ok(lexer)
    }

    /// Position of the next token.
    pub fn here(&self) -> Place {
        self.token_place
    }

    /// Consumes `bytes` bytes.
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        for character in taken.chars() {
            if character == '\n' {
                self.end = Place { line: self.end.line + 1, column: 1 };
            } else {
                self.end.column += 1;
            }
        }
        self.rest = rest;
        taken
    }

    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|character| !accept(character)).unwrap_or(self.rest.len());
        self.take(end)
    }

    /// Reads the next token into `token`.
    fn advance(&mut self) -> Result<()> {
        loop {
            self.take_while(char::is_whitespace);
            if !self.rest.starts_with('#') {
                break;
            }
            self.take_while(|character| character != '\n');
        }
        self.token_place = self.end;
        self.token_rest = self.rest;
        let Some(first) = self.rest.chars().next() else {
            self.token = Token::End;
            return Ok(());
        };
        self.token = if first.is_ascii_alphabetic() {
            Token::Word(self.take_while(|c| c.is_ascii_alphanumeric() || c == '_'))
        } else if first.is_ascii_digit() {
            Token::Number(self.take_while(|c| c.is_ascii_alphanumeric()))
        } else if first == '"' {
            self.quoted()?
        } else if self.rest.starts_with("..") {
            Token::Symbol(self.take(2))
        } else {
            Token::Symbol(self.take(first.len_utf8()))
        };
        Ok(())
    }

    fn quoted(&mut self) -> Result<Token<'a>> {
        let start = self.end;
        self.take(1);
        let mut text = String::new();
        loop {
            text.push_str(self.take_while(|c| c != '"' && c != '\\' && c != '\n'));
            if self.rest.starts_with('"') {
                self.take(1);
                return Ok(Token::Quoted(text));
            }
            match self.rest.as_bytes() {
                [b'\\', escaped @ (b'"' | b'\\'), ..] => {
                    text.push(char::from(*escaped));
                    self.take(2);
                }
                _ => {
                    let expected = "a closing quotation mark on the same line";
                    return Err(start.expected(expected, "a line end or an unknown escape"));
                }
            }
        }
    }

    /// Consumes the text from the next token to the end of its line, untokenized.
    pub fn line(&mut self) -> Result<(&'a str, Place)> {
        let place = self.token_place;
        let rest = self.token_rest;
        let end = rest.find('\n').unwrap_or(rest.len());
        self.rest = &rest[end..];
        self.end = Place { line: place.line, column: place.column + rest[..end].chars().count() };
        self.advance()?;
        Ok((rest[..end].trim_end(), place))
    }

    pub fn at_end(&self) -> bool {
        self.token == Token::End
    }

    fn unexpected<T>(&self, expected: impl Into<String>) -> Result<T> {
        Err(self.token_place.expected(expected, self.token.to_string()))
    }

    /// Consumes the symbol or word `text` if it is next; returns whether it was.
    pub fn accept(&mut self, text: &str) -> Result<bool> {
        let same = matches!(&self.token, Token::Word(found) | Token::Symbol(found) if *found == text);
        if same {
            self.advance()?;
        }
        Ok(same)
    }

    /// Whether the next token is the symbol or word `text`.
    pub fn looks_at(&self, text: &str) -> bool {
        matches!(&self.token, Token::Word(found) | Token::Symbol(found) if *found == text)
    }

    /// Consumes the symbol or word `text`, or fails.
    pub fn expect(&mut self, text: &str) -> Result<()> {
        if self.accept(text)? { Ok(()) } else { self.unexpected(format!("`{text}`")) }
    }

    /// Consumes a word; `expected` describes it in the error.
    pub fn word(&mut self, expected: &str) -> Result<&'a str> {
        match self.token {
            Token::Word(word) => {
                self.advance()?;
                Ok(word)
            }
            _ => self.unexpected(expected),
        }
    }

    /// Consumes a quoted text; `expected` describes it in the error.
    pub fn quoted_text(&mut self, expected: &str) -> Result<String> {
        match &self.token {
            Token::Quoted(text) => {
                let text = text.clone();
                self.advance()?;
                Ok(text)
            }
            _ => self.unexpected(format!("{expected} in quotation marks")),
        }
    }

    /// Consumes an integer from `lo` to `hi`.
    pub fn integer(&mut self, lo: i128, hi: i128) -> Result<i128> {
        let place = self.token_place;
        let negative = self.accept("-")?;
        let Token::Number(digits) = self.token else {
            return self.unexpected("a number");
        };
        let magnitude = match digits.strip_prefix("0x") {
            Some(hexadecimal) => i128::from_str_radix(hexadecimal, 16).ok(),
            None => digits.parse().ok(),
        };
        let value = magnitude.map(|magnitude: i128| if negative { -magnitude } else { magnitude });
        match value.filter(|value| (lo..=hi).contains(value)) {
            Some(value) => {
                self.advance()?;
                Ok(value)
            }
            None => {
                let value = format!("{}{digits}", if negative { "-" } else { "" });
                Err(place.error(SyntaxErrorCause::Number { value, expected: format!("{lo} to {hi}") }))
            }
        }
    }

    pub fn i64(&mut self) -> Result<i64> {
        Ok(self.integer(i64::MIN.into(), i64::MAX.into())? as i64)
    }

    pub fn u32(&mut self) -> Result<u32> {
        Ok(self.integer(0, u32::MAX.into())? as u32)
    }

    pub fn u64(&mut self) -> Result<u64> {
        Ok(self.integer(0, u64::MAX.into())? as u64)
    }

    pub fn usize(&mut self) -> Result<usize> {
        Ok(self.integer(0, i128::from(u32::MAX))? as usize)
    }

    /// Consumes `%n`.
    pub fn value(&mut self) -> Result<u32> {
        self.expect("%")?;
        self.u32()
    }

    /// Consumes `%a, %b, ..`, possibly empty.
    pub fn values(&mut self) -> Result<Vec<u32>> {
        let mut values = Vec::new();
        if self.looks_at("%") {
            values.push(self.value()?);
            while self.accept(",")? {
                values.push(self.value()?);
            }
        }
        Ok(values)
    }

    /// Consumes `%n`, which must be number `next`.
    pub fn definition(&mut self, next: usize) -> Result<()> {
        let place = self.here();
        let found = self.value()?;
        if found as usize == next {
            Ok(())
        } else {
            Err(place.error(SyntaxErrorCause::Order { found: found.into(), expected: next }))
        }
    }

    /// Consumes a decimal number with optional sign, point and exponent.
    pub fn f64(&mut self) -> Result<f64> {
        let place = self.token_place;
        let digits = |character: char| character.is_ascii_alphanumeric() || matches!(character, '+' | '-' | '.');
        let end = self.token_rest.find(|character| !digits(character)).unwrap_or(self.token_rest.len());
        let written = &self.token_rest[..end];
        let Ok(number) = written.parse::<f64>() else { return self.unexpected("a number") };
        if !number.is_finite() {
            let expected = "a finite number".to_owned();
            return Err(place.error(SyntaxErrorCause::Number { value: written.to_owned(), expected }));
        }
        self.rest = &self.token_rest[end..];
        self.end = Place { line: place.line, column: place.column + end };
        self.advance()?;
        Ok(number)
    }

    /// Consumes `open item, item, .. close`.
    pub fn list<T, E: From<SyntaxError>>(
        &mut self,
        open: &str,
        close: &str,
        mut item: impl FnMut(&mut Self) -> std::result::Result<T, E>,
    ) -> std::result::Result<Vec<T>, E> {
        self.expect(open)?;
        let mut items = Vec::new();
        while !self.accept(close)? {
            if !items.is_empty() {
                self.expect(",")?;
            }
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// Consumes `[number, ..]`.
    pub fn numbers<T>(&mut self, item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.list("[", "]", item)
    }

    /// Consumes `at "file":line` if it is next.
    pub fn location(&mut self) -> Result<Option<Location>> {
        if !self.accept("at")? {
            return Ok(None);
        }
        let file = self.quoted_text("a file name")?;
        self.expect(":")?;
        Ok(Some(Location { file: file.into(), line: self.u32()? }))
    }
}

/// `text` in quotation marks; line ends, which the text form cannot represent, become `?`.
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push('?'),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
