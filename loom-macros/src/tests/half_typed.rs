//! Items cut off at every token, as an editor sees them while somebody types: nothing panics, and
//! what the user has named so far stays in the output. Not a test of what the errors say.

use proc_macro2::{Group, TokenStream, TokenTree};
use quote::format_ident;

use crate::item::mentions;
use crate::{failure, flow, step};

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

#[test]
fn steps() {
    keeps_the_name(STEP, |item| step::step(TokenStream::new(), item));
}

#[test]
fn flows_and_parts() {
    keeps_the_name(FLOW, |item| flow::flow(TokenStream::new(), item));
    let part: TokenStream = "part".parse().expect("tokens");
    keeps_the_name(FLOW, |item| flow::flow(part.clone(), item));
}

/// A derive leaves the item alone, so that its output need not name it.
#[test]
fn failures() {
    for cut in prefixes(&FAILURE.parse().expect("tokens")) {
        failure::failure(cut);
    }
}

#[test]
fn arguments() {
    let item: TokenStream = STEP.parse().expect("tokens");
    let args =
        r#"retry(attempts = 5, initial = "200ms"), timeout = "10s", effects("http", "a.b"), crate = ::weft"#;
    let name = format_ident!("sample");
    for cut in prefixes(&args.parse().expect("tokens")) {
        assert!(mentions(&step::step(cut.clone(), item.clone()), &name), "{cut}");
        assert!(mentions(&flow::flow(cut.clone(), item.clone()), &name), "{cut}");
    }
}
