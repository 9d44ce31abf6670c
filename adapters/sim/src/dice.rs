//! Chance that a seed decides: SplitMix64 (Steele, Lea and Flood, 2014), written out so that it is the same in every version.
//! Not secret, nor good.

/// The same seed, the same throws.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Of this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Of this seed and a place: what happens elsewhere changes nothing here.
    pub fn at(seed: u64, place: &str) -> Self {
        // FNV-1a.
        let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Self(place.bytes().fold(seed ^ 0xcbf2_9ce4_8422_2325, fold))
    }

    /// Any number.
    pub fn any(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.any() % end.max(1)
    }

    /// Whether it happens that happens so often in a thousand.
    pub fn in_a_thousand(&mut self, often: u64) -> bool {
        self.below(1_000) < often
    }
}
