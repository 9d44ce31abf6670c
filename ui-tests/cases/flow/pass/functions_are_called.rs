//! What is no call of a step is dropped and asked as ever, without a word.
#![deny(warnings)]

use loom::prelude::*;

fn checked(order: u32) -> loom::Result<u32> {
    if order == 0 { die() } else { Ok(order) }
}

fn die() -> ! {
    panic!("nothing was ordered")
}

fn any<T: Default>() -> Result<T, loom::Error> {
    Ok(T::default())
}

fn die_of(order: u32) -> ! {
    panic!("nobody eats {order}")
}

#[step]
async fn counted(order: u32) -> loom::Result<u32> {
    Ok(order)
}

fn eaten(_: String) {}

fn lent(order: &mut u32) -> &mut u32 {
    order
}

#[flow]
async fn checkout(ctx: Ctx, mut order: u32) -> loom::Result<u32> {
    let _ = ctx.now();
    let _ = checked(order);
    let _ = lent(&mut order);
    lent(&mut order);
    let defaulted: u32 = any()?;
    any::<u32>()?;
    drop(Box::new(checked(order)?));
    let local = |order: u32| checked(order + 1);
    local(order)?;
    if order > 999 {
        let _ = die();
    }
    let none = Option::Some(1).map(|n: u32| any::<u32>().map(|m| n + m));
    drop(none);
    if order > 99 {
        die();
    }
    let name = order.to_string();
    eaten(name);
    for line in 0..order {
        let name = line.to_string();
        eaten(name);
        if line > 9 {
            die_of(ctx.run(counted(line)).await?);
        }
    }
    Ok(defaulted)
}

fn main() {}
