//! The scripts, written from the parts in `lua/`: what is decided for a request is straight-line code with its limits as numbers.
//!
//! Making a function, a table or a long list of arguments takes Lua longer than most of a decision. So a part is not a function
//! but a piece of text, which is put down once for every limit. In it, names that end in `_` belong to the limit: they get its
//! number, or (`quota_`, `window_`, `extra_`, `lease_`) become the numbers themselves.

use std::fmt::Write;

use slidegate_core::{Kind, Limit, MAX_TIME_MS};

use super::invocation::Script;

const PRELUDE: &str = include_str!("lua/prelude.lua");
const INJECTED: &str = include_str!("lua/injected.lua");
const TICKET: &str = include_str!("lua/ticket.lua");
const SETTLE: &str = include_str!("lua/settle.lua");

/// Names that stand for what a request brings or a limit is; all others are variables.
const GIVEN: [&str; 8] =
    ["key_", "cost_", "quota_", "window_", "extra_", "lease_", "recorded_", "recorded_at_"];
/// A Lua function has at most 200 variables; beyond this many, those of a limit go into a table.
const MAX_VARIABLES: usize = 120;
/// Where debts end: up to here sums are exact.
const DEBT: &str = "4503599627370496";
const FOREIGN: &str = "'slidegate: a format that this version does not know, at '";
/// What a ticket has before the answer.
const TICKET_HEAD: usize = 24;
/// The time.
pub(super) const ROW_HEAD: usize = 6;
/// What is added to the time if the request was admitted: the lowest bit above it.
pub(super) const ADMITTED: u64 = MAX_TIME_MS + 1;
/// What remains and the reset in 7 bytes each, and in 6 the stamp of what was admitted, or the wait of what was not.
pub(super) const ROW_LIMIT: usize = 7 + 7 + 6;

/// What a script is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Purpose {
    /// Decides any number of requests, each of which costs 1: most do, and then the script need not be told.
    Check,
    /// Decides any number of requests.
    Decide,
    /// Decides one request and remembers it under an id.
    Ticketed,
    /// Takes back what was admitted under an id, and looks.
    Undo,
    /// Replaces what a permit recorded for a subject.
    Settle,
}

/// Whose time counts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Time {
    Server,
    /// The first argument of every call: for tests.
    Injected,
}

/// How the script knows its limits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Numbers {
    /// They are part of its text.
    Literal,
    /// They are arguments: where there are more limits than a server should keep scripts for.
    Arguments,
}

/// The parts of one kind.
struct Parts {
    file: &'static str,
    functions: &'static str,
    look: &'static str,
    answer: &'static str,
    record: &'static str,
    settle: &'static str,
}

impl Parts {
    fn of(limit: &Limit) -> Self {
        let file = match limit.kind() {
            Kind::Log { .. } => include_str!("lua/log.lua"),
            Kind::Counter => include_str!("lua/counter.lua"),
            Kind::Fixed => include_str!("lua/fixed.lua"),
            Kind::Gcra { .. } => include_str!("lua/gcra.lua"),
            Kind::InFlight => include_str!("lua/in_flight.lua"),
        };
        let part = |name| section(file, name);
        Self {
            file,
            functions: part("functions"),
            look: part("look"),
            answer: part("answer"),
            record: part("record"),
            settle: part("settle"),
        }
    }

    /// The variables of these parts.
    fn variables(&self) -> Vec<&'static str> {
        let mut names: Vec<&str> = [self.look, self.answer, self.record]
            .into_iter()
            .flat_map(words)
            .filter(|word| word.ends_with('_') && word.len() > 1 && !GIVEN.contains(word))
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// The lines between `---- name` and the next such line.
fn section(file: &'static str, name: &str) -> &'static str {
    let Some((_, rest)) = file.split_once(&format!("---- {name}\n")) else { return "" };
    rest.split_once("\n---- ").map_or(rest, |(part, _)| part)
}

/// Words as Lua has them.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
}

/// The four numbers of a limit, as its parts name them.
pub(super) fn numbers(limit: &Limit) -> [u64; 4] {
    let extra = match limit.kind() {
        Kind::Log { resolution_ms } => resolution_ms,
        Kind::Gcra { burst } => burst,
        Kind::Counter | Kind::Fixed | Kind::InFlight => 0,
    };
    [limit.quota(), limit.window_ms(), extra, (limit.window_ms() / 8).max(1)]
}

/// A script in the making.
struct Writer<'a> {
    limits: &'a [Limit],
    parts: Vec<Parts>,
    numbers: Numbers,
    purpose: Purpose,
    /// Whether the variables of a limit are fields of a table.
    tables: bool,
    text: String,
}

/// The script for these limits.
pub(super) fn write(limits: &[Limit], purpose: Purpose, time: Time, numbers: Numbers) -> Script {
    let parts: Vec<Parts> = limits.iter().map(Parts::of).collect();
    let tables = parts.iter().map(|parts| parts.variables().len()).sum::<usize>() > MAX_VARIABLES;
    let mut writer = Writer { limits, parts, numbers, purpose, tables, text: String::new() };
    // Arguments before those of the requests: the purpose's own, the time, the limits' numbers.
    let mut head = match purpose {
        Purpose::Check | Purpose::Decide => 0,
        Purpose::Ticketed | Purpose::Settle => 3,
        Purpose::Undo => 4,
    };
    match time {
        Time::Server => writer.add(PRELUDE),
        Time::Injected => {
            head += 1;
            writer.add(&INJECTED.replace("NOW", &head.to_string()));
        }
    }
    head = writer.read_numbers(head);
    writer.add_functions();
    match purpose {
        Purpose::Check | Purpose::Decide => writer.decide(head),
        Purpose::Ticketed => writer.decide_once(head),
        Purpose::Undo => writer.undo(head),
        Purpose::Settle => writer.settle(head),
    }
    let expires = if time == Time::Server { "true" } else { "false" };
    let undo = if purpose == Purpose::Undo { "true" } else { "false" };
    let constants = [("EXPIRES", expires), ("UNDO", undo), ("DEBT", DEBT), ("FOREIGN", FOREIGN)];
    let text = constants.iter().fold(writer.text, |text, (name, value)| text.replace(name, value));
    let sha = redis::Script::new(&text).get_hash().to_owned();
    let several = matches!(purpose, Purpose::Check | Purpose::Decide);
    let record_bytes = several.then_some(ROW_HEAD + ROW_LIMIT * limits.len());
    Script { text, sha, record_bytes }
}

impl Writer<'_> {
    /// Adds lines without comments and indentation: the server keeps the text.
    fn add(&mut self, text: &str) {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("--"));
        lines.for_each(|line| {
            self.text.push_str(line);
            self.text.push('\n');
        });
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        self.text.write_fmt(line).expect("a String takes everything");
        self.text.push('\n');
    }

    /// Adds a part for one limit, as a block of its own.
    fn block(&mut self, index: usize, part: &str) {
        self.text.push_str("do\n");
        let part = self.for_limit(index, part);
        self.add(&part);
        self.text.push_str("end\n");
    }

    /// A part with the names of one limit.
    fn for_limit(&self, index: usize, part: &str) -> String {
        let mut text = String::with_capacity(part.len() + 64);
        let mut rest = part;
        while let Some(start) = rest.find(|c: char| c.is_ascii_alphabetic()) {
            let (before, from) = rest.split_at(start);
            let end = from.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(from.len());
            let (word, after) = from.split_at(end);
            text.push_str(before);
            if word.ends_with('_') {
                text.push_str(&self.name(index, word));
            } else {
                text.push_str(word);
            }
            rest = after;
        }
        text + rest
    }

    fn name(&self, index: usize, word: &str) -> String {
        if word == "cost_" && self.purpose == Purpose::Check {
            return "1".to_owned();
        }
        let literal = ["quota_", "window_", "extra_", "lease_"].iter().position(|name| *name == word);
        match literal {
            Some(place) if self.numbers == Numbers::Literal => {
                numbers(&self.limits[index])[place].to_string()
            }
            None if self.tables && !GIVEN.contains(&word) => format!("t{}.{word}", index + 1),
            _ => format!("{word}{}", index + 1),
        }
    }

    fn read_numbers(&mut self, head: usize) -> usize {
        if self.numbers == Numbers::Literal {
            return head;
        }
        for index in 0..self.limits.len() {
            let (number, from) = (index + 1, head + 4 * index);
            self.line(format_args!(
                "local quota_{number}, window_{number}, extra_{number}, lease_{number} = ARGV[{}] + 0, ARGV[{}] + 0, ARGV[{}] + 0, ARGV[{}] + 0",
                from + 1, from + 2, from + 3, from + 4
            ));
        }
        head + 4 * self.limits.len()
    }

    fn add_functions(&mut self) {
        for index in 0..self.parts.len() {
            let first =
                self.parts[..index].iter().all(|other| !std::ptr::eq(other.file, self.parts[index].file));
            if first {
                self.add(self.parts[index].functions);
            }
        }
    }

    /// Names the variables, keys and costs of a request whose keys begin after `base`, and its arguments after `argument`.
    fn begin_request(&mut self, base: &str, argument: &str) {
        for index in 0..self.limits.len() {
            let number = index + 1;
            if self.tables {
                self.line(format_args!("local t{number} = {{}}"));
            } else {
                let names: Vec<String> =
                    self.parts[index].variables().iter().map(|name| format!("{name}{number}")).collect();
                self.line(format_args!("local {}", names.join(", ")));
            }
            self.line(format_args!("local key_{number} = KEYS[{base} + {number}]"));
            if self.purpose != Purpose::Check {
                self.line(format_args!("local cost_{number} = ARGV[{argument} + {number}] + 0"));
            }
        }
    }

    fn needs_holder(&self) -> bool {
        self.limits.iter().any(Limit::needs_id)
    }

    fn look(&mut self) {
        for index in 0..self.limits.len() {
            self.block(index, self.parts[index].look);
        }
    }

    fn answer(&mut self) {
        for index in 0..self.limits.len() {
            self.block(index, self.parts[index].answer);
        }
    }

    /// Charges all limits or none, and leaves the answer in `row`.
    fn judge(&mut self) {
        self.look();
        let fits = |index: usize| format!("{} <= {}", self.name(index, "cost_"), self.name(index, "left_"));
        let all: Vec<String> = (0..self.limits.len()).map(fits).collect();
        self.line(format_args!("local row"));
        self.line(format_args!("if {} then", all.join(" and ")));
        for index in 0..self.limits.len() {
            let cost = self.name(index, "cost_");
            self.line(format_args!("if {cost} > 0 then"));
            self.add(&self.for_limit(index, self.parts[index].record));
            self.line(format_args!("else"));
            self.add(&self.for_limit(index, self.parts[index].answer));
            self.line(format_args!("end"));
        }
        self.row(ADMITTED);
        self.line(format_args!("else"));
        self.answer();
        self.row(0);
        self.line(format_args!("end"));
    }

    fn row(&mut self, admitted: u64) {
        let numbers = (0..self.limits.len())
            .flat_map(|index| ["left_", "reset_", "when_"].map(|word| self.name(index, word)));
        let numbers: Vec<String> = numbers.collect();
        let pattern = "I7I7I6".repeat(self.limits.len());
        let numbers = numbers.join(", ");
        self.line(format_args!("row = pack('<I6{pattern}', now + {admitted}, {numbers})"));
    }

    fn decide(&mut self, head: usize) {
        let limits = self.limits.len();
        self.line(format_args!("local rows, keys = nil, #KEYS"));
        self.line(format_args!("for base = 0, keys - 1, {limits} do"));
        let costs = if self.purpose == Purpose::Check { 0 } else { limits };
        if self.needs_holder() {
            self.line(format_args!("local argument = base / {limits} * {} + {head}", costs + 1));
            self.line(format_args!("local holder = ARGV[argument + {}]", costs + 1));
        } else {
            self.line(format_args!("local argument = base + {head}"));
        }
        self.begin_request("base", "argument");
        self.judge();
        // A single request needs no list of answers.
        self.line(format_args!("if keys == {limits} then"));
        self.line(format_args!("return row"));
        self.line(format_args!("end"));
        self.line(format_args!("rows = rows or {{}}"));
        self.line(format_args!("rows[#rows + 1] = row"));
        self.line(format_args!("end"));
        self.line(format_args!("return table.concat(rows)"));
    }

    fn decide_once(&mut self, head: usize) {
        self.add(section(TICKET, "find"));
        self.line(format_args!("local holder = ARGV[{}]", head + self.limits.len() + 1));
        self.begin_request("1", &head.to_string());
        self.judge();
        self.line(format_args!("if unpack('<I6', row) >= {ADMITTED} then"));
        self.add(section(TICKET, "keep"));
        self.line(format_args!("end"));
        self.line(format_args!("return row"));
    }

    fn undo(&mut self, head: usize) {
        self.line(format_args!("local holder = ARGV[4]"));
        self.add(section(TICKET, "undo"));
        self.begin_request("1", &head.to_string());
        self.look();
        for index in 0..self.limits.len() {
            let number = index + 1;
            self.line(format_args!("if undoes and cost_{number} > 0 then"));
            let from = TICKET_HEAD + ROW_HEAD + ROW_LIMIT * index + 2 * 7 + 1;
            self.line(format_args!("local recorded_at_{number} = unpack('<I6', kept, {from})"));
            let settle = self.parts[index]
                .settle
                .replace("recorded_at_", "taken_at_")
                .replace("recorded_", "taken_")
                .replace("cost_", "0");
            let settle = settle.replace("taken_at_", &format!("recorded_at_{number}"));
            let settle = settle.replace("taken_", &format!("cost_{number}"));
            self.block(index, &settle);
            self.block(index, self.parts[index].look);
            self.line(format_args!("end"));
        }
        self.answer();
        self.line(format_args!("local row"));
        self.row(0);
        self.line(format_args!("return row"));
    }

    fn settle(&mut self, head: usize) {
        self.line(format_args!("local holder, until_ms, cost = ARGV[1], ARGV[2] + 0, ARGV[3] + 0"));
        self.add(section(SETTLE, "spent"));
        for index in 0..self.limits.len() {
            let (number, argument) = (index + 1, head + 2 * index);
            self.line(format_args!("do"));
            if self.tables {
                self.line(format_args!("local t{number} = {{}}"));
            } else {
                let names: Vec<String> =
                    self.parts[index].variables().iter().map(|name| format!("{name}{number}")).collect();
                self.line(format_args!("local {}", names.join(", ")));
            }
            self.line(format_args!("local key_{number}, cost_{number} = KEYS[{}], cost", number + 1));
            self.block(index, self.parts[index].look);
            self.line(format_args!(
                "local recorded_at_{number}, recorded_{number} = ARGV[{}] + 0, ARGV[{}] + 0",
                argument + 1,
                argument + 2
            ));
            self.block(index, self.parts[index].settle);
            self.line(format_args!("end"));
        }
        self.add(section(SETTLE, "spend"));
    }
}
