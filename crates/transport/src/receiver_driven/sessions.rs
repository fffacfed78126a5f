//! Table of sessions. Slots are used again, but keys are not.

use crate::tcp::timers::TimerKey;
use alloc::vec::Vec;

/// Identifier of a session: its slot, and the number of sessions that used the slot before.
pub(crate) type SessionKey = TimerKey;

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    session: Option<T>,
}

/// Table of sessions.
#[derive(Debug)]
pub(crate) struct Sessions<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

impl<T> Sessions<T> {
    pub(crate) const fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }

    pub(crate) fn insert(&mut self, session: T) -> SessionKey {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot {
                generation: 0,
                session: None,
            });
            (self.slots.len() - 1) as u32
        });
        let place = &mut self.slots[slot as usize];
        place.session = Some(session);
        SessionKey {
            slot,
            generation: place.generation,
        }
    }

    /// Returns the session in a slot, and its key, if the slot is in use.
    #[inline]
    pub(crate) fn at(&mut self, slot: u32) -> Option<(SessionKey, &mut T)> {
        let place = self.slots.get_mut(slot as usize)?;
        let key = SessionKey {
            slot,
            generation: place.generation,
        };
        Some((key, place.session.as_mut()?))
    }

    /// Returns the session in a slot without its key, for reading, if the slot is in use.
    pub(crate) fn peek(&self, slot: u32) -> Option<&T> {
        self.slots.get(slot as usize)?.session.as_ref()
    }

    pub(crate) fn get(&self, key: SessionKey) -> Option<&T> {
        let place = self.slots.get(key.slot as usize)?;
        place
            .session
            .as_ref()
            .filter(|_| place.generation == key.generation)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, key: SessionKey) -> Option<&mut T> {
        let place = self.slots.get_mut(key.slot as usize)?;
        if place.generation != key.generation {
            return None;
        }
        place.session.as_mut()
    }

    pub(crate) fn remove(&mut self, key: SessionKey) -> Option<T> {
        self.get_mut(key)?;
        let place = &mut self.slots[key.slot as usize];
        // The old key becomes invalid.
        place.generation = place.generation.wrapping_add(1);
        self.free.push(key.slot);
        place.session.take()
    }

    /// Returns the key of the first session for which `is` returns `true`. Searches all sessions.
    pub(crate) fn find(&self, is: impl Fn(&T) -> bool) -> Option<SessionKey> {
        let holds = |slot: &Slot<T>| slot.session.as_ref().is_some_and(&is);
        let slot = self.slots.iter().position(holds)?;
        Some(SessionKey {
            slot: slot as u32,
            generation: self.slots[slot].generation,
        })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().filter_map(|slot| slot.session.as_ref())
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_outlives_its_session_without_naming_the_next_one() {
        let mut sessions = Sessions::new();
        let first = sessions.insert('a');
        assert_eq!(sessions.remove(first), Some('a'));
        let second = sessions.insert('b');
        assert_eq!(second.slot, first.slot, "the slot is used again");
        assert_eq!(sessions.get_mut(first), None);
        assert_eq!(sessions.remove(first), None);
        assert_eq!(sessions.get_mut(second), Some(&mut 'b'));
        assert_eq!(sessions.len(), 1);
    }
}
