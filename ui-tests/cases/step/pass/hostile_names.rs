//! Generated code names nothing by a path that a user could have taken.
#![allow(dead_code, unused_macros)]

mod hostile {
    struct Option;
    struct Result;
    struct String;
    struct Vec;
    struct Box;
    struct Some;
    struct None;
    struct Ok;
    struct Err;
    struct Default;
    struct Clone;
    struct Send;
    struct Sized;
    struct From;
    struct Into;
    struct Fn;
    struct Future;
    struct Duration;
    struct Input;
    struct Step;
    struct Site;
    struct Ctx;
    mod std {}
    mod core {}
    mod alloc {}
    mod loom {}
    mod serde {}
    mod schemars {}
    mod linkme {}
    macro_rules! panic { () => {} }
    macro_rules! line { () => {} }
    macro_rules! file { () => {} }

    #[derive(::loom::prelude::Failure, ::serde::Serialize, ::serde::Deserialize, ::schemars::JsonSchema)]
    #[schemars(crate = "::schemars")]
    enum Oops {
        Other,
        #[failure(retry_after = "1s")]
        Later { n: u32 },
        #[failure(engine)]
        Engine(::loom::prelude::EffectError),
    }

    #[::loom::prelude::step(retry(attempts = 2), timeout = "1s", effects("a"))]
    async fn work(
        stock: ::loom::prelude::Res<::std::string::String>,
        step: ::loom::prelude::StepCx,
        n: u32,
    ) -> ::core::result::Result<u32, Oops> {
        let _ = (&*stock, step);
        ::core::result::Result::Ok(n)
    }

    #[::loom::prelude::flow(part)]
    async fn piece(ctx: ::loom::prelude::Ctx, n: u32) -> ::core::result::Result<u32, Oops> {
        ctx.run(work(n)).await
    }

    #[::loom::prelude::flow]
    async fn whole(ctx: ::loom::prelude::Ctx, n: u32) -> ::core::result::Result<u32, Oops> {
        for _ in 0..n {
            ctx.run(work(n)).await?;
            while ctx.run(work(n)).id("again").await? > 3 {
                ctx.part("piece", piece(n)).await?;
            }
        }
        let _ = ctx.suspend::<bool>("gate").await;
        ctx.run(work(n)).id("last").await
    }
}

fn main() {}
