//! Which database has which slot, as last seen.
//! Not the truth: the databases are, and they refuse what comes with an old map.

use loom_runtime::ports::{Place, SLOTS, Slot, Standing};

/// Where every slot is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Map(Vec<Option<Home>>);

/// The database that has a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Home {
    pub(crate) member: usize,
    pub(crate) epoch: u64,
}

impl Map {
    /// From the places in every database; `None` for one that did not answer, and `names` in the same order.
    pub(crate) fn of(places: &[Option<Vec<Place>>], names: &[&str]) -> Self {
        let home = |slot: u16| {
            let at = |places: &Option<Vec<Place>>| places.as_ref()?.get(usize::from(slot)).cloned();
            let claims = places.iter().map(at).enumerate();
            let claims = claims.filter_map(|(member, place)| Some((member, place?)));
            let (member, place) = claims
                .filter(|(_, place)| matches!(place.standing, Standing::Here | Standing::Leaving))
                .max_by_key(|(_, place)| place.epoch)?;
            // It may have arrived where nobody answers.
            let is_hidden = |peer: &String| {
                names.iter().position(|name| name == peer).is_none_or(|peer| places[peer].is_none())
            };
            let unsure = place.standing == Standing::Leaving && is_hidden(&place.peer);
            (!unsure).then_some(Home { member, epoch: place.epoch })
        };
        Self((0..SLOTS).map(home).collect())
    }

    /// Who has a slot, as far as was seen.
    pub(crate) fn home(&self, slot: Slot) -> Option<Home> {
        self.0.get(usize::from(slot.number())).copied().flatten()
    }

    /// Whether a database has the slot of this id.
    pub(crate) fn has(&self, member: usize, id: &str) -> bool {
        self.home(Slot::of(id)).is_some_and(|home| home.member == member)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(standing: Standing, epoch: u64, peer: &str) -> Option<Vec<Place>> {
        Some(vec![Place { standing, epoch, peer: peer.into(), mover: String::new() }])
    }

    fn home(places: &[Option<Vec<Place>>]) -> Option<usize> {
        let first = Slot::all().next().expect("there is one");
        Map::of(places, &["a", "b"]).home(first).map(|home| home.member)
    }

    #[test]
    fn a_slot_is_where_its_epoch_is_highest() {
        use Standing::{Away, Coming, Here, Leaving};
        assert_eq!(home(&[place(Here, 1, ""), place(Away, 0, "")]), Some(0));
        assert_eq!(home(&[place(Here, 1, ""), place(Coming, 2, "a")]), Some(0));
        assert_eq!(home(&[place(Leaving, 1, "b"), place(Coming, 2, "a")]), Some(0));
        assert_eq!(home(&[place(Leaving, 1, "b"), place(Here, 2, "")]), Some(1));
        assert_eq!(home(&[place(Away, 2, ""), place(Here, 2, "")]), Some(1));
    }

    #[test]
    fn what_may_have_arrived_where_nobody_answers_is_nowhere() {
        assert_eq!(home(&[place(Standing::Leaving, 1, "b"), None]), None);
        assert_eq!(home(&[place(Standing::Leaving, 1, "c"), place(Standing::Away, 0, "")]), None);
        assert_eq!(home(&[place(Standing::Here, 1, ""), None]), Some(0));
        assert_eq!(home(&[place(Standing::Away, 1, ""), None]), None);
    }
}
