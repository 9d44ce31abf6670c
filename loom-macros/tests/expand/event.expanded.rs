//! An expansion, written by the tests of the macros. Not compiled, and not to be edited.

#[allow(unexpected_cfgs)]
const _: () = {
    #[cfg(rust_analyzer)]
    {
        #[allow(non_upper_case_globals, unused_imports)]
        mod __loom_event {
            /// The name in logs: `name = "order.placed"`.
            pub const name: () = ();
            /// The version of the shape as it is: `version = 2`.
            pub const version: () = ();
            /// What reads older versions: `upcast(1 => from_v1)`.
            pub const upcast: () = ();
            use self::{name as _, version as _, upcast as _};
        }
    }
};
/// Somebody bought something.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct OrderPlaced {
    pub sku: String,
    pub qty: u32,
}
const _: () = {
    #[allow(unused_imports)]
    use ::loom::__v1::GivesOther as _;
    const __LOOM_DESCRIPTOR: &::loom::__v1::EventDescriptor = &::loom::__v1::EventDescriptor {
        name: "order.placed",
        ty: "OrderPlaced",
        version: 3u32,
        oldest: 1u32,
        upcasters: &["from_v1", "old::from_v2"],
        doc: "Somebody bought something.",
        location: ::loom::__v1::Location {
            file: ::core::file!(),
            line: ::core::line!(),
            column: ::core::column!(),
            module: ::core::module_path!(),
        },
        schema: <::loom::__v1::Given<OrderPlaced>>::schema,
    };
    #[automatically_derived]
    impl ::loom::__v1::DomainEvent for OrderPlaced {
        const DESCRIPTOR: &'static ::loom::__v1::EventDescriptor = __LOOM_DESCRIPTOR;
        fn upcast(
            __loom_version: ::core::primitive::u32,
            __loom_data: ::loom::__v1::serde_json::Value,
        ) -> ::core::result::Result<
            ::loom::__v1::serde_json::Value,
            ::loom::__v1::UpcastError,
        > {
            #[allow(unused_imports)]
            use ::loom::__v1::{FromAny as _, Infallible as _, Typed as _, TypedEnd as _};
            let __loom_u0 = ::loom::__v1::Upcaster::new(from_v1);
            let __loom_u1 = ::loom::__v1::Upcaster::new(old::from_v2);
            __loom_u0.gives().then(__loom_u1.takes()).fits();
            __loom_u1.gives().becomes::<OrderPlaced>().fits();
            match __loom_version {
                1 => __loom_u0.apply(__loom_data),
                2 => __loom_u1.apply(__loom_data),
                __loom_other => {
                    ::core::result::Result::Err(
                        ::loom::__v1::UpcastError::no_upcaster(__loom_other),
                    )
                }
            }
        }
    }
    #[cfg(not(target_family = "wasm"))]
    #[::loom::__v1::linkme::distributed_slice(::loom::__v1::EVENTS_V1)]
    #[linkme(crate = ::loom::__v1::linkme)]
    static __LOOM_ELEMENT: &::loom::__v1::EventDescriptor = __LOOM_DESCRIPTOR;
};
