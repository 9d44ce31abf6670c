//! Tests only, see `tests/`.
