//! `loom::link!`: brings the flows and steps of other crates into a program.
//! Not needed for crates that the program's own code names anyway.

/// Links crates whose flows and steps a program registers but never names in code.
///
/// rustc does not load a library that nobody names, and then its registrations are missing.
///
/// ```
/// loom::link!(serde_json);
/// ```
#[macro_export]
macro_rules! link {
    ($($name:ident),+ $(,)?) => {
        $(use $name as _;)+
    };
}
