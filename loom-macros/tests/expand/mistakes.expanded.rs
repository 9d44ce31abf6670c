//! An expansion, written by the tests of the macros. Not compiled, and not to be edited.

::core::compile_error! {
    "[L0201] the flow `checkout` is not an `async fn`\nhelp: write `async fn checkout`"
}
::core::compile_error! {
    "[L0203] a flow has one input, whose JSON starts it\nhelp: put the inputs into a struct: `async fn f(ctx: Ctx, input: Input)`"
}
#[allow(dead_code)]
fn checkout(order: Order, coupon: Coupon) -> ::loom::__v1::FlowCall<checkout> {
    let _ = order;
    let _ = coupon;
    ::core::panic!("this item did not compile")
}
#[allow(missing_docs, non_camel_case_types, unreachable_pub)]
enum checkout {}
#[allow(missing_docs, unused, clippy::all)]
const _: () = {
    impl ::loom::__v1::Flow for checkout {
        type Input = ();
        type Output = <Result<Receipt, ShopError> as ::loom::__v1::StepResult>::Ok;
        type Error = <Result<Receipt, ShopError> as ::loom::__v1::StepResult>::Err;
        const DESCRIPTOR: &'static ::loom::__v1::FlowDescriptor = ::loom::__v1::stub::FLOW;
        const CEILING: ::core::option::Option<
            &'static [&'static ::core::primitive::str],
        > = ::core::option::Option::Some(&[]);
        fn run(
            _: ::loom::__v1::Ctx,
            _: Self::Input,
        ) -> ::loom::__v1::BoxFuture<
            'static,
            ::core::result::Result<Self::Output, Self::Error>,
        > {
            ::core::panic!("this flow did not compile")
        }
    }
    #[allow(
        clippy::explicit_counter_loop,
        clippy::too_many_arguments,
        clippy::unused_async
    )]
    async fn __loom_body(
        ctx: Ctx,
        order: Order,
        coupon: Coupon,
    ) -> Result<Receipt, ShopError> {
        let started = SystemTime::now();
        ctx.run(charge(order)).await
    }
    const _: fn() = || {
        use ::loom::__v1::AnyFunction as _;
        ::loom::__v1::clock(
                ::loom::__v1::Named(&SystemTime::now, &::std::time::SystemTime::now)
                    .kind(),
                SystemTime::now,
            )
            .0;
    };
};
