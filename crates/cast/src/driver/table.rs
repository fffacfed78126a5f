//! Hash table for lookups per packet.

/// Hash table with a hash function that needs only a few nanoseconds. The function has a random seed.
/// An attacker who finds colliding keys gains little, because each table has a limited size.
pub(super) type Table<K, V> = std::collections::HashMap<K, V, foldhash::fast::RandomState>;
