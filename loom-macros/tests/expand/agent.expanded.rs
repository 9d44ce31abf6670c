//! An expansion, written by the tests of the macros. Not compiled, and not to be edited.

#[allow(unexpected_cfgs)]
const _: () = {
    #[cfg(rust_analyzer)]
    {
        #[allow(non_upper_case_globals, unused_imports)]
        mod __loom_tool {
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
            use self::reads as _;
        }
    }
};
/// Look up an order.
#[allow(dead_code)]
fn find_order(number: String) -> ::loom::__v1::StepCall<find_order> {
    find_order::__loom_call(number)
}
/// Look up an order.
#[allow(missing_docs, non_camel_case_types, unreachable_pub)]
enum find_order {}
#[allow(missing_docs, unreachable_pub)]
const _: () = {
    #[allow(unused_imports)]
    use ::loom::__v1::GivesOther as _;
    type __LoomT0 = String;
    #[derive(
        ::loom::__v1::serde::Serialize,
        ::loom::__v1::serde::Deserialize,
        ::loom::__v1::schemars::JsonSchema
    )]
    #[serde(
        crate = "::loom::__v1::serde",
        rename = "find_order",
        deny_unknown_fields,
        bound(
            serialize = "for<'loom> __LoomT0: ::loom::__v1::serde::Serialize",
            deserialize = "for<'loom> __LoomT0: ::loom::__v1::serde::Deserialize<'de>"
        )
    )]
    #[schemars(
        crate = "::loom::__v1::schemars",
        bound = "for<'loom> __LoomT0: ::loom::__v1::schemars::JsonSchema"
    )]
    pub struct __LoomInput<const GENERIC: ::core::primitive::bool> {
        /// The number on the invoice.
        number: __LoomT0,
    }
    const _: fn() = || {
        ::loom::__v1::recorded::<String>();
    };
    impl find_order {
        fn __loom_call(number: String) -> ::loom::__v1::StepCall<find_order> {
            ::loom::__v1::StepCall::<find_order>::new(__LoomInput { number })
        }
    }
    const __LOOM_DESCRIPTOR: &::loom::__v1::StepDescriptor = &::loom::__v1::StepDescriptor {
        name: "find_order",
        doc: "Look up an order.",
        location: ::loom::__v1::Location {
            file: ::core::file!(),
            line: ::core::line!(),
            column: ::core::column!(),
            module: ::core::module_path!(),
        },
        delivery: ::loom::__v1::Delivery::Pure,
        reads: true,
        retry: ::loom::__v1::RetryPolicy::NONE,
        timeout: ::core::option::Option::None,
        heartbeat: ::core::option::Option::None,
        effects: &[],
        resources: &[],
        input: <::loom::__v1::Given<<find_order as ::loom::__v1::Step>::Input>>::DATA,
        output: <::loom::__v1::Given<<find_order as ::loom::__v1::Step>::Output>>::DATA,
        error: <::loom::__v1::Given<<find_order as ::loom::__v1::Step>::Error>>::schema,
        fingerprint: 10759801548512848619u64,
        invoke: ::loom::__v1::invoke::<find_order>,
    };
    impl ::loom::__v1::Step for find_order {
        type Input = __LoomInput<true>;
        const INPUT: ::loom::__v1::Codec<Self::Input> = <::loom::__v1::Given<
            __LoomInput<true>,
        >>::CODEC;
        type Output = <Result<Order, ShopError> as ::loom::__v1::StepResult>::Ok;
        type Error = <Result<Order, ShopError> as ::loom::__v1::StepResult>::Err;
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
            ::core::result::Result::Ok(
                ::std::boxed::Box::pin(__loom_body(__loom_input.number)),
            )
        }
    }
    impl ::loom::__v1::StepArguments<(String,)> for find_order {
        #[allow(clippy::unused_unit)]
        fn arguments(__loom_input: Self::Input) -> (String,) {
            (__loom_input.number,)
        }
    }
    #[allow(clippy::unused_async, clippy::too_many_arguments)]
    async fn __loom_body(number: String) -> Result<Order, ShopError> {
        shop::order(number).await
    }
    #[cfg(not(target_family = "wasm"))]
    #[::loom::__v1::linkme::distributed_slice(::loom::__v1::STEPS_V1)]
    #[linkme(crate = ::loom::__v1::linkme)]
    static __LOOM_ELEMENT: &::loom::__v1::StepDescriptor = __LOOM_DESCRIPTOR;
};
const _: () = {
    const __LOOM_DESCRIPTOR: &::loom::__v1::ToolDescriptor = &::loom::__v1::ToolDescriptor {
        step: <find_order as ::loom::__v1::Step>::DESCRIPTOR,
    };
    impl ::loom::__v1::Tool for find_order {
        const TOOL: &'static ::loom::__v1::ToolDescriptor = __LOOM_DESCRIPTOR;
    }
    #[cfg(not(target_family = "wasm"))]
    #[::loom::__v1::linkme::distributed_slice(::loom::__v1::TOOLS_V1)]
    #[linkme(crate = ::loom::__v1::linkme)]
    static __LOOM_ELEMENT: &::loom::__v1::ToolDescriptor = __LOOM_DESCRIPTOR;
};
#[allow(unexpected_cfgs)]
const _: () = {
    #[cfg(rust_analyzer)]
    {
        #[allow(non_upper_case_globals, unused_imports)]
        mod __loom_skill {
            /// The file of the instructions, relative to that of the source: `file = "refunds.md"`.
            pub const file: () = ();
            /// The name, when it is not the struct's: `name = "refunds"`.
            pub const name: () = ();
            use self::file as _;
        }
    }
};
#[allow(dead_code)]
/// When a customer gets money back.
struct RefundRules;
const _: () = {
    const __LOOM_DESCRIPTOR: &::loom::__v1::SkillDescriptor = &::loom::__v1::SkillDescriptor {
        name: "refund-rules",
        description: "When a customer gets money back.",
        location: ::loom::__v1::Location {
            file: ::core::file!(),
            line: ::core::line!(),
            column: ::core::column!(),
            module: ::core::module_path!(),
        },
        file: "refunds.md",
        instructions: || ::core::include_str!("refunds.md"),
    };
    #[automatically_derived]
    impl ::loom::__v1::Skill for RefundRules {
        const DESCRIPTOR: &'static ::loom::__v1::SkillDescriptor = __LOOM_DESCRIPTOR;
    }
    #[cfg(not(target_family = "wasm"))]
    #[::loom::__v1::linkme::distributed_slice(::loom::__v1::SKILLS_V1)]
    #[linkme(crate = ::loom::__v1::linkme)]
    static __LOOM_ELEMENT: &::loom::__v1::SkillDescriptor = __LOOM_DESCRIPTOR;
};
/// Pays nothing.
const NO_PAYMENTS: Policy = Policy::new().deny(&["payments.*"]);
/// Pays nothing.
#[allow(missing_docs, non_camel_case_types, unreachable_pub)]
enum NO_PAYMENTS {}
const _: () = {
    const __LOOM_DESCRIPTOR: &::loom::__v1::PolicyDescriptor = &::loom::__v1::PolicyDescriptor {
        name: "no-payments",
        doc: "Pays nothing.",
        location: ::loom::__v1::Location {
            file: ::core::file!(),
            line: ::core::line!(),
            column: ::core::column!(),
            module: ::core::module_path!(),
        },
        value: || -> ::loom::__v1::Policy { NO_PAYMENTS },
    };
    impl ::loom::__v1::NamedPolicy for NO_PAYMENTS {
        const DESCRIPTOR: &'static ::loom::__v1::PolicyDescriptor = __LOOM_DESCRIPTOR;
    }
    #[cfg(not(target_family = "wasm"))]
    #[::loom::__v1::linkme::distributed_slice(::loom::__v1::POLICIES_V1)]
    #[linkme(crate = ::loom::__v1::linkme)]
    static __LOOM_ELEMENT: &::loom::__v1::PolicyDescriptor = __LOOM_DESCRIPTOR;
};
#[allow(unexpected_cfgs)]
const _: () = {
    #[cfg(rust_analyzer)]
    {
        #[allow(non_upper_case_globals, unused_imports)]
        mod __loom_agent {
            /// The model, by the name under which the program knows it: `model = "small"`.
            pub const model: () = ();
            /// The tools that it may call: `tools = [find_order]`.
            pub const tools: () = ();
            /// The skills that it may look up: `skills = [Refunds]`.
            pub const skills: () = ();
            /// How many turns it may take: `max_turns = 8`.
            pub const max_turns: () = ();
            /// What it may use up: `budget(tokens = 50_000, usd = 0.25)`.
            pub const budget: () = ();
            /// The policies that it is held to: `policies = [READ_ONLY]`.
            pub const policies: () = ();
            /// The ceiling of effect classes: `effects("http", "mail.*")`.
            pub const effects: () = ();
            /// The version of its input's shape as it is: `version = 2`.
            pub const version: () = ();
            /// What reads inputs of older versions: `upcast(1 => from_v1)`.
            pub const upcast: () = ();
            /// The name in logs, when it is not the function's: `name = "front-desk"`.
            pub const name: () = ();
            use self::{
                model as _, tools as _, skills as _, max_turns as _, budget as _,
                policies as _,
            };
        }
        #[allow(non_upper_case_globals, unused_imports)]
        mod __loom_agent_budget {
            /// Tokens, of input and output together: `tokens = 50_000`.
            pub const tokens: () = ();
            /// Dollars, with at most six decimals: `usd = 0.25`.
            pub const usd: () = ();
            use self::{tokens as _, usd as _};
        }
    }
};
/// You answer customers.
#[allow(dead_code)]
fn support(number: String) -> ::loom::__v1::FlowCall<support> {
    support::__loom_call(number)
}
/// You answer customers.
#[allow(missing_docs, non_camel_case_types, unreachable_pub)]
enum support {}
#[allow(missing_docs, unreachable_pub)]
const _: () = {
    #[allow(unused_imports)]
    use ::loom::__v1::GivesOther as _;
    static __LOOM_SITES: [::loom::__v1::Site; 1] = [
        ::loom::__v1::Site {
            id: "find_order",
            line: ::core::line!(),
            column: ::core::column!(),
            file: ::core::file!(),
        },
    ];
    #[allow(dead_code)]
    struct __LoomBody;
    impl support {
        fn __loom_call(number: String) -> ::loom::__v1::FlowCall<support> {
            ::loom::__v1::FlowCall::<support>::new(number)
        }
    }
    const __LOOM_DESCRIPTOR: &::loom::__v1::FlowDescriptor = &::loom::__v1::FlowDescriptor {
        name: "support",
        doc: "You answer customers.",
        location: ::loom::__v1::Location {
            file: ::core::file!(),
            line: ::core::line!(),
            column: ::core::column!(),
            module: ::core::module_path!(),
        },
        input: <::loom::__v1::Given<<support as ::loom::__v1::Flow>::Input>>::DATA,
        output: <::loom::__v1::Given<<support as ::loom::__v1::Flow>::Output>>::DATA,
        error: <::loom::__v1::Given<<support as ::loom::__v1::Flow>::Error>>::schema,
        versions: ::loom::__v1::InputVersions::FIRST,
        effects: ::core::option::Option::None,
        policies: &[<NO_PAYMENTS as ::loom::__v1::NamedPolicy>::DESCRIPTOR],
        schedule: ::core::option::Option::None,
        run: ::loom::__v1::run_flow::<support>,
        gates: &[],
        messages: &[],
        graph: &[
            ::loom::__v1::Node::Step {
                id: "find_order",
                step: "find_order",
                line: ::core::line!(),
                column: ::core::column!(),
            },
        ],
        steps: &[
            ::loom::__v1::Callee {
                id: "find_order",
                it: <__LoomBody as ::loom::__v1::NamedAt<0, ::loom::__v1::StepFn>>::IT,
            },
        ],
        children: &[],
        parts: &[],
        fingerprint: 13243207698059761694u64,
    };
    impl ::loom::__v1::Flow for support {
        type Input = String;
        type Output = <Result<Answer, ShopError> as ::loom::__v1::StepResult>::Ok;
        type Error = <Result<Answer, ShopError> as ::loom::__v1::StepResult>::Err;
        const DESCRIPTOR: &'static ::loom::__v1::FlowDescriptor = __LOOM_DESCRIPTOR;
        fn run(
            __loom_ctx: ::loom::__v1::Ctx,
            __loom_input: Self::Input,
        ) -> ::loom::__v1::BoxFuture<
            'static,
            ::core::result::Result<Self::Output, Self::Error>,
        > {
            ::std::boxed::Box::pin(__loom_body(__loom_ctx, __loom_input))
        }
    }
    #[allow(
        clippy::explicit_counter_loop,
        clippy::too_many_arguments,
        clippy::unused_async
    )]
    async fn __loom_body(ctx: Ctx, number: String) -> Result<Answer, ShopError> {
        #[allow(unused_imports)]
        use ::loom::__v1::Seen as _;
        let __loom_near = ::core::clone::Clone::clone(&ctx);
        ctx.__at(
                {
                    #[allow(non_local_definitions)]
                    impl ::loom::__v1::NamedAt<0, ::loom::__v1::StepFn> for __LoomBody {
                        const IT: ::loom::__v1::StepFn = || {
                            ::loom::__v1::given(find_order).step()
                        };
                    }
                    &__LOOM_SITES[0]
                },
                &[],
            )
            .run(find_order(number))
            .__seen(|__loom_f| {
                {
                    use ::loom::__v1::Anything as _;
                    ::loom::__v1::Awaited(&__loom_f).kind().by_flow();
                }
                __loom_near.__near(::core::line!());
                __loom_f
            })
            .await
    }
    #[cfg(not(target_family = "wasm"))]
    #[::loom::__v1::linkme::distributed_slice(::loom::__v1::FLOWS_V1)]
    #[linkme(crate = ::loom::__v1::linkme)]
    static __LOOM_ELEMENT: &::loom::__v1::FlowDescriptor = __LOOM_DESCRIPTOR;
};
const _: () = {
    const __LOOM_DESCRIPTOR: &::loom::__v1::AgentDescriptor = &::loom::__v1::AgentDescriptor {
        flow: <support as ::loom::__v1::Flow>::DESCRIPTOR,
        instructions: "You answer customers.",
        model: ::core::option::Option::Some("small"),
        tools: &[<find_order as ::loom::__v1::Tool>::TOOL],
        skills: &[<RefundRules as ::loom::__v1::Skill>::DESCRIPTOR],
        max_turns: ::core::option::Option::Some(8u32),
        budget: ::loom::__v1::Budget {
            tokens: ::core::option::Option::Some(50000u64),
            usd_micros: ::core::option::Option::Some(250000u64),
        },
    };
    impl ::loom::__v1::Agent for support {
        const AGENT: &'static ::loom::__v1::AgentDescriptor = __LOOM_DESCRIPTOR;
    }
    #[cfg(not(target_family = "wasm"))]
    #[::loom::__v1::linkme::distributed_slice(::loom::__v1::AGENTS_V1)]
    #[linkme(crate = ::loom::__v1::linkme)]
    static __LOOM_ELEMENT: &::loom::__v1::AgentDescriptor = __LOOM_DESCRIPTOR;
};
