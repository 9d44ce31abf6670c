//! An expansion, written by the tests of the macros. Not compiled, and not to be edited.

/// Sell an order.
#[allow(dead_code)]
fn checkout(order: Order) -> ::loom::__v1::FlowCall<checkout> {
    checkout::__loom_call(order)
}
/// Sell an order.
#[allow(missing_docs, non_camel_case_types, unreachable_pub)]
enum checkout {}
#[allow(missing_docs, unreachable_pub)]
const _: () = {
    #[allow(unused_imports)]
    use ::loom::__v1::GivesOther as _;
    static __LOOM_SITES: [::loom::__v1::Site; 6] = [
        ::loom::__v1::Site {
            id: "reserve",
            line: ::core::line!(),
            column: ::core::column!(),
            file: ::core::file!(),
        },
        ::loom::__v1::Site {
            id: "manager",
            line: ::core::line!(),
            column: ::core::column!(),
            file: ::core::file!(),
        },
        ::loom::__v1::Site {
            id: "release",
            line: ::core::line!(),
            column: ::core::column!(),
            file: ::core::file!(),
        },
        ::loom::__v1::Site {
            id: "ship",
            line: ::core::line!(),
            column: ::core::column!(),
            file: ::core::file!(),
        },
        ::loom::__v1::Site {
            id: "notify",
            line: ::core::line!(),
            column: ::core::column!(),
            file: ::core::file!(),
        },
        ::loom::__v1::Site {
            id: "pay",
            line: ::core::line!(),
            column: ::core::column!(),
            file: ::core::file!(),
        },
    ];
    #[allow(dead_code)]
    struct __LoomBody;
    impl checkout {
        fn __loom_call(order: Order) -> ::loom::__v1::FlowCall<checkout> {
            ::loom::__v1::FlowCall::<checkout>::new(order)
        }
    }
    const __LOOM_DESCRIPTOR: &::loom::__v1::FlowDescriptor = &::loom::__v1::FlowDescriptor {
        name: "checkout",
        doc: "Sell an order.",
        location: ::loom::__v1::Location {
            file: ::core::file!(),
            line: ::core::line!(),
            column: ::core::column!(),
            module: ::core::module_path!(),
        },
        input: <::loom::__v1::Given<<checkout as ::loom::__v1::Flow>::Input>>::DATA,
        output: <::loom::__v1::Given<<checkout as ::loom::__v1::Flow>::Output>>::DATA,
        error: <::loom::__v1::Given<<checkout as ::loom::__v1::Flow>::Error>>::schema,
        versions: ::loom::__v1::InputVersions::FIRST,
        effects: ::core::option::Option::None,
        policies: &[],
        schedule: ::core::option::Option::None,
        run: ::loom::__v1::run_flow::<checkout>,
        gates: &[
            ::loom::__v1::GateDescriptor {
                name: "manager",
                id: "manager",
                answer: <__LoomBody as ::loom::__v1::NamedAt<
                    1,
                    ::loom::__v1::DataType,
                >>::IT,
                line: ::core::line!(),
            },
        ],
        messages: &[],
        graph: &[
            ::loom::__v1::Node::Step {
                id: "reserve",
                step: "reserve",
                line: ::core::line!(),
                column: ::core::column!(),
            },
            ::loom::__v1::Node::Branch {
                label: "order.qty > 100",
                arms: &[
                    ::loom::__v1::Arm {
                        label: "then",
                        body: &[
                            ::loom::__v1::Node::Gate {
                                id: "manager",
                                line: ::core::line!(),
                                column: ::core::column!(),
                            },
                            ::loom::__v1::Node::Branch {
                                label: "!answer.approved",
                                arms: &[
                                    ::loom::__v1::Arm {
                                        label: "then",
                                        body: &[
                                            ::loom::__v1::Node::Step {
                                                id: "release",
                                                step: "release",
                                                line: ::core::line!(),
                                                column: ::core::column!(),
                                            },
                                            ::loom::__v1::Node::Return {
                                                line: ::core::line!(),
                                                column: ::core::column!(),
                                            },
                                        ],
                                    },
                                ],
                                line: ::core::line!(),
                                column: ::core::column!(),
                            },
                        ],
                    },
                ],
                line: ::core::line!(),
                column: ::core::column!(),
            },
            ::loom::__v1::Node::Loop {
                label: "for line in &order.lines",
                name: ::core::option::Option::None,
                bound: ::loom::__v1::LoopBound::Bounded,
                head_ends: true,
                body: &[
                    ::loom::__v1::Node::Step {
                        id: "ship",
                        step: "ship",
                        line: ::core::line!(),
                        column: ::core::column!(),
                    },
                    ::loom::__v1::Node::Propagate {
                        line: ::core::line!(),
                        column: ::core::column!(),
                    },
                ],
                line: ::core::line!(),
                column: ::core::column!(),
            },
            ::loom::__v1::Node::Parallel {
                policy: ::core::option::Option::None,
                limit: ::core::option::Option::None,
                arms: &[
                    ::loom::__v1::Arm {
                        label: "notices",
                        body: &[
                            ::loom::__v1::Node::Loop {
                                label: "|line|",
                                name: ::core::option::Option::None,
                                bound: ::loom::__v1::LoopBound::Bounded,
                                head_ends: true,
                                body: &[
                                    ::loom::__v1::Node::Step {
                                        id: "notify",
                                        step: "notify",
                                        line: ::core::line!(),
                                        column: ::core::column!(),
                                    },
                                ],
                                line: ::core::line!(),
                                column: ::core::column!(),
                            },
                        ],
                    },
                ],
                line: ::core::line!(),
                column: ::core::column!(),
            },
            ::loom::__v1::Node::Part {
                id: "pay",
                part: "pay",
                line: ::core::line!(),
                column: ::core::column!(),
            },
        ],
        steps: &[
            ::loom::__v1::Callee {
                id: "reserve",
                it: <__LoomBody as ::loom::__v1::NamedAt<0, ::loom::__v1::StepFn>>::IT,
            },
            ::loom::__v1::Callee {
                id: "release",
                it: <__LoomBody as ::loom::__v1::NamedAt<2, ::loom::__v1::StepFn>>::IT,
            },
            ::loom::__v1::Callee {
                id: "ship",
                it: <__LoomBody as ::loom::__v1::NamedAt<3, ::loom::__v1::StepFn>>::IT,
            },
            ::loom::__v1::Callee {
                id: "notify",
                it: <__LoomBody as ::loom::__v1::NamedAt<4, ::loom::__v1::StepFn>>::IT,
            },
        ],
        children: &[],
        parts: &[
            ::loom::__v1::Callee {
                id: "pay",
                it: <__LoomBody as ::loom::__v1::NamedAt<5, ::loom::__v1::PartFn>>::IT,
            },
        ],
        fingerprint: 18434179976036922087u64,
    };
    impl ::loom::__v1::Flow for checkout {
        type Input = Order;
        type Output = <Result<Receipt, ShopError> as ::loom::__v1::StepResult>::Ok;
        type Error = <Result<Receipt, ShopError> as ::loom::__v1::StepResult>::Err;
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
    async fn __loom_body(ctx: Ctx, order: Order) -> Result<Receipt, ShopError> {
        #[allow(unused_imports)]
        use ::loom::__v1::Seen as _;
        let __loom_near = ::core::clone::Clone::clone(&ctx);
        let hold = ctx
            .__at(
                {
                    #[allow(non_local_definitions)]
                    impl ::loom::__v1::NamedAt<0, ::loom::__v1::StepFn> for __LoomBody {
                        const IT: ::loom::__v1::StepFn = || {
                            ::loom::__v1::given(reserve).step()
                        };
                    }
                    &__LOOM_SITES[0]
                },
                &[],
            )
            .run(reserve(order.sku.clone(), order.qty))
            .__seen(|__loom_f| {
                {
                    use ::loom::__v1::Anything as _;
                    ::loom::__v1::Awaited(&__loom_f).kind().by_flow();
                }
                __loom_near.__near(::core::line!());
                __loom_f
            })
            .await?;
        if order.qty > 100 {
            let answer = ctx
                .__at(
                    {
                        #[allow(non_local_definitions)]
                        impl ::loom::__v1::NamedAt<1, ::loom::__v1::DataType>
                        for __LoomBody {
                            const IT: ::loom::__v1::DataType = <::loom::__v1::Given<
                                Approval,
                            >>::DATA;
                        }
                        &__LOOM_SITES[1]
                    },
                    &[],
                )
                .suspend::<Approval>("manager")
                .timeout(days(3))
                .__seen(|__loom_f| {
                    {
                        use ::loom::__v1::Anything as _;
                        ::loom::__v1::Awaited(&__loom_f).kind().by_flow();
                    }
                    __loom_near.__near(::core::line!());
                    __loom_f
                })
                .await?;
            if !answer.approved {
                ctx.__at(
                        {
                            #[allow(non_local_definitions)]
                            impl ::loom::__v1::NamedAt<2, ::loom::__v1::StepFn>
                            for __LoomBody {
                                const IT: ::loom::__v1::StepFn = || {
                                    ::loom::__v1::given(release).step()
                                };
                            }
                            &__LOOM_SITES[2]
                        },
                        &[],
                    )
                    .run(release(hold))
                    .__seen(|__loom_f| {
                        {
                            use ::loom::__v1::Anything as _;
                            ::loom::__v1::Awaited(&__loom_f).kind().by_flow();
                        }
                        __loom_near.__near(::core::line!());
                        __loom_f
                    })
                    .await?;
                return Err(ShopError::Declined);
            }
        }
        {
            let mut __loom_n0: ::core::primitive::u64 = 0;
            for line in &order.lines {
                let __loom_i0: ::core::primitive::u64 = __loom_n0;
                __loom_n0 += 1;
                ctx.__at(
                        {
                            #[allow(non_local_definitions)]
                            impl ::loom::__v1::NamedAt<3, ::loom::__v1::StepFn>
                            for __LoomBody {
                                const IT: ::loom::__v1::StepFn = || {
                                    ::loom::__v1::given(ship).step()
                                };
                            }
                            &__LOOM_SITES[3]
                        },
                        &[__loom_i0],
                    )
                    .run(ship(line.clone()))
                    .__seen(|__loom_f| {
                        {
                            use ::loom::__v1::Anything as _;
                            ::loom::__v1::Awaited(&__loom_f).kind().by_flow();
                        }
                        __loom_near.__near(::core::line!());
                        __loom_f
                    })
                    .await?;
            }
        }
        let notices = order
            .lines
            .iter()
            .map(|line| {
                ctx
                    .__at(
                        {
                            #[allow(non_local_definitions)]
                            impl ::loom::__v1::NamedAt<4, ::loom::__v1::StepFn>
                            for __LoomBody {
                                const IT: ::loom::__v1::StepFn = || {
                                    ::loom::__v1::given(notify).step()
                                };
                            }
                            &__LOOM_SITES[4]
                        },
                        &[0],
                    )
                    .run(notify(line.clone()))
                    .key(&line.id)
            });
        join_all(notices)
            .__seen(|__loom_f| {
                {
                    use ::loom::__v1::Anything as _;
                    ::loom::__v1::Awaited(&__loom_f).kind().by_flow();
                }
                __loom_near.__near(::core::line!());
                __loom_f
            })
            .await;
        ctx.__at(
                {
                    #[allow(non_local_definitions)]
                    impl ::loom::__v1::NamedAt<5, ::loom::__v1::PartFn> for __LoomBody {
                        const IT: ::loom::__v1::PartFn = || {
                            ::loom::__v1::given(pay).part()
                        };
                    }
                    &__LOOM_SITES[5]
                },
                &[],
            )
            .part("pay", pay(order))
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
