//! A `select!` by its bare name is made biased, whichever was imported, but for that of futures, which never is. What the body imports itself is known by its path.

mod in_the_file {
    use futures_util::{FutureExt as _, select};
    use loom::prelude::{Ctx, days, flow};

    #[flow]
    async fn checkout(ctx: Ctx) -> loom::Result<bool> {
        let (mut answer, mut late) =
            (ctx.suspend::<bool>("manager").into_future().fuse(), ctx.sleep(days(1)).into_future().fuse());
        select! {
            answer = answer => Ok::<bool, loom::Error>(answer?),
            () = late => Ok(false),
        }
    }
}

mod in_the_body {
    use loom::prelude::{Ctx, days, flow};

    #[flow]
    async fn checkout(ctx: Ctx) -> loom::Result<bool> {
        use tokio::select;
        select! {
            answer = ctx.suspend::<bool>("manager") => Ok::<bool, loom::Error>(answer?),
            () = ctx.sleep(days(1)) => Ok(false),
        }
    }
}

fn main() {}
