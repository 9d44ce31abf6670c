//! Upcasters: functions that bring the data of an older version of something to the version after it.
//! Not what it is: an event (`domain_event`), or the input of a flow (`flow_input`). The macros list them.

use std::{fmt::Display, marker::PhantomData};

use kernel::{InvalidPayload, Payload};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::recorded::{Read, Recorded, decoded};

/// Why an upcaster gave nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{wrong}")]
pub struct UpcastError {
    pub(crate) wrong: Wrong,
}

/// The kinds of it. Reasons name fields, never values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Wrong {
    /// No function reads this version.
    #[error(
        "{}",
        match .0 {
            0 => "versions count from 1: nothing has written this".to_owned(),
            version => format!("nothing reads version {version} any more: begin `upcast(..)` with it, `{version} => from_v{version}`"),
        }
    )]
    Missing(u32),
    /// The data is not what the function takes.
    #[error("the data does not read: {0}")]
    Input(String),
    /// The function says so.
    #[error("{0}")]
    Refused(String),
    /// What it gives is no JSON.
    #[error("what it gives cannot be written as JSON: {0}")]
    Output(String),
}

impl UpcastError {
    /// Nothing brings `version` further.
    pub fn no_upcaster(version: u32) -> Self {
        Self { wrong: Wrong::Missing(version) }
    }

    fn input(error: serde_json::Error) -> Self {
        Self { wrong: Wrong::Input(InvalidPayload::from(error).0) }
    }

    fn refused(reason: impl Display) -> Self {
        Self { wrong: Wrong::Refused(reason.to_string()) }
    }

    fn output(error: serde_json::Error) -> Self {
        Self { wrong: Wrong::Output(InvalidPayload::from(error).0) }
    }
}

/// The versions that a program reads of one thing, and its upcasters as they are written.
pub(crate) struct Chain {
    pub(crate) current: u32,
    pub(crate) oldest: u32,
    pub(crate) upcasters: &'static [&'static str],
}

impl Chain {
    /// Reads data of a stored version: through the upcasters, in order, until it has the shape of today.
    ///
    /// # Errors
    /// What is wrong, and who is to blame: the stored data, an upcaster, or the one before it. Names fields, never values.
    pub(crate) fn read<T: Recorded>(
        &self,
        stored: u32,
        data: &Payload,
        upcast: fn(u32, Value) -> Result<Value, UpcastError>,
    ) -> Result<T, String> {
        if stored > self.current {
            return Err("it was written by a newer program".into());
        }
        if stored == self.current {
            return decoded(data).map_err(|error| error.0);
        }
        let mut data: Value = data.decode().map_err(|error| error.0)?;
        for version in stored..self.current {
            data = upcast(version, data).map_err(|error| self.blamed(stored, version, error))?;
        }
        serde_json::from_value(data).map(|Read(value)| value).map_err(|error| {
            let (last, reason) = (self.upcaster(self.current - 1), InvalidPayload::from(error).0);
            format!("what {last} gives is no such thing: {reason}")
        })
    }

    fn blamed(&self, stored: u32, version: u32, error: UpcastError) -> String {
        let this = self.upcaster(version);
        match error.wrong {
            Wrong::Input(reason) if version == stored => {
                format!("the stored data is not what {this} takes: {reason}")
            }
            Wrong::Input(reason) => {
                format!("what {} gives is not what {this} takes: {reason}", self.upcaster(version - 1))
            }
            Wrong::Refused(reason) => format!("{this} says: {reason}"),
            Wrong::Output(reason) => format!("what {this} gives cannot be written as JSON: {reason}"),
            Wrong::Missing(_) => error.to_string(),
        }
    }

    /// "the upcaster of version 2, `from_v2`,".
    fn upcaster(&self, version: u32) -> String {
        let position = version.checked_sub(self.oldest).and_then(|position| usize::try_from(position).ok());
        match position.and_then(|position| self.upcasters.get(position)) {
            Some(function) => format!("the upcaster of version {version}, `{function}`,"),
            None => format!("the upcaster of version {version}"),
        }
    }
}

/// A function `fn(Old) -> New` or `fn(Old) -> Result<New, impl Display>`, as an upcaster of JSON: either side may be
/// `serde_json::Value`. The macro writes `Upcaster::new(f).apply(data)`, and the inherent method, which is that of the
/// functions that may fail, goes before the trait's. Bounds are the methods' own, so that no `Result` falls through.
pub struct Upcaster<A, B>(fn(A) -> B);

impl<A, B> Upcaster<A, B> {
    /// The function.
    pub const fn new(function: fn(A) -> B) -> Self {
        Self(function)
    }

    /// What it takes.
    pub fn takes(&self) -> Takes<A> {
        Takes(PhantomData)
    }
}

impl<A, B, E> Upcaster<A, Result<B, E>> {
    /// What it gives, when it does.
    pub fn gives(&self) -> Gives<B> {
        Gives(PhantomData)
    }

    /// The data of the next version.
    ///
    /// # Errors
    /// The data is no `A`, or the function fails.
    pub fn apply(self, data: Value) -> Result<Value, UpcastError>
    where
        A: DeserializeOwned,
        B: Serialize,
        E: Display,
    {
        let old = serde_json::from_value(data).map_err(UpcastError::input)?;
        let new = (self.0)(old).map_err(UpcastError::refused)?;
        serde_json::to_value(new).map_err(UpcastError::output)
    }
}

/// The upcasters that cannot fail.
pub trait Infallible<A, B> {
    /// What it gives.
    fn gives(&self) -> Gives<B>;

    /// The data of the next version.
    ///
    /// # Errors
    /// The data is no `A`.
    fn apply(self, data: Value) -> Result<Value, UpcastError>
    where
        A: DeserializeOwned,
        B: Serialize;
}

impl<A, B> Infallible<A, B> for Upcaster<A, B> {
    fn gives(&self) -> Gives<B> {
        Gives(PhantomData)
    }

    fn apply(self, data: Value) -> Result<Value, UpcastError>
    where
        A: DeserializeOwned,
        B: Serialize,
    {
        let old = serde_json::from_value(data).map_err(UpcastError::input)?;
        serde_json::to_value((self.0)(old)).map_err(UpcastError::output)
    }
}

/// The type that an upcaster takes.
pub struct Takes<T>(PhantomData<fn(T)>);

/// The type that an upcaster gives.
pub struct Gives<T>(PhantomData<fn() -> T>);

impl<A> Gives<A> {
    /// The link from this upcaster to the next.
    pub fn then<B>(self, _: Takes<B>) -> Link<A, B> {
        Link(PhantomData)
    }

    /// The link from the last upcaster to the event.
    pub fn becomes<E>(self) -> End<A, E> {
        End(PhantomData)
    }
}

/// Between two upcasters. The macro writes `link.fits()`: JSON of no type fits everything, and is seen first; what is
/// left must be one type on both sides.
pub struct Link<A, B>(PhantomData<fn(A) -> B>);

impl<A> Link<A, Value> {
    /// The next one takes any JSON.
    pub fn fits(self) {}
}

/// A link from an upcaster that gives any JSON.
pub trait FromAny {
    /// It does.
    fn fits(self);
}

impl<B> FromAny for Link<Value, B> {
    fn fits(self) {}
}

/// A link between types.
pub trait Typed<A, B> {
    /// They are one type.
    fn fits(self)
    where
        A: TakenBy<B>;
}

impl<A, B> Typed<A, B> for &Link<A, B> {
    fn fits(self)
    where
        A: TakenBy<B>,
    {
    }
}

/// Between the last upcaster and the event.
pub struct End<A, E>(PhantomData<fn(A) -> E>);

impl<E> End<Value, E> {
    /// Any JSON may be the event.
    pub fn fits(self) {}
}

/// An end that is typed.
pub trait TypedEnd<A, E> {
    /// The last upcaster gives the event.
    fn fits(self)
    where
        A: IsEvent<E>;
}

impl<A, E> TypedEnd<A, E> for &End<A, E> {
    fn fits(self)
    where
        A: IsEvent<E>,
    {
    }
}

/// What an upcaster gives is what the next one takes.
#[diagnostic::on_unimplemented(
    message = "[L0405] the upcaster before this one gives `{Self}`, and this one takes `{Next}`",
    label = "takes `{Next}`, and is given `{Self}`",
    note = "help: each upcaster takes what the one before it gives: make them one type; `serde_json::Value` fits everything"
)]
pub trait TakenBy<Next> {}

impl<T> TakenBy<T> for T {}

/// What the last upcaster gives is the event.
#[diagnostic::on_unimplemented(
    message = "[L0405] the last upcaster gives `{Self}`, and what is read today is `{Event}`",
    label = "gives `{Self}`, which is not `{Event}`",
    note = "help: let it give `{Event}`, or add the upcaster that is missing behind it; `serde_json::Value` fits everything"
)]
pub trait IsEvent<Event> {}

impl<T> IsEvent<T> for T {}
