//! Ties: the order of events that happen at the same time.
//!
//! With equal rates, packets of different senders arrive at exactly the same picosecond again and again.
//! If the numbers of entities decided the order, the same sender would always get the last space in a queue.
//! The order is therefore drawn at random for each instant, from the seed, the time and the entity.
//! The draw does not depend on pending events, slots of packets, threads or the width of days.
//!
//! In the event's key, the draw occupies the bits of the entity between class and number.
//! The comparison of two keys therefore has the same cost as without draws.

use super::event::Event;
use tailcut_units::{Time, stream_seed};

/// Random draws that order the events of one instant. They do not change the order of classes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ties {
    /// Odd multipliers. With an odd multiplier, different inputs give different products.
    of_instant: u64,
    of_entity: u64,
    of_both: u64,
    /// Mask of the drawn bits in the lower 64 bits of a key.
    /// If two entities of one class have equal draws, the entity with the lower number is first.
    /// That entity is therefore first in slightly more than half of all instants. The excess is `2^-(bits + 1)`.
    drawn: u64,
    /// Mask of the bits of an entity that contain its number.
    number: u32,
}

/// Name of the random stream of the draws, for [`stream_seed`].
const TIES: u64 = 0x7469_6573;

impl Ties {
    /// Creates the draws for a seed. Entities of each class are numbered from 0 to `numbers - 1` (at most 2^30).
    pub const fn new(seed: u64, numbers: u32) -> Self {
        let number_bits = 32 - numbers.saturating_sub(1).leading_zeros();
        assert!(number_bits <= 32 - Event::CLASS_BITS);
        let above_number = u64::MAX << 32 << number_bits;
        Self {
            of_instant: stream_seed(seed, TIES, 0) | 1,
            of_entity: stream_seed(seed, TIES, 1) | 1,
            of_both: stream_seed(seed, TIES, 2) | 1,
            drawn: above_number & (u64::MAX >> Event::CLASS_BITS),
            number: !((above_number >> 32) as u32),
        }
    }

    /// Returns the random draw of an entity at an instant.
    #[inline(always)]
    pub const fn draw(&self, time: Time, entity: u32) -> u64 {
        // The times of packets are multiples of large powers of two.
        // The low bits of packet times may therefore be equal, even after the first multiplication.
        // The rotation moves high bits to the low end.
        // The last multiplication spreads the low bits over all higher bits.
        let instant = time.as_ps().wrapping_mul(self.of_instant);
        let instant = instant.rotate_left(32);
        let entity = (entity as u64).wrapping_mul(self.of_entity);
        (instant ^ entity).wrapping_mul(self.of_both)
    }

    /// Returns the event with the random draw in its key.
    #[inline(always)]
    pub const fn ranked(&self, event: Event) -> Event {
        event.with(self.draw(event.time(), event.entity()) & self.drawn)
    }

    /// Returns an entity's number within its class.
    #[inline(always)]
    pub const fn number(&self, event: Event) -> u32 {
        event.entity() & self.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const INSTANTS: u64 = 10_000;
    const CLASS: u32 = 1 << (32 - Event::CLASS_BITS);

    /// Returns how often each entity is first, and how often it is before each other entity.
    /// The events happen at instants that are `step` picoseconds apart.
    fn orders(numbers: &[u32], step: u64, seed: u64) -> (Vec<u64>, Vec<u64>) {
        let count = numbers.len();
        let ties = Ties::new(seed, numbers[count - 1] + 1);
        let (mut first, mut before) = (alloc::vec![0; count], alloc::vec![0; count * count]);
        for instant in 0..INSTANTS {
            let time = Time::from_ps(5_000_000 + instant * step);
            let places = 0..count as u32;
            let mut events: Vec<Event> = places
                .map(|place| ties.ranked(Event::new(time, numbers[place as usize] | CLASS, place)))
                .collect();
            events.sort_unstable();
            let order = |at: usize| events[at].payload() as usize;
            first[order(0)] += 1;
            for at in 0..count {
                for later in at + 1..count {
                    before[order(at) * count + order(later)] += 1;
                }
            }
        }
        (first, before)
    }

    fn is_even(found: u64, share: f64) -> bool {
        let expected = INSTANTS as f64 * share;
        let deviation = libm::sqrt(expected * (1.0 - share));
        libm::fabs(found as f64 - expected) < 6.0 * deviation
    }

    #[test]
    fn every_entity_is_first_and_before_every_other_as_often() {
        for (count, first, stride) in [
            (2, 0, 1),
            (2, 5, 2),
            (3, 1, 1),
            (16, 1, 1),
            (17, 0, 5),
            (60, 40, 2),
        ] {
            let numbers: Vec<u32> = (0..count).map(|at| first + at * stride).collect();
            for (step, seed) in [
                (1, 1),
                (1_230_400, 2),
                (615_200, 3),
                (1_000_000, 4),
                (723_040, 5),
            ] {
                let (firsts, before) = orders(&numbers, step, seed);
                for a in 0..count as usize {
                    assert!(
                        is_even(firsts[a], 1.0 / f64::from(count)),
                        "{count} entities, step {step}: entity {a}"
                    );
                    for b in 0..a {
                        let before = before[a * count as usize + b];
                        assert!(
                            is_even(before, 0.5),
                            "{count} entities, step {step}: {a} before {b}: {before}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn classes_keep_their_order_and_entities_their_numbers() {
        let ties = Ties::new(3, 1_000);
        for ps in 0..1_000 {
            let event = |class: u32, number| {
                ties.ranked(Event::new(Time::from_ps(ps), (class * CLASS) | number, 0))
            };
            for number in [0, 1, 998, 999] {
                for class in 0..3 {
                    assert_eq!(ties.number(event(class, number)), number);
                    assert!(event(class, number) < event(class + 1, 999 - number));
                }
            }
        }
    }
}
