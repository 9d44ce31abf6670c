//! An expansion, written by the tests of the macros. Not compiled, and not to be edited.

#[allow(unexpected_cfgs)]
const _: () = {
    #[cfg(rust_analyzer)]
    {
        #[allow(non_upper_case_globals, unused_imports)]
        mod __loom_test {
            /// Where the process dies, once in each run: `crash = "every-event"`.
            pub const crash: () = ();
            /// Where flows are thrown away and rebuilt from their logs: `replay = "every-await"`.
            pub const replay: () = ();
            /// How often the test runs under random faults, from which seed on: `faults(seed = 7, runs = 100)`.
            pub const faults: () = ();
            use self::{crash as _, faults as _};
        }
        #[allow(non_upper_case_globals, unused_imports)]
        mod __loom_test_faults {
            /// The seed of the first run; the next one has the next: `seed = 7`.
            pub const seed: () = ();
            /// How many runs there are: `runs = 100`.
            pub const runs: () = ();
            use self::{seed as _, runs as _};
        }
    }
};
/// An order survives.
#[ignore = "slow"]
#[::core::prelude::v1::test]
fn an_order_survives() {
    #[allow(clippy::unused_async, unreachable_code)]
    async fn __loom_body(mut test: Test) -> ::loom::testing::__v1::Result<()> {
        {
            test.answer("approval", true);
            assert_eq!(test.run(checkout(30)). await ?, 30);
        }
        ::core::result::Result::Ok(())
    }
    ::loom::testing::__v1::run(
        &::loom::testing::__v1::Plan {
            name: ::core::concat!(
                ::core::module_path!(), "::", ::core::stringify!(an_order_survives)
            ),
            folder: ::core::env!("CARGO_MANIFEST_DIR"),
            crash: true,
            replay: false,
            faults: ::core::option::Option::Some((7u64, 20u32)),
        },
        |__loom_test| ::std::boxed::Box::pin(async move {
            ::loom::testing::__v1::Ends::ended(__loom_body(__loom_test).await)
        }),
    );
}
