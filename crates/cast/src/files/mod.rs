//! Files, trees and streams as sequences of slabs with hashes, on disk.
