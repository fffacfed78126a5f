//! Several FIFO lists of packets whose nodes are in one pool.
//! With any number of classes, the packets of a port need only one or two cache lines.

use crate::packet::PacketId;
use alloc::vec::Vec;

/// Largest number of lists. Eight lists are for the classes of real switches.
/// One list with higher priority is for headers, and one list with lower priority is for duplicates.
pub(super) const MAX_LISTS: usize = 10;
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Node {
    packet: PacketId,
    next: u32,
    previous: u32,
}

#[derive(Clone, Copy, Debug)]
struct Ends {
    head: u32,
    tail: u32,
}

/// Doubly linked lists of packets. The lists are numbered from 0, and all nodes are in one pool.
/// The first fields of the struct are the fields that every operation uses.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Lists {
    nodes: Vec<Node>,
    free: u32,
    /// Bit mask of the lists that contain packets.
    occupied: u32,
    ends: [Ends; MAX_LISTS],
}

impl Lists {
    pub(super) const fn new() -> Self {
        Self {
            nodes: Vec::new(),
            free: NONE,
            occupied: 0,
            ends: [Ends {
                head: NONE,
                tail: NONE,
            }; MAX_LISTS],
        }
    }

    /// Returns the number of the first list that contains packets, from number `from`.
    #[inline]
    pub(super) fn first_occupied(&self, from: usize) -> Option<usize> {
        // If all lists from `from` are empty, `trailing_zeros` is 32, and the number is above all numbers of lists.
        let list = (self.occupied >> from).trailing_zeros() as usize + from;
        (list < MAX_LISTS).then_some(list)
    }

    #[inline]
    pub(super) fn push_back(&mut self, list: usize, packet: PacketId) {
        let tail = self.ends[list].tail;
        let node = Node {
            packet,
            next: NONE,
            previous: tail,
        };
        let at = if self.free == NONE {
            self.nodes.push(node);
            (self.nodes.len() - 1) as u32
        } else {
            let at = self.free;
            self.free = self.nodes[at as usize].next;
            self.nodes[at as usize] = node;
            at
        };
        if tail == NONE {
            self.ends[list].head = at;
            self.occupied |= 1 << list;
        } else {
            self.nodes[tail as usize].next = at;
        }
        self.ends[list].tail = at;
    }

    #[inline]
    pub(super) fn pop_front(&mut self, list: usize) -> Option<PacketId> {
        let at = self.ends[list].head;
        // An empty list has the node `NONE`, which is no valid index, so the function returns `None` here.
        let node = *self.nodes.get(at as usize)?;
        self.ends[list].head = node.next;
        if node.next == NONE {
            self.ends[list].tail = NONE;
            self.occupied &= !(1 << list);
        } else {
            self.nodes[node.next as usize].previous = NONE;
        }
        self.release(at);
        Some(node.packet)
    }

    pub(super) fn pop_back(&mut self, list: usize) -> Option<PacketId> {
        let at = self.ends[list].tail;
        // An empty list has the node `NONE`, which is no valid index, so the function returns `None` here.
        let node = *self.nodes.get(at as usize)?;
        self.ends[list].tail = node.previous;
        if node.previous == NONE {
            self.ends[list].head = NONE;
            self.occupied &= !(1 << list);
        } else {
            self.nodes[node.previous as usize].next = NONE;
        }
        self.release(at);
        Some(node.packet)
    }

    /// Removes every packet of a list for which `matches` returns `true`, and adds it to `removed`.
    pub(super) fn remove(
        &mut self,
        list: usize,
        matches: &mut dyn FnMut(PacketId) -> bool,
        removed: &mut Vec<PacketId>,
    ) {
        let mut at = self.ends[list].head;
        while let Some(&Node {
            packet,
            next,
            previous,
        }) = self.nodes.get(at as usize)
        {
            if matches(packet) {
                // `NONE` is no valid index. If a neighbour is missing, the node was at an end of the list.
                match self.nodes.get_mut(previous as usize) {
                    Some(node) => node.next = next,
                    None => self.ends[list].head = next,
                }
                match self.nodes.get_mut(next as usize) {
                    Some(node) => node.previous = previous,
                    None => self.ends[list].tail = previous,
                }
                self.release(at);
                removed.push(packet);
            }
            at = next;
        }
        if self.ends[list].head == NONE {
            self.occupied &= !(1 << list);
        }
    }

    #[inline]
    fn release(&mut self, at: u32) {
        self.nodes[at as usize].next = self.free;
        self.free = at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_a_deque_a_list(
            operations in proptest::collection::vec((0usize..3, 0u8..5), 1..300)
        ) {
            let mut lists = Lists::new();
            let mut model: [VecDeque<PacketId>; 3] = Default::default();
            for (number, (list, operation)) in operations.into_iter().enumerate() {
                let packet = PacketId(number as u32);
                match operation {
                    0 | 1 => {
                        lists.push_back(list, packet);
                        model[list].push_back(packet);
                    }
                    2 => prop_assert_eq!(lists.pop_front(list), model[list].pop_front()),
                    3 => {
                        let goes = |id: PacketId| id.0.is_multiple_of(3);
                        let mut removed = Vec::new();
                        lists.remove(list, &mut |id| goes(id), &mut removed);
                        let expected = model[list].iter().copied().filter(|id| goes(*id));
                        prop_assert_eq!(removed, expected.collect::<Vec<_>>());
                        model[list].retain(|id| !goes(*id));
                    }
                    _ => prop_assert_eq!(lists.pop_back(list), model[list].pop_back()),
                }
                for list in 0..3 {
                    let first = (list..3).find(|&l| !model[l].is_empty());
                    prop_assert_eq!(lists.first_occupied(list), first);
                }
            }
        }
    }
}
