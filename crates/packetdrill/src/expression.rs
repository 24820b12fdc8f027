//! The code of a script: `assert`, `print` and assignments over whole numbers, with Python's
//! operators and precedence.

use std::collections::BTreeMap;

/// Statements with their text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    statements: Vec<Statement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Statement {
    Assert {
        text: String,
        test: Expression,
    },
    Assign {
        name: String,
        value: Expression,
    },
    /// `print`: evaluated nowhere.
    Print,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Expression {
    Number(i64),
    Name(String),
    Not(Box<Expression>),
    Negative(Box<Expression>),
    Binary(&'static str, Box<Expression>, Box<Expression>),
    /// `a < b <= c`.
    Chain(Box<Expression>, Vec<(&'static str, Expression)>),
    Call(&'static str, Vec<Expression>),
}

/// What came of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Holds,
    /// The text of the assertion, and the values of its names.
    Fails(String, String),
    /// It cannot be evaluated.
    Wrong(String),
}

const OPERATORS: &[&str] = &[
    "<<=", ">>=", "//=", "**", "//", "<<", ">>", "<=", ">=", "==", "!=", "+=", "-=", "*=", "+",
    "-", "*", "/", "%", "<", ">", "&", "|", "^", "~", "(", ")", ",", "=", ";", "[", "]", ".", ":",
];
const COMPARISONS: &[&str] = &["==", "!=", "<=", ">=", "<", ">"];
const FUNCTIONS: &[&str] = &["min", "max", "abs"];
/// Operators by precedence, weakest first.
const BINARY: &[&[&str]] = &[
    &["|"],
    &["^"],
    &["&"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "//", "/", "%"],
];
/// Nesting beyond this is refused.
const DEEPEST: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Number(i64),
    Name(String),
    Text,
    Mark(&'static str),
}

impl Block {
    /// Reads the statements of `code`.
    pub(crate) fn parse(code: &str) -> Result<Self, String> {
        let mut statements = Vec::new();
        for line in logical_lines(code) {
            for part in split_outside(&line, ';') {
                let part = part.trim();
                if !part.is_empty() {
                    statements.push(statement(part)?);
                }
            }
        }
        Ok(Self { statements })
    }

    /// Evaluates the statements; `known` has the constants and fields, `variables` what scripts
    /// assign.
    pub(crate) fn evaluate(
        &self,
        known: &dyn Fn(&str) -> Option<i64>,
        variables: &mut BTreeMap<String, i64>,
    ) -> Verdict {
        for statement in &self.statements {
            let look = |variables: &BTreeMap<String, i64>, name: &str| {
                variables.get(name).copied().or_else(|| known(name))
            };
            match statement {
                Statement::Print => {}
                Statement::Assign { name, value } => {
                    match value.value(&|name| look(variables, name)) {
                        Ok(value) => variables.insert(name.clone(), value),
                        Err(message) => return Verdict::Wrong(message),
                    };
                }
                Statement::Assert { text, test } => {
                    match test.value(&|name| look(variables, name)) {
                        Ok(0) => {
                            let mut names = Vec::new();
                            test.names(&mut names);
                            let values: Vec<String> = names
                                .iter()
                                .filter_map(|name| {
                                    Some(format!("{name} = {}", look(variables, name)?))
                                })
                                .collect();
                            return Verdict::Fails(text.clone(), values.join(", "));
                        }
                        Ok(_) => {}
                        Err(message) => return Verdict::Wrong(message),
                    }
                }
            }
        }
        Verdict::Holds
    }
}

/// Lines without comments; a line with an open bracket continues on the next one.
fn logical_lines(code: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut open = 0_i32;
    for line in code.lines() {
        let line = split_outside(line, '#').into_iter().next().unwrap_or("");
        if open > 0 {
            if let Some(last) = lines.last_mut() {
                last.push(' ');
                last.push_str(line);
            }
        } else {
            lines.push(line.to_owned());
        }
        open += line.matches('(').count() as i32 - line.matches(')').count() as i32;
    }
    lines
}

/// Splits at `mark` where it stands outside of quotes.
fn split_outside(text: &str, mark: char) -> Vec<&str> {
    let (mut parts, mut start, mut quote) = (Vec::new(), 0, None);
    for (at, letter) in text.char_indices() {
        match quote {
            Some(open) if letter == open => quote = None,
            Some(_) => {}
            None if letter == '"' || letter == '\'' => quote = Some(letter),
            None if letter == mark => {
                parts.push(&text[start..at]);
                start = at + letter.len_utf8();
            }
            None => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn statement(text: &str) -> Result<Statement, String> {
    let tokens = tokens(text)?;
    let mut reader = Reader {
        tokens: &tokens,
        at: 0,
        depth: 0,
    };
    match tokens.first() {
        Some(Token::Name(word)) if word == "assert" => {
            reader.at = 1;
            let test = reader.expression()?;
            // A message may follow, of which the values here are a better one.
            if !matches!(reader.peek(), None | Some(Token::Mark(","))) {
                return Err(format!(
                    "`{text}`: expected an expression over whole numbers"
                ));
            }
            Ok(Statement::Assert {
                text: split_outside(text, ',')[0].trim().to_owned(),
                test,
            })
        }
        Some(Token::Name(word)) if word == "print" => Ok(Statement::Print),
        Some(Token::Name(name)) => {
            let operator = match tokens.get(1) {
                Some(Token::Mark("=")) => None,
                Some(Token::Mark("+=")) => Some("+"),
                Some(Token::Mark("-=")) => Some("-"),
                Some(Token::Mark("*=")) => Some("*"),
                _ => {
                    return Err(format!(
                        "`{text}` is not an assignment, `assert` or `print`"
                    ));
                }
            };
            reader.at = 2;
            let mut value = reader.expression()?;
            if reader.peek().is_some() {
                return Err(format!(
                    "`{text}`: expected an expression over whole numbers"
                ));
            }
            if let Some(operator) = operator {
                let before = Box::new(Expression::Name(name.clone()));
                value = Expression::Binary(operator, before, Box::new(value));
            }
            Ok(Statement::Assign {
                name: name.clone(),
                value,
            })
        }
        _ => Err(format!(
            "`{text}` is not an assignment, `assert` or `print`"
        )),
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let taken = if first.is_ascii_digit() {
            let end = word_end(rest);
            let word = rest[..end].replace('_', "");
            let number = match word.strip_prefix("0x") {
                Some(digits) => i64::from_str_radix(digits, 16),
                None => word.parse(),
            };
            tokens.push(Token::Number(
                number.map_err(|_| format!("`{word}` is not a whole number"))?,
            ));
            end
        } else if first.is_ascii_alphabetic() || first == '_' {
            let end = word_end(rest);
            tokens.push(Token::Name(rest[..end].to_owned()));
            end
        } else if first == '"' || first == '\'' {
            tokens.push(Token::Text);
            let end = rest[1..].find(first).ok_or("a text does not end")?;
            end + 2
        } else {
            let mark = OPERATORS
                .iter()
                .find(|mark| rest.starts_with(**mark))
                .ok_or_else(|| format!("`{first}` is not understood"))?;
            tokens.push(Token::Mark(mark));
            mark.len()
        };
        rest = rest[taken..].trim_start();
    }
    Ok(tokens)
}

fn word_end(text: &str) -> usize {
    text.find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'))
        .unwrap_or(text.len())
}

struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn take_mark(&mut self, among: &[&'static str]) -> Option<&'static str> {
        match self.peek() {
            Some(Token::Mark(mark)) if among.contains(mark) => {
                let mark = *mark;
                self.at += 1;
                Some(mark)
            }
            _ => None,
        }
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Name(name)) if name == word);
        self.at += usize::from(found);
        found
    }

    fn expression(&mut self) -> Result<Expression, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("an expression is nested too deeply".into());
        }
        let mut left = self.conjunction()?;
        while self.take_word("or") {
            left = binary("or", left, self.conjunction()?);
        }
        self.depth -= 1;
        Ok(left)
    }

    fn conjunction(&mut self) -> Result<Expression, String> {
        let mut left = self.negation()?;
        while self.take_word("and") {
            left = binary("and", left, self.negation()?);
        }
        Ok(left)
    }

    fn negation(&mut self) -> Result<Expression, String> {
        let mut odd = false;
        while self.take_word("not") {
            odd = !odd;
        }
        let inner = self.comparison()?;
        Ok(if odd {
            Expression::Not(Box::new(inner))
        } else {
            inner
        })
    }

    fn comparison(&mut self) -> Result<Expression, String> {
        let first = self.operation(0)?;
        let mut rest = Vec::new();
        while let Some(mark) = self.take_mark(COMPARISONS) {
            rest.push((mark, self.operation(0)?));
        }
        Ok(if rest.is_empty() {
            first
        } else {
            Expression::Chain(Box::new(first), rest)
        })
    }

    fn operation(&mut self, level: usize) -> Result<Expression, String> {
        let Some(marks) = BINARY.get(level) else {
            return self.unary();
        };
        let mut left = self.operation(level + 1)?;
        while let Some(mark) = self.take_mark(marks) {
            left = binary(mark, left, self.operation(level + 1)?);
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expression, String> {
        let mut odd = false;
        while let Some(mark) = self.take_mark(&["-", "+"]) {
            odd ^= mark == "-";
        }
        let inner = self.atom()?;
        Ok(if odd {
            Expression::Negative(Box::new(inner))
        } else {
            inner
        })
    }

    fn atom(&mut self) -> Result<Expression, String> {
        let token = self.peek().cloned();
        self.at += 1;
        match token {
            Some(Token::Number(number)) => Ok(Expression::Number(number)),
            Some(Token::Name(name)) => {
                if self.take_mark(&["("]).is_none() {
                    return Ok(match name.as_str() {
                        "True" => Expression::Number(1),
                        "False" => Expression::Number(0),
                        _ => Expression::Name(name),
                    });
                }
                let function = FUNCTIONS
                    .iter()
                    .find(|known| **known == name)
                    .ok_or_else(|| format!("the function `{name}` is not in scope"))?;
                let mut arguments = vec![self.expression()?];
                while self.take_mark(&[","]).is_some() {
                    arguments.push(self.expression()?);
                }
                self.close()?;
                Ok(Expression::Call(function, arguments))
            }
            Some(Token::Mark("(")) => {
                let inner = self.expression()?;
                self.close()?;
                Ok(inner)
            }
            _ => Err("expected a number, a name or `(`".into()),
        }
    }

    fn close(&mut self) -> Result<(), String> {
        self.take_mark(&[")"])
            .map(drop)
            .ok_or_else(|| "`)` is missing".into())
    }
}

fn binary(mark: &'static str, left: Expression, right: Expression) -> Expression {
    Expression::Binary(mark, Box::new(left), Box::new(right))
}

impl Expression {
    fn value(&self, look: &dyn Fn(&str) -> Option<i64>) -> Result<i64, String> {
        match self {
            Self::Number(number) => Ok(*number),
            Self::Name(name) => look(name).ok_or_else(|| {
                if name.starts_with("tcpi_") {
                    format!("not in scope: this stack does not report {name}")
                } else {
                    format!("`{name}` is not defined")
                }
            }),
            Self::Not(inner) => Ok(i64::from(inner.value(look)? == 0)),
            Self::Negative(inner) => inner
                .value(look)?
                .checked_neg()
                .ok_or_else(|| "a number is too large".into()),
            Self::Binary("or", left, right) => match left.value(look)? {
                0 => right.value(look),
                value => Ok(value),
            },
            Self::Binary("and", left, right) => match left.value(look)? {
                0 => Ok(0),
                _ => right.value(look),
            },
            Self::Binary(mark, left, right) => operate(mark, left.value(look)?, right.value(look)?)
                .ok_or_else(|| format!("`{mark}` has no result in 64 bits")),
            Self::Chain(first, rest) => {
                let mut left = first.value(look)?;
                for (mark, next) in rest {
                    let right = next.value(look)?;
                    let holds = match *mark {
                        "==" => left == right,
                        "!=" => left != right,
                        "<=" => left <= right,
                        ">=" => left >= right,
                        "<" => left < right,
                        _ => left > right,
                    };
                    if !holds {
                        return Ok(0);
                    }
                    left = right;
                }
                Ok(1)
            }
            Self::Call(function, arguments) => {
                let values: Vec<i64> = arguments
                    .iter()
                    .map(|argument| argument.value(look))
                    .collect::<Result<_, _>>()?;
                let value = match *function {
                    "min" => values.iter().min().copied(),
                    "max" => values.iter().max().copied(),
                    _ if values.len() == 1 => values[0].checked_abs(),
                    _ => None,
                };
                value.ok_or_else(|| format!("`{function}` has no result"))
            }
        }
    }

    fn names(&self, names: &mut Vec<String>) {
        match self {
            Self::Number(_) => {}
            Self::Name(name) => {
                if !names.contains(name) {
                    names.push(name.clone());
                }
            }
            Self::Not(inner) | Self::Negative(inner) => inner.names(names),
            Self::Binary(_, left, right) => {
                left.names(names);
                right.names(names);
            }
            Self::Chain(first, rest) => {
                first.names(names);
                rest.iter().for_each(|(_, next)| next.names(names));
            }
            Self::Call(_, arguments) => arguments.iter().for_each(|next| next.names(names)),
        }
    }
}

fn operate(mark: &str, left: i64, right: i64) -> Option<i64> {
    match mark {
        "|" => Some(left | right),
        "^" => Some(left ^ right),
        "&" => Some(left & right),
        "<<" => left.checked_mul(1_i64.checked_shl(u32::try_from(right).ok()?)?),
        ">>" => Some(left >> u32::try_from(right).ok()?.min(63)),
        "+" => left.checked_add(right),
        "-" => left.checked_sub(right),
        "*" => left.checked_mul(right),
        // Python's division rounds down; a fraction that it would give has no value here.
        "/" if right == 0 || left.checked_rem(right)? != 0 => None,
        "//" | "/" => {
            let (quotient, rest) = (left.checked_div(right)?, left.checked_rem(right)?);
            Some(quotient - i64::from(rest != 0 && (rest < 0) != (right < 0)))
        }
        "%" => {
            let rest = left.checked_rem(right)?;
            let wraps = rest != 0 && (rest < 0) != (right < 0);
            Some(if wraps { rest + right } else { rest })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(code: &str) -> Verdict {
        let known = |name: &str| (name == "tcpi_snd_cwnd").then_some(12);
        match Block::parse(code) {
            Ok(block) => block.evaluate(&known, &mut BTreeMap::new()),
            Err(message) => Verdict::Wrong(message),
        }
    }

    #[test]
    fn whole_numbers_follow_python() {
        for code in [
            "assert tcpi_snd_cwnd == 12, 'cwnd=%d' % tcpi_snd_cwnd",
            "cwnd = 10; cwnd += 2\nassert tcpi_snd_cwnd == cwnd  # a comment",
            "assert 1 + 2 * 3 == 7 and (1 + 2) * 3 == 9",
            "assert -7 // 2 == -4 and -7 % 2 == 1",
            "assert 10 < tcpi_snd_cwnd <= 12 or False",
            "assert not 0x7fffffff == 1 << 31",
            "assert max(1, 3, 2) == 3 and abs(-2) == 2 and min(4, 1) == 1",
            "print(tcpi_snd_cwnd); assert 6 & 3 == 2",
        ] {
            assert_eq!(verdict(code), Verdict::Holds, "{code}");
        }
    }

    #[test]
    fn a_failed_assertion_has_its_values() {
        assert_eq!(
            verdict("n = 3\nassert tcpi_snd_cwnd == n, tcpi_snd_cwnd"),
            Verdict::Fails(
                "assert tcpi_snd_cwnd == n".into(),
                "tcpi_snd_cwnd = 12, n = 3".into()
            )
        );
    }

    #[test]
    fn what_is_not_an_expression_over_numbers_is_refused() {
        for code in [
            "import os",
            "assert open('x')",
            "assert tcpi_rcv_rtt == 1",
            "assert 1 +",
            "assert (1",
            "assert 1 / 0",
            "assert 1 << 70",
            "x = 'text'",
            "assert x.y == 1",
        ] {
            assert!(matches!(verdict(code), Verdict::Wrong(_)), "{code}");
        }
        let deep = format!("assert {}1{}", "(".repeat(9999), ")".repeat(9999));
        assert!(matches!(verdict(&deep), Verdict::Wrong(_)));
    }
}
