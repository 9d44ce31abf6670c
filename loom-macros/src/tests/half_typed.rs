//! Items cut off at every token, as an editor sees them while somebody types: nothing panics, and
//! what the user has named so far stays in the output. Not a test of what the errors say.

use proc_macro2::{Group, TokenStream, TokenTree};
use quote::format_ident;

use crate::failure;
use crate::item::mentions;

use super::ATTRIBUTES;

/// One of everything, as somebody types it: attribute, arguments, item. Every item is called `sample`.
const SAMPLES: [(&str, &str, &str); 21] = [
    (
        "step",
        r#"retry(attempts = 5, initial = "200ms"), timeout = "10s", effects("http", "a.b"), crate = ::weft"#,
        STEP,
    ),
    ("step", "at_most_once", "async fn sample(r#type: String) -> Outcome { fail!(r#type); }"),
    (
        "step",
        "",
        "async fn sample<'a, T: Into<A>>(&self, (a, b): (&'a str, T)) -> impl Future where T: B { a[0]?; }",
    ),
    ("flow", "", FLOW),
    ("flow", "part", FLOW),
    (
        "flow",
        r#"schedule = "0 9 * * MON-FRI", time_zone = "Europe/Zurich", overlap = "queue", catch_up = "all within 6h", policies = [A, b::C]"#,
        FLOW,
    ),
    ("tool", r#"reads, effects("shop.read"), name = "find-order""#, STEP),
    (
        "tool",
        "",
        "/** Look up. */ #[allow(unused)] pub(crate) async fn sample(/** Of what? */ #[serde(default)] a: Option<A>) -> R { Ok(()) }",
    ),
    ("event", r#"name = "order.placed", version = 3, upcast(1 => from_v1, 2 => old::from_v2)"#, EVENT),
    (
        "event",
        r#"name = "order.placed""#,
        "/// Or.\n#[derive(A, B)] pub(crate) enum sample { #[serde(rename = \"a\")] A { b: Vec<(u8, C)> }, D([u8; 4]), E = 3 }",
    ),
    (
        "event",
        r#"name = "a", crate = ::weft"#,
        "struct sample(pub String, #[serde(skip)] Option<Box<sample>>);",
    ),
    (
        "test",
        r#"crash = "every-event", replay = "every-await", faults(seed = 7, runs = 100), crate = ::weft"#,
        "/// A.\n#[ignore] async fn sample(mut test: Test) { test.run(a(b)).await?; }",
    ),
    ("skill", r#"file = "refunds.md", name = "refunds""#, "/// When.\n#[derive(Clone)] pub struct sample;"),
    ("agent", AGENT_ARGS, FLOW),
    ("agent", AGENT_ARGS, "/// Do.\npub async fn sample(ctx: Ctx, input: In<A>) -> Result<Out, E>;"),
    (
        "agent",
        r#"model = "small", version = 3, upcast(1 => from_v1, 2 => old::from_v2), tools = []"#,
        "/// Do.\nasync fn sample(ctx: Ctx, lines: Vec<Line>) -> loom::Result<()> { ctx.run(ask(&lines)).await?; Ok(()) }",
    ),
    ("projection", r#"name = "totals", version = 2"#, PROJECTION),
    (
        "projection",
        "",
        "impl<T> Fold<T> for sample<T> where T: A { const N: usize = 1; type T = u8; fn a() -> u8 { 1 } other! { x } }",
    ),
    (
        "policy",
        r#"name = "careful", crate = ::weft"#,
        "/// Be.\npub const sample: Policy = Policy::new().deny(&[\"a.*\"]);",
    ),
    ("policy", "", "pub(crate) static sample: Policy = { const A: u8 = 1; Policy::new() };"),
    (
        "policy",
        "",
        "/// Be.\n#[cfg(x)] pub fn sample() -> Policy { if cfg!(y) { Policy::new() } else { other() } }",
    ),
];

const AGENT_ARGS: &str = r#"model = "small", tools = [refund, m::charge], skills = [Refunds], max_turns = 8,
    budget(tokens = 50_000, usd = 0.25), policies = [A], effects("http"), name = "x""#;

const STEP: &str = r#"
    /// Documented.
    pub async fn sample(stock: Res<Warehouse>, step: StepCx, mut order: Order<A, B>) -> Result<Hold, ShopError> {
        let hold = stock.hold(&order, |line| line.id.clone()).await?;
        Ok(Hold { hold, ..Default::default() })
    }"#;

const FLOW: &str = r#"
    pub async fn sample(ctx: Ctx, order: Order) -> Result<Receipt, ShopError> {
        let hold = ctx.run(reserve(order.sku.clone(), order.qty)).await?;
        if order.qty > 100 {
            let answer = ctx.suspend::<Approval>("manager").timeout(days(3)).await?;
            if !answer.approved { return Err(ShopError::Declined); }
        }
        'lines: for (n, line) in order.lines.iter().enumerate() {
            while let Some(more) = ctx.run(more(line.clone())).key(&line.id).await? {
                if more == n { continue 'lines; }
            }
        }
        let all = join_all(order.lines.iter().map(|line| ctx.run(ship(line)).key(&line.id))).await;
        let (a, b) = join!(ctx.part("pay", pay(order)), async move { ctx.sleep(days(1)).await });
        let picked = select! {
            x = ctx.receive::<u8>("topic"), if a => { x? }
            y = ctx.decide("way", || std::time::SystemTime::now()) => y,
            else => vec![1; 2],
        };
        match json!({ "a": [ctx.uuid()], "b": null }) {
            Some(x) if matches!(x, Ok(y) | Err(y)) => println!("{x} {}", ctx.random()),
            _ => loop { break 'lines },
        }
        ctx.run(charge(order)).id("last").await
    }"#;

const FAILURE: &str = r#"
    pub enum sample {
        /// Documented.
        #[failure(permanent)] Declined,
        #[failure(retry_after = "5s")] Busy { until: u64 },
        #[failure(engine)] Engine(EffectError),
    }"#;

const EVENT: &str = r#"
    /// Somebody bought something.
    #[derive(Clone, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    pub struct sample {
        /// What.
        pub sku: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lines: Option<Vec<Line<'static, 3>>>,
    }"#;

const PROJECTION: &str = r#"
    /// What was sold.
    impl shop::sample {
        #[on(OrderPlaced)]
        fn placed(&mut self, event: &OrderPlaced) {
            self.lines.extend(event.lines.iter().map(|line| line.clone()));
            match event.kind { Kind::A if event.qty > 3 => self.a += 1, _ => println!("{}", event.qty) }
        }
        #[on(step = billing::charge)]
        fn charged(&mut self, outcome: &Result<Receipt, ShopError>) { if let Ok(receipt) = outcome { self.earned += receipt.amount; } }
        #[on(lifecycle)]
        #[allow(unused)]
        fn changed(&mut self, status: Status) { self.status = Some(status) }
    }"#;

/// The stream cut off after each of its tokens, those within groups included.
fn prefixes(stream: &TokenStream) -> Vec<TokenStream> {
    let trees: Vec<TokenTree> = stream.clone().into_iter().collect();
    let mut cut = Vec::new();
    for end in 0..=trees.len() {
        let before: TokenStream = trees[..end].iter().cloned().collect();
        cut.push(before.clone());
        if let Some(TokenTree::Group(group)) = trees.get(end) {
            for inner in prefixes(&group.stream()) {
                let mut whole = before.clone();
                whole.extend([TokenTree::Group(Group::new(group.delimiter(), inner))]);
                cut.push(whole);
            }
        }
    }
    cut
}

fn keeps_the_name(source: &str, expand: impl Fn(TokenStream) -> TokenStream) {
    let name = format_ident!("sample");
    for cut in prefixes(&source.parse().expect("tokens")) {
        let named = mentions(&cut, &name);
        let expansion = expand(cut.clone());
        assert!(!named || mentions(&expansion, &name), "lost the name of: {cut}");
    }
}

fn of(attribute: &str) -> super::Macro {
    let (_, expand) = ATTRIBUTES.iter().find(|(name, _)| *name == attribute).expect("an attribute");
    *expand
}

#[test]
fn items() {
    for (attribute, _, item) in SAMPLES {
        keeps_the_name(item, |cut| of(attribute)(TokenStream::new(), cut));
    }
}

#[test]
fn items_below_their_arguments() {
    for (attribute, args, item) in SAMPLES {
        let args: TokenStream = args.parse().expect("tokens");
        keeps_the_name(item, |cut| of(attribute)(args.clone(), cut));
    }
}

#[test]
fn arguments() {
    let name = format_ident!("sample");
    for (attribute, args, item) in SAMPLES {
        let item: TokenStream = item.parse().expect("tokens");
        for cut in prefixes(&args.parse().expect("tokens")) {
            assert!(mentions(&of(attribute)(cut.clone(), item.clone()), &name), "{attribute}: {cut}");
        }
    }
}

/// A derive leaves the item alone, so that its output need not name it.
#[test]
fn failures() {
    for cut in prefixes(&FAILURE.parse().expect("tokens")) {
        failure::failure(cut);
    }
}
