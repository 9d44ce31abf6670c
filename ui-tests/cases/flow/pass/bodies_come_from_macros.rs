//! A macro of the user's own may be given the body of what it makes.
#![deny(warnings)]

use loom::prelude::*;

macro_rules! stepped {
    ($name:ident, $body:block) => {
        #[step]
        async fn $name() -> loom::Result<u32> $body
    };
}

macro_rules! flowing {
    ($name:ident, $ctx:ident, $body:block) => {
        #[flow]
        async fn $name($ctx: Ctx) -> loom::Result<u32> $body
    };
}

stepped!(one, { Ok(1) });
flowing!(counts, ctx, { ctx.run(one()).await });

fn main() {}
