//! An event with two older versions.

/// Somebody bought something.
#[event(name = "order.placed", version = 3, upcast(1 => from_v1, 2 => old::from_v2))]
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct OrderPlaced {
    pub sku: String,
    pub qty: u32,
}
