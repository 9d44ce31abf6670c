//! Cases that show what the macros accept and what they say when they do not; see `tests/`. There is
//! no code here.
