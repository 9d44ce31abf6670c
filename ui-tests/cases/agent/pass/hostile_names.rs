//! Generated code of all items names nothing by a path that a user could have taken.
#![allow(dead_code, unused_macros)]

mod hostile {
    struct Option;
    struct Result;
    struct String;
    struct Vec;
    struct Some;
    struct None;
    struct Ok;
    struct Err;
    struct Default;
    struct Fact;
    struct Value;
    struct Tool;
    struct Skill;
    struct Agent;
    struct Budget;
    struct Projection;
    struct Infallible;
    struct Policy;
    mod std {}
    mod core {}
    mod loom {}
    mod serde {}
    mod serde_json {}
    mod schemars {}
    mod linkme {}
    macro_rules! panic { () => {} }
    macro_rules! include_str { () => {} }
    macro_rules! line { () => {} }
    macro_rules! file { () => {} }

    #[::loom::prelude::event(name = "placed", version = 2, upcast(1 => same))]
    #[derive(::serde::Serialize, ::serde::Deserialize, ::schemars::JsonSchema)]
    #[schemars(crate = "::schemars")]
    struct Placed;

    fn same(old: ::serde_json::Value) -> ::serde_json::Value {
        old
    }

    /// Look up.
    #[::loom::prelude::tool(reads)]
    async fn look(n: u32) -> ::loom::Result<u32> {
        ::core::result::Result::Ok(n)
    }

    /// When.
    #[::loom::prelude::skill(file = "refunds.md")]
    struct Refunds;

    /// What.
    #[::loom::prelude::policy]
    const CAREFUL: ::loom::Policy = ::loom::Policy::new();

    /// Do.
    #[::loom::prelude::agent(
        model = "m", tools = [look], skills = [Refunds], max_turns = 1, budget(usd = 1), policies = [CAREFUL]
    )]
    async fn work(ctx: ::loom::prelude::Ctx) -> ::loom::Result<u32> {
        ctx.emit(&Placed);
        ctx.run(look(1)).await
    }

    #[derive(::core::default::Default, ::serde::Serialize, ::serde::Deserialize, ::schemars::JsonSchema)]
    #[schemars(crate = "::schemars")]
    struct Totals(u32);

    #[::loom::prelude::projection]
    impl Totals {
        #[on(Placed)]
        fn placed(&mut self, _: &Placed) {
            self.0 += 1;
        }

        #[on(step = look)]
        fn looked(&mut self, outcome: &::loom::Result<u32>) {
            self.0 += outcome.as_ref().copied().unwrap_or_default();
        }

        #[on(lifecycle)]
        fn changed(&mut self, _: ::loom::Status) {}
    }

    #[::loom::prelude::flow(schedule = "* * * * *")]
    async fn often(_: ::loom::prelude::Ctx) -> ::loom::Result<()> {
        ::core::result::Result::Ok(())
    }
}

fn main() {}
