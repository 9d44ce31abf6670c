//! How a flow's body looks at a value on its way: what `#[flow]` hangs behind a future or a call, `value.__seen(look)`. What it
//! looks for, `awaited` and `inert` say.

/// Any value. A method, so that the expression goes on as the user wrote it: one that began with a function's name would be
/// the macro's, and the compiler would point at the attribute.
pub trait Seen: Sized {
    /// What the look gives, which is the value itself unless it is refused.
    fn __seen<O>(self, look: impl FnOnce(Self) -> O) -> O {
        look(self)
    }
}

impl<V> Seen for V {}
