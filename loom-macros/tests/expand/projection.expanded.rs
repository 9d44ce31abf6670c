//! An expansion, written by the tests of the macros. Not compiled, and not to be edited.

#[allow(unexpected_cfgs)]
const _: () = {
    #[cfg(rust_analyzer)]
    {
        #[allow(non_upper_case_globals, unused_imports)]
        mod __loom_projection {
            /// The name, when it is not the type's: `name = "totals"`.
            pub const name: () = ();
            /// The version of the state: `version = 2`. A stored state of another is folded anew.
            pub const version: () = ();
            use self::version as _;
        }
    }
};
/// What was sold.
impl Totals {
    fn placed(&mut self, event: &OrderPlaced) {
        self.placed += event.qty;
    }
    fn charged(&mut self, outcome: Result<Receipt, ShopError>) {
        self.earned += outcome.map_or(0, |receipt| receipt.amount);
    }
    fn changed(&mut self, status: Status) {
        self.over = status.is_terminal();
    }
}
const _: () = {
    #[allow(unused_imports)]
    use ::loom::__v1::GivesOther as _;
    const __LOOM_DESCRIPTOR: &::loom::__v1::ProjectionDescriptor = &::loom::__v1::ProjectionDescriptor {
        name: "totals",
        doc: "What was sold.",
        version: 2u32,
        location: ::loom::__v1::Location {
            file: ::core::file!(),
            line: ::core::line!(),
            column: ::core::column!(),
            module: ::core::module_path!(),
        },
        state: <::loom::__v1::Given<Totals>>::schema,
        events: &[::loom::__v1::event::<OrderPlaced>()],
        steps: &[<charge as ::loom::__v1::Step>::DESCRIPTOR],
        lifecycle: true,
        fingerprint: 18380525986652544575u64,
        project: ::loom::__v1::project_as_json::<Totals>,
    };
    #[automatically_derived]
    impl ::loom::__v1::Projection for Totals {
        const DESCRIPTOR: &'static ::loom::__v1::ProjectionDescriptor = __LOOM_DESCRIPTOR;
        fn fold(
            &mut self,
            __loom_fact: &::loom::__v1::Fact<'_>,
        ) -> ::core::result::Result<(), ::loom::__v1::FoldError> {
            if let ::core::option::Option::Some(__loom_it) = <::loom::__v1::Given<
                OrderPlaced,
            >>::event(__loom_fact)? {
                Self::placed(
                    self,
                    ::loom::__v1::Held(&__loom_it).borrowed::<&OrderPlaced>(),
                );
                return ::core::result::Result::Ok(());
            }
            if let ::core::option::Option::Some(__loom_it) = <charge as ::loom::__v1::Step>::__of_fact(
                __loom_fact,
            )? {
                Self::charged(
                    self,
                    ::loom::__v1::Held(__loom_it).owned::<Result<Receipt, ShopError>>(),
                );
                return ::core::result::Result::Ok(());
            }
            if let ::core::option::Option::Some(__loom_it) = ::loom::__v1::Fact::status(
                __loom_fact,
            ) {
                Self::changed(self, ::loom::__v1::Held(__loom_it).owned::<Status>());
                return ::core::result::Result::Ok(());
            }
            ::core::result::Result::Ok(())
        }
    }
    #[cfg(not(target_family = "wasm"))]
    #[::loom::__v1::linkme::distributed_slice(::loom::__v1::PROJECTIONS_V1)]
    #[linkme(crate = ::loom::__v1::linkme)]
    static __LOOM_ELEMENT: &::loom::__v1::ProjectionDescriptor = __LOOM_DESCRIPTOR;
};
