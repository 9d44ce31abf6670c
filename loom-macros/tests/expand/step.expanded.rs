//! An expansion, written by the tests of the macros. Not compiled, and not to be edited.

#[allow(unexpected_cfgs)]
const _: () = {
    #[cfg(rust_analyzer)]
    {
        #[allow(non_upper_case_globals, unused_imports)]
        mod __loom_step {
            /// No effect at all: nothing need be durable before it starts.
            pub const pure: () = ();
            /// Reads the outside world, changes nothing: delivered as `pure` is.
            pub const reads: () = ();
            /// Never run twice; a crash in the middle waits for a verdict.
            pub const at_most_once: () = ();
            /// How failures that may pass are retried: `retry`, `retry(attempts = 3, initial = "100ms")`.
            pub const retry: () = ();
            /// The longest that one attempt may take: `timeout = "10s"`.
            pub const timeout: () = ();
            /// The longest that one attempt may be silent: `heartbeat = "5s"`.
            pub const heartbeat: () = ();
            /// The classes of what it touches: `effects("http", "payments.write")`.
            pub const effects: () = ();
            /// The name in logs, when it is not the function's: `name = "reserve-stock"`.
            pub const name: () = ();
            use self::{retry as _, timeout as _, effects as _};
        }
        #[allow(non_upper_case_globals, unused_imports)]
        mod __loom_step_retry {
            /// How many attempts there are at most: `attempts = 3`.
            pub const attempts: () = ();
            /// The pause after the first attempt: `initial = "100ms"`.
            pub const initial: () = ();
            /// The longest pause: `max = "60s"`.
            pub const max: () = ();
            /// By how much each pause is longer than the one before: `factor = 2`.
            pub const factor: () = ();
            use self::{attempts as _, initial as _};
        }
    }
};
/// Reserve stock for an order.
#[allow(dead_code)]
pub fn reserve(sku: String, qty: u32) -> ::loom::__v1::StepCall<reserve> {
    reserve::__loom_call(sku, qty)
}
/// Reserve stock for an order.
#[allow(missing_docs, non_camel_case_types, unreachable_pub)]
pub enum reserve {}
#[allow(missing_docs, unreachable_pub)]
const _: () = {
    #[allow(unused_imports)]
    use ::loom::__v1::GivesOther as _;
    type __LoomT0 = String;
    type __LoomT1 = u32;
    #[derive(
        ::loom::__v1::serde::Serialize,
        ::loom::__v1::serde::Deserialize,
        ::loom::__v1::schemars::JsonSchema
    )]
    #[serde(
        crate = "::loom::__v1::serde",
        rename = "reserve",
        deny_unknown_fields,
        bound(
            serialize = "for<'loom> __LoomT0: ::loom::__v1::serde::Serialize, for<'loom> __LoomT1: ::loom::__v1::serde::Serialize",
            deserialize = "for<'loom> __LoomT0: ::loom::__v1::serde::Deserialize<'de>, for<'loom> __LoomT1: ::loom::__v1::serde::Deserialize<'de>"
        )
    )]
    #[schemars(
        crate = "::loom::__v1::schemars",
        bound = "for<'loom> __LoomT0: ::loom::__v1::schemars::JsonSchema, for<'loom> __LoomT1: ::loom::__v1::schemars::JsonSchema"
    )]
    pub struct __LoomInput<const GENERIC: ::core::primitive::bool> {
        /// What to reserve.
        sku: __LoomT0,
        qty: __LoomT1,
    }
    const _: fn() = || {
        ::loom::__v1::recorded::<String>();
        ::loom::__v1::recorded::<u32>();
    };
    impl reserve {
        fn __loom_call(sku: String, qty: u32) -> ::loom::__v1::StepCall<reserve> {
            ::loom::__v1::StepCall::<reserve>::new(__LoomInput { sku, qty })
        }
    }
    const __LOOM_DESCRIPTOR: &::loom::__v1::StepDescriptor = &::loom::__v1::StepDescriptor {
        name: "reserve",
        doc: "Reserve stock for an order.",
        location: ::loom::__v1::Location {
            file: ::core::file!(),
            line: ::core::line!(),
            column: ::core::column!(),
            module: ::core::module_path!(),
        },
        delivery: ::loom::__v1::Delivery::AtLeastOnce,
        reads: false,
        retry: ::loom::__v1::RetryPolicy {
            attempts: 5u32,
            initial: ::core::time::Duration::from_millis(200u64),
            max: ::core::time::Duration::from_millis(60000u64),
            factor: 2u32,
        },
        timeout: ::core::option::Option::Some(
            ::core::time::Duration::from_millis(10000u64),
        ),
        heartbeat: ::core::option::Option::None,
        effects: &["warehouse.write"],
        resources: &[::loom::__v1::ResourceDescriptor::of::<Warehouse>()],
        input: <::loom::__v1::Given<<reserve as ::loom::__v1::Step>::Input>>::DATA,
        output: <::loom::__v1::Given<<reserve as ::loom::__v1::Step>::Output>>::DATA,
        error: <::loom::__v1::Given<<reserve as ::loom::__v1::Step>::Error>>::schema,
        fingerprint: 2940491937153169177u64,
        invoke: ::loom::__v1::invoke::<reserve>,
    };
    impl ::loom::__v1::Step for reserve {
        type Input = __LoomInput<true>;
        const INPUT: ::loom::__v1::Codec<Self::Input> = <::loom::__v1::Given<
            __LoomInput<true>,
        >>::CODEC;
        type Output = <Result<Hold, ShopError> as ::loom::__v1::StepResult>::Ok;
        type Error = <Result<Hold, ShopError> as ::loom::__v1::StepResult>::Err;
        const DESCRIPTOR: &'static ::loom::__v1::StepDescriptor = __LOOM_DESCRIPTOR;
        fn body(
            __loom_input: Self::Input,
            __loom_env: &::loom::__v1::StepEnv,
        ) -> ::core::result::Result<
            ::loom::__v1::BoxFuture<
                'static,
                ::core::result::Result<Self::Output, Self::Error>,
            >,
            ::loom::__v1::MissingResource,
        > {
            let stock = __loom_env.resource::<Warehouse>()?;
            ::core::result::Result::Ok(
                ::std::boxed::Box::pin(
                    __loom_body(
                        stock,
                        __loom_env.cx(),
                        __loom_input.sku,
                        __loom_input.qty,
                    ),
                ),
            )
        }
    }
    impl ::loom::__v1::StepArguments<(String, u32)> for reserve {
        #[allow(clippy::unused_unit)]
        fn arguments(__loom_input: Self::Input) -> (String, u32) {
            (__loom_input.sku, __loom_input.qty)
        }
    }
    #[allow(clippy::unused_async, clippy::too_many_arguments)]
    async fn __loom_body(
        stock: Res<Warehouse>,
        step: StepCx,
        sku: String,
        mut qty: u32,
    ) -> Result<Hold, ShopError> {
        qty += 1;
        stock.hold(step.idempotency_key(), sku, qty).await
    }
    #[cfg(not(target_family = "wasm"))]
    #[::loom::__v1::linkme::distributed_slice(::loom::__v1::STEPS_V1)]
    #[linkme(crate = ::loom::__v1::linkme)]
    static __LOOM_ELEMENT: &::loom::__v1::StepDescriptor = __LOOM_DESCRIPTOR;
};
