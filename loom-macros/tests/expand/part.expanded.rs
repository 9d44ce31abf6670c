//! An expansion, written by the tests of the macros. Not compiled, and not to be edited.

#[allow(unexpected_cfgs)]
const _: () = {
    #[cfg(rust_analyzer)]
    {
        #[allow(non_upper_case_globals, unused_imports)]
        mod __loom_flow {
            /// A part of flows rather than one: `part`.
            pub const part: () = ();
            /// The ceiling of effect classes: `effects("http", "mail.*")`.
            pub const effects: () = ();
            /// The policies that it is held to: `policies = [READ_ONLY]`.
            pub const policies: () = ();
            /// When it is started by itself, a cron expression: `schedule = "0 9 * * MON-FRI"`.
            pub const schedule: () = ();
            /// In whose local time that is read: `time_zone = "Europe/Zurich"`.
            pub const time_zone: () = ();
            /// What happens when a run is due while another goes on: `overlap = "queue"`.
            pub const overlap: () = ();
            /// What happens to instants that were missed: `catch_up = "all within 6h"`.
            pub const catch_up: () = ();
            /// The version of its input's shape as it is: `version = 2`.
            pub const version: () = ();
            /// What reads inputs of older versions: `upcast(1 => from_v1)`.
            pub const upcast: () = ();
            /// The name in logs, when it is not the function's: `name = "check-out"`.
            pub const name: () = ();
            use self::part as _;
        }
    }
};
/// Take the money, or ask again until somebody pays.
#[allow(dead_code)]
fn pay(order: Order) -> ::loom::__v1::PartCall<Result<Receipt, ShopError>, pay> {
    pay::__loom_call(order)
}
/// Take the money, or ask again until somebody pays.
#[allow(missing_docs, non_camel_case_types, unreachable_pub)]
enum pay {}
#[allow(missing_docs, unreachable_pub)]
const _: () = {
    #[allow(unused_imports)]
    use ::loom::__v1::GivesOther as _;
    static __LOOM_SITES: [::loom::__v1::Site; 3] = [
        ::loom::__v1::Site {
            id: "is_unpaid",
            line: ::core::line!(),
            column: ::core::column!(),
            file: ::core::file!(),
        },
        ::loom::__v1::Site {
            id: "sleep",
            line: ::core::line!(),
            column: ::core::column!(),
            file: ::core::file!(),
        },
        ::loom::__v1::Site {
            id: "charge",
            line: ::core::line!(),
            column: ::core::column!(),
            file: ::core::file!(),
        },
    ];
    #[allow(dead_code)]
    struct __LoomBody;
    impl pay {
        fn __loom_call(
            order: Order,
        ) -> ::loom::__v1::PartCall<Result<Receipt, ShopError>, pay> {
            ::loom::__v1::PartCall::new(move |__loom_ctx: ::loom::__v1::Ctx| ::std::boxed::Box::pin(
                __loom_body(__loom_ctx, order),
            ))
        }
    }
    impl ::loom::__v1::Part for pay {
        const DESCRIPTOR: &'static ::loom::__v1::PartDescriptor = &::loom::__v1::PartDescriptor {
            name: "pay",
            location: ::loom::__v1::Location {
                file: ::core::file!(),
                line: ::core::line!(),
                column: ::core::column!(),
                module: ::core::module_path!(),
            },
            effects: ::core::option::Option::None,
            gates: &[],
            messages: &[],
            graph: &[
                ::loom::__v1::Node::Loop {
                    label: "while ctx.run(is_unpaid(order.id)).awai…",
                    name: ::core::option::Option::None,
                    bound: ::loom::__v1::LoopBound::Unknown,
                    head_ends: true,
                    body: &[
                        ::loom::__v1::Node::Step {
                            id: "is_unpaid",
                            step: "is_unpaid",
                            line: ::core::line!(),
                            column: ::core::column!(),
                        },
                        ::loom::__v1::Node::Propagate {
                            line: ::core::line!(),
                            column: ::core::column!(),
                        },
                        ::loom::__v1::Node::Timer {
                            id: "sleep",
                            line: ::core::line!(),
                            column: ::core::column!(),
                        },
                    ],
                    line: ::core::line!(),
                    column: ::core::column!(),
                },
                ::loom::__v1::Node::Step {
                    id: "charge",
                    step: "charge",
                    line: ::core::line!(),
                    column: ::core::column!(),
                },
            ],
            steps: &[
                ::loom::__v1::Callee {
                    id: "is_unpaid",
                    it: <__LoomBody as ::loom::__v1::NamedAt<
                        0,
                        ::loom::__v1::StepFn,
                    >>::IT,
                },
                ::loom::__v1::Callee {
                    id: "charge",
                    it: <__LoomBody as ::loom::__v1::NamedAt<
                        2,
                        ::loom::__v1::StepFn,
                    >>::IT,
                },
            ],
            children: &[],
            parts: &[],
            fingerprint: 5042343265880850684u64,
        };
    }
    #[allow(
        clippy::explicit_counter_loop,
        clippy::too_many_arguments,
        clippy::unused_async
    )]
    async fn __loom_body(ctx: Ctx, order: Order) -> Result<Receipt, ShopError> {
        #[allow(unused_imports)]
        use ::loom::__v1::Seen as _;
        let __loom_near = ::core::clone::Clone::clone(&ctx);
        {
            let mut __loom_n0: ::core::primitive::u64 = 0;
            while ctx
                .__at(
                    {
                        #[allow(non_local_definitions)]
                        impl ::loom::__v1::NamedAt<0, ::loom::__v1::StepFn>
                        for __LoomBody {
                            const IT: ::loom::__v1::StepFn = || {
                                ::loom::__v1::given(is_unpaid).step()
                            };
                        }
                        &__LOOM_SITES[0]
                    },
                    &[__loom_n0],
                )
                .run(is_unpaid(order.id))
                .__seen(|__loom_f| {
                    {
                        use ::loom::__v1::Anything as _;
                        ::loom::__v1::Awaited(&__loom_f).kind().by_flow();
                    }
                    __loom_near.__near(::core::line!());
                    __loom_f
                })
                .await?
            {
                let __loom_i0: ::core::primitive::u64 = __loom_n0;
                __loom_n0 += 1;
                ctx.__at(&__LOOM_SITES[1], &[__loom_i0])
                    .sleep(days(1))
                    .__seen(|__loom_f| {
                        {
                            use ::loom::__v1::Anything as _;
                            ::loom::__v1::Awaited(&__loom_f).kind().by_flow();
                        }
                        __loom_near.__near(::core::line!());
                        __loom_f
                    })
                    .await;
            }
        }
        ctx.__at(
                {
                    #[allow(non_local_definitions)]
                    impl ::loom::__v1::NamedAt<2, ::loom::__v1::StepFn> for __LoomBody {
                        const IT: ::loom::__v1::StepFn = || {
                            ::loom::__v1::given(charge).step()
                        };
                    }
                    &__LOOM_SITES[2]
                },
                &[],
            )
            .run(charge(order))
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
};
