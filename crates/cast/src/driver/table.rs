//! Tables that each packet is looked up in.

/// A hash table whose hash takes a few nanoseconds. It is seeded at random; who finds names that collide all the
/// same gains little, as each table is bounded.
pub(super) type Table<K, V> = std::collections::HashMap<K, V, foldhash::fast::RandomState>;
