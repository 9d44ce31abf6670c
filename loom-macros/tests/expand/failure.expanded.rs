//! An expansion, written by the tests of the macros. Not compiled, and not to be edited.

#[automatically_derived]
impl ::loom::__v1::Failure for ShopError {
    const CODEC: ::loom::__v1::Codec<Self> = ::loom::__v1::codec::<ShopError>();
    fn from_engine(error: ::loom::__v1::EffectError) -> Self {
        Self::Engine(<EffectError as ::loom::__v1::EngineField>::of(error))
    }
    fn code(&self) -> &'static ::core::primitive::str {
        match self {
            Self::Declined { .. } => "Declined",
            Self::Busy { .. } => "Busy",
            Self::Unreachable { .. } => "Unreachable",
            Self::Engine { .. } => "Engine",
        }
    }
    fn message(&self) -> ::std::string::String {
        match self {
            Self::Declined { .. } => {
                ::std::string::String::from("The card was declined.")
            }
            Self::Busy { .. } => ::std::string::String::from("The warehouse is busy."),
            Self::Unreachable { .. } => ::std::string::String::from("Unreachable"),
            Self::Engine(error) => ::std::string::ToString::to_string(error),
        }
    }
    fn retry(&self) -> ::loom::__v1::RetryClass {
        match self {
            Self::Declined { .. } => ::loom::__v1::RetryClass::Permanent,
            Self::Busy { .. } => {
                ::loom::__v1::RetryClass::After(
                    ::core::time::Duration::from_millis(5000u64),
                )
            }
            Self::Unreachable { .. } => ::loom::__v1::RetryClass::Transient,
            Self::Engine { .. } => ::loom::__v1::RetryClass::Permanent,
        }
    }
}
#[automatically_derived]
impl ::core::convert::From<::loom::__v1::ExecuteError> for ShopError {
    fn from(error: ::loom::__v1::ExecuteError) -> Self {
        ::loom::__v1::ExecuteError::into_failure(error)
    }
}
#[automatically_derived]
impl ::core::convert::From<::loom::__v1::EffectError> for ShopError {
    fn from(error: ::loom::__v1::EffectError) -> Self {
        Self::Engine(<EffectError as ::loom::__v1::EngineField>::of(error))
    }
}
