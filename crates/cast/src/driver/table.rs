//! Hash table for lookups per packet.

/// Hash table with a hash function that needs a few nanoseconds. Its seed is random. An attacker
/// who finds colliding keys nevertheless gains little, because each table is bounded.
pub(super) type Table<K, V> = std::collections::HashMap<K, V, foldhash::fast::RandomState>;
