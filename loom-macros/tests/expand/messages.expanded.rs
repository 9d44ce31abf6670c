//! An expansion, written by the tests of the macros. Not compiled, and not to be edited.

/// Keep an account.
#[allow(dead_code)]
fn account() -> ::loom::__v1::FlowCall<account> {
    account::__loom_call()
}
/// Keep an account.
#[allow(missing_docs, non_camel_case_types, unreachable_pub)]
enum account {}
#[allow(missing_docs, unreachable_pub)]
const _: () = {
    #[allow(unused_imports)]
    use ::loom::__v1::GivesOther as _;
    static __LOOM_SITES: [::loom::__v1::Site; 2] = [
        ::loom::__v1::Site {
            id: "deposit",
            line: ::core::line!(),
            column: ::core::column!(),
            file: ::core::file!(),
        },
        ::loom::__v1::Site {
            id: "close",
            line: ::core::line!(),
            column: ::core::column!(),
            file: ::core::file!(),
        },
    ];
    #[allow(dead_code)]
    struct __LoomBody;
    impl account {
        fn __loom_call() -> ::loom::__v1::FlowCall<account> {
            ::loom::__v1::FlowCall::<account>::new(())
        }
    }
    const __LOOM_DESCRIPTOR: &::loom::__v1::FlowDescriptor = &::loom::__v1::FlowDescriptor {
        name: "account",
        doc: "Keep an account.",
        location: ::loom::__v1::Location {
            file: ::core::file!(),
            line: ::core::line!(),
            column: ::core::column!(),
            module: ::core::module_path!(),
        },
        input: <::loom::__v1::Given<<account as ::loom::__v1::Flow>::Input>>::DATA,
        output: <::loom::__v1::Given<<account as ::loom::__v1::Flow>::Output>>::DATA,
        error: <::loom::__v1::Given<<account as ::loom::__v1::Flow>::Error>>::schema,
        versions: ::loom::__v1::InputVersions::FIRST,
        effects: ::core::option::Option::None,
        policies: &[],
        schedule: ::core::option::Option::None,
        run: ::loom::__v1::run_flow::<account>,
        gates: &[],
        messages: &[
            ::loom::__v1::MessageDescriptor {
                name: "deposit",
                body: <__LoomBody as ::loom::__v1::NamedAt<
                    0,
                    ::loom::__v1::DataType,
                >>::IT,
                reply: ::core::option::Option::Some(
                    <__LoomBody as ::loom::__v1::NamedAt<0, ::loom::__v1::SchemaFn>>::IT,
                ),
                line: ::core::line!(),
            },
            ::loom::__v1::MessageDescriptor {
                name: "close",
                body: <__LoomBody as ::loom::__v1::NamedAt<
                    1,
                    ::loom::__v1::DataType,
                >>::IT,
                reply: ::core::option::Option::None,
                line: ::core::line!(),
            },
        ],
        graph: &[
            ::loom::__v1::Node::Message {
                id: "deposit",
                line: ::core::line!(),
                column: ::core::column!(),
            },
            ::loom::__v1::Node::Message {
                id: "close",
                line: ::core::line!(),
                column: ::core::column!(),
            },
        ],
        steps: &[],
        children: &[],
        parts: &[],
        fingerprint: 17516250579245162552u64,
    };
    impl ::loom::__v1::Flow for account {
        type Input = ();
        type Output = <loom::Result<u32> as ::loom::__v1::StepResult>::Ok;
        type Error = <loom::Result<u32> as ::loom::__v1::StepResult>::Err;
        const DESCRIPTOR: &'static ::loom::__v1::FlowDescriptor = __LOOM_DESCRIPTOR;
        fn run(
            __loom_ctx: ::loom::__v1::Ctx,
            __loom_input: Self::Input,
        ) -> ::loom::__v1::BoxFuture<
            'static,
            ::core::result::Result<Self::Output, Self::Error>,
        > {
            ::std::boxed::Box::pin(__loom_body(__loom_ctx))
        }
    }
    #[allow(
        clippy::explicit_counter_loop,
        clippy::too_many_arguments,
        clippy::unused_async
    )]
    async fn __loom_body(ctx: Ctx) -> loom::Result<u32> {
        #[allow(unused_imports)]
        use ::loom::__v1::Seen as _;
        let __loom_near = ::core::clone::Clone::clone(&ctx);
        let deposit = ctx
            .__at(
                {
                    #[allow(non_local_definitions)]
                    impl ::loom::__v1::NamedAt<0, ::loom::__v1::DataType>
                    for __LoomBody {
                        const IT: ::loom::__v1::DataType = <::loom::__v1::Given<
                            u32,
                        >>::DATA;
                    }
                    #[allow(non_local_definitions)]
                    impl ::loom::__v1::NamedAt<0, ::loom::__v1::SchemaFn>
                    for __LoomBody {
                        const IT: ::loom::__v1::SchemaFn = <::loom::__v1::Given<
                            Balance,
                        >>::schema;
                    }
                    &__LOOM_SITES[0]
                },
                &[],
            )
            .receive::<u32>("deposit")
            .update::<Balance>()
            .__seen(|__loom_f| {
                {
                    use ::loom::__v1::Anything as _;
                    ::loom::__v1::Awaited(&__loom_f).kind().by_flow();
                }
                __loom_near.__near(::core::line!());
                __loom_f
            })
            .await;
        deposit.accept(&Balance::of(1));
        Ok(
            ctx
                .__at(
                    {
                        #[allow(non_local_definitions)]
                        impl ::loom::__v1::NamedAt<1, ::loom::__v1::DataType>
                        for __LoomBody {
                            const IT: ::loom::__v1::DataType = <::loom::__v1::Given<
                                bank::Word,
                            >>::DATA;
                        }
                        &__LOOM_SITES[1]
                    },
                    &[],
                )
                .receive::<bank::Word>("close")
                .timeout(days(1))
                .__seen(|__loom_f| {
                    {
                        use ::loom::__v1::Anything as _;
                        ::loom::__v1::Awaited(&__loom_f).kind().by_flow();
                    }
                    __loom_near.__near(::core::line!());
                    __loom_f
                })
                .await
                .last,
        )
    }
    #[cfg(not(target_family = "wasm"))]
    #[::loom::__v1::linkme::distributed_slice(::loom::__v1::FLOWS_V1)]
    #[linkme(crate = ::loom::__v1::linkme)]
    static __LOOM_ELEMENT: &::loom::__v1::FlowDescriptor = __LOOM_DESCRIPTOR;
};
