//! The parameters of policies that users set by name. Each is defined once, with its type, unit,
//! default, bounds, source and a line of help.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use fairways_core::Q32;

/// A parameter of a policy.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The paper's name for it, or ours.
    pub name: Cow<'static, str>,
    /// What its values are.
    pub kind: ValueKind,
    /// The unit of its values; empty where they have none.
    pub unit: Cow<'static, str>,
    /// The least value: of a time in nanoseconds, of a fraction in units of 2^-32. `None` if there
    /// is no bound.
    pub least: Option<u64>,
    /// The largest value, likewise; `None` if only its type has a bound.
    pub most: Option<u64>,
    /// The largest value of its type.
    pub(crate) largest: u64,
    /// Its source: the paper's section, a decision of `docs/decisions.md`, or ours.
    pub source: &'static str,
    /// The documentation, line by line; its first paragraph is the help.
    pub(crate) doc: Cow<'static, str>,
}

/// The least period at which a policy decides.
pub(crate) const MILLISECOND: u64 = 1_000_000;

/// What a parameter's values are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// `true` or `false`.
    Switch,
    /// A whole number.
    Count,
    /// A number that may have decimals.
    Fraction,
    /// A span of time.
    Time,
    /// One of these words.
    Word(Cow<'static, [Cow<'static, str>]>),
}

/// A parameter's value; a word is the parameter's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// Of [`ValueKind::Switch`].
    Switch(bool),
    /// Of [`ValueKind::Count`].
    Count(u64),
    /// Of [`ValueKind::Fraction`].
    Fraction(Q32),
    /// Of [`ValueKind::Time`].
    Time(Duration),
    /// Of [`ValueKind::Word`].
    Word(&'a str),
}

impl Parameter {
    /// A parameter of a policy that is a program of its own; `bounds` as in [`Self::least`] and
    /// [`Self::most`].
    #[must_use]
    pub fn of_program(
        name: String,
        kind: ValueKind,
        unit: String,
        [least, most]: [Option<u64>; 2],
        help: String,
    ) -> Self {
        Self {
            name: name.into(),
            kind,
            unit: unit.into(),
            least,
            most,
            largest: u64::MAX,
            source: "the program",
            doc: help.into(),
        }
    }

    /// What the parameter does, in a line.
    #[must_use]
    pub fn help(&self) -> String {
        let lines = self.doc.lines().map(str::trim);
        lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// The value of a text; the text of a time is a number of nanoseconds.
    pub fn read(&self, text: &str) -> Result<Value<'_>, String> {
        let value = match &self.kind {
            ValueKind::Switch => text.parse().ok().map(Value::Switch),
            ValueKind::Count => text.parse().ok().map(Value::Count),
            ValueKind::Fraction => text.parse().ok().map(Value::Fraction),
            ValueKind::Time => {
                text.parse().ok().map(|nanos| Value::Time(Duration::from_nanos(nanos)))
            }
            ValueKind::Word(words) => {
                words.iter().find(|&word| word == text).map(|word| Value::Word(word))
            }
        };
        value.filter(|value| self.is_in_bounds(*value)).ok_or_else(|| self.expected())
    }

    fn is_in_bounds(&self, value: Value<'_>) -> bool {
        let (least, most) = (self.least.unwrap_or(0), self.most.unwrap_or(self.largest));
        value.size().is_none_or(|size| (least..=most).contains(&size))
    }

    /// The least and the largest value; `None` where only the type has a bound.
    #[must_use]
    pub fn bounds(&self) -> [Option<Value<'_>>; 2] {
        [self.least, self.most].map(|size| size.map(|size| Value::from_size(&self.kind, size)))
    }

    /// What values it takes, in words.
    #[must_use]
    pub fn expected(&self) -> String {
        let what = match &self.kind {
            ValueKind::Switch => return "true or false".into(),
            ValueKind::Word(words) => return words.join(" or "),
            ValueKind::Count => "a whole number",
            ValueKind::Fraction => "a number with at most 10 decimals",
            ValueKind::Time => "a time such as 500ms",
        };
        match self.bounds() {
            [None, None] => what.into(),
            [Some(least), None] => format!("{what}, at least {least}"),
            [None, Some(most)] => format!("{what}, at most {most}"),
            [Some(least), Some(most)] => format!("{what} from {least} to {most}"),
        }
    }
}

impl Value<'_> {
    /// The quantity that bounds apply to.
    fn size(self) -> Option<u64> {
        match self {
            Self::Switch(_) | Self::Word(_) => None,
            Self::Count(count) => Some(count),
            Self::Fraction(number) => Some(number.raw()),
            Self::Time(time) => Some(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)),
        }
    }

    fn from_size(kind: &ValueKind, size: u64) -> Self {
        match kind {
            ValueKind::Fraction => Self::Fraction(Q32::from_raw(size)),
            ValueKind::Time => Self::Time(Duration::from_nanos(size)),
            _ => Self::Count(size),
        }
    }
}

impl fmt::Display for Value<'_> {
    /// The text by which it is set: times have a unit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch(is) => is.fmt(f),
            Self::Count(count) => count.fmt(f),
            Self::Fraction(number) => number.fmt(f),
            Self::Word(word) => word.fmt(f),
            Self::Time(time) => {
                let nanos = time.as_nanos();
                let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1000, "us")];
                let unit = units.into_iter().find(|(size, _)| nanos.is_multiple_of(*size));
                let (size, unit) = unit.unwrap_or((1, "ns"));
                f.pad(&format!("{}{unit}", nanos / size))
            }
        }
    }
}

/// The type of a parameter.
pub trait Setting: Copy {
    /// What its values are.
    const KIND: ValueKind;
    /// The largest value, in the units of [`Parameter::most`].
    const LARGEST: u64;

    /// The value.
    fn value(self) -> Value<'static>;

    /// The parameter from a value; `None` if the value is of another kind, or too large.
    fn from_value(value: Value<'_>) -> Option<Self>;
}

macro_rules! settings {
    ($($type:ty: $kind:ident, $most:expr, $value:ident => $into:expr, $from:expr;)*) => {$(
        impl Setting for $type {
            const KIND: ValueKind = ValueKind::$kind;
            const LARGEST: u64 = $most;

            fn value(self) -> Value<'static> {
                Value::$kind($into(self))
            }

            fn from_value($value: Value<'_>) -> Option<Self> {
                let Value::$kind($value) = $value else { return None };
                $from
            }
        }
    )*};
}

settings! {
    bool: Switch, 1, value => bool::from, Some(value);
    u32: Count, u32::MAX as u64, value => u64::from, Self::try_from(value).ok();
    u64: Count, Self::MAX, value => u64::from, Some(value);
    Q32: Fraction, u64::MAX, value => Self::from, Some(value);
    Duration: Time, u64::MAX, value => Self::from, Some(value);
}

/// The parameters of a policy.
pub trait ParameterSet: Copy {
    /// The parameters, in the order of their definition.
    const TABLE: &'static [Parameter];

    /// Their values, in the same order.
    fn values(&self) -> Vec<Value<'static>>;

    /// Sets the parameter of this name. An unknown name, or a value of another kind, changes
    /// nothing.
    fn set(&mut self, name: &str, value: Value<'_>);
}

/// The parameters of a policy that has none.
impl ParameterSet for () {
    const TABLE: &'static [Parameter] = &[];

    fn values(&self) -> Vec<Value<'static>> {
        Vec::new()
    }

    fn set(&mut self, _: &str, _: Value<'_>) {}
}

/// Words as a parameter's type: `choices!(Rule { Margin = "margin", Published = "published" })`.
macro_rules! choices {
    ($Type:ident { $($variant:ident = $word:literal),* $(,)? }) => {
        impl $crate::parameter::Setting for $Type {
            const KIND: $crate::parameter::ValueKind = {
                use alloc::borrow::Cow;
                const WORDS: &[Cow<'static, str>] = &[$(Cow::Borrowed($word)),*];
                $crate::parameter::ValueKind::Word(Cow::Borrowed(WORDS))
            };
            const LARGEST: u64 = 0;

            fn value(self) -> $crate::parameter::Value<'static> {
                $crate::parameter::Value::Word(match self {
                    $(Self::$variant => $word,)*
                })
            }

            fn from_value(value: $crate::parameter::Value<'_>) -> Option<Self> {
                match value {
                    $($crate::parameter::Value::Word($word) => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

/// Defines a struct of parameters with its defaults and its table. Each parameter has:
/// documentation, whose first paragraph is the help; name, type, default, unit and source; bounds
/// as in [`Parameter::least`].
macro_rules! parameters {
    (
        $(#[$attribute:meta])*
        pub struct $Parameters:ident {
            $(
                $(#[doc = $doc:literal])*
                $name:ident: $type:ty = $default:expr, $unit:literal, $source:literal
                    $(, least $least:expr)? $(, most $most:expr)?;
            )*
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $Parameters {
            $(
                $(#[doc = $doc])*
                #[doc = ""]
                #[doc = concat!("Default: `", stringify!($default), "`. From: ", $source, ".")]
                pub $name: $type,
            )*
        }

        impl Default for $Parameters {
            fn default() -> Self {
                Self { $($name: $default,)* }
            }
        }

        impl $crate::parameter::ParameterSet for $Parameters {
            const TABLE: &'static [$crate::parameter::Parameter] = {
                use alloc::borrow::Cow;
                use $crate::parameter::{Parameter, Setting};
                &[$(Parameter {
                    name: Cow::Borrowed(stringify!($name)),
                    kind: <$type as Setting>::KIND,
                    unit: Cow::Borrowed($unit),
                    least: [$(Some($least),)? None][0],
                    most: [$(Some($most),)? None][0],
                    largest: <$type as Setting>::LARGEST,
                    source: $source,
                    doc: Cow::Borrowed(concat!($($doc, "\n"),*)),
                }),*]
            };

            fn values(&self) -> alloc::vec::Vec<$crate::parameter::Value<'static>> {
                alloc::vec![$($crate::parameter::Setting::value(self.$name)),*]
            }

            fn set(&mut self, name: &str, value: $crate::parameter::Value<'_>) {
                match name {
                    $(stringify!($name) => {
                        if let Some(value) = $crate::parameter::Setting::from_value(value) {
                            self.$name = value;
                        }
                    })*
                    _ => {}
                }
            }
        }
    };
}

pub(crate) use {choices, parameters};
