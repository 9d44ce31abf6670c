//! Types of the user's own that are called as primitive ones are no matter to generated code.
#![allow(dead_code, non_camel_case_types)]

mod hostile {
    struct str;
    struct bool;
    struct u32;
    struct usize;
    struct u64;

    use super::Happened;
    use ::loom::prelude::*;

    #[flow(part)]
    async fn piece(ctx: Ctx) -> loom::Result<()> {
        ctx.sleep(days(1)).await;
        Ok(())
    }

    #[flow]
    async fn whole(ctx: Ctx) -> loom::Result<()> {
        for n in 0..3 {
            ctx.part("piece", piece()).await?;
            let _ = ctx.suspend::<String>("gate").key(n).await?;
        }
        while ctx.decide("again", || ctx_less()).await {
            ctx.emit(&Happened);
        }
        Ok(())
    }

    fn ctx_less() -> ::core::primitive::bool {
        false
    }

    #[policy]
    pub const CAREFUL: Policy = Policy::new();

    #[projection]
    impl super::Totals {
        #[on(Happened)]
        fn happened(&mut self, _: &Happened) {}
        #[on(lifecycle)]
        fn changed(&mut self, _: loom::Status) {}
    }
}

#[derive(Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Totals(u64);

#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[loom::event(name = "happened")]
struct Happened;

fn main() {}
