//! What the files of a study's directory are called.

/// The plan.
pub const PLAN: &str = "plan.json";
/// Held by whoever plans, collects, retries or prunes.
pub const LOCK: &str = "lock";
/// What scenarios read, by the hashes of the bytes.
pub const FILES: &str = "files";
/// A folder for each case that is done, by its hash.
pub const DONE: &str = "done";
/// A file for each case that failed, by its hash.
pub const FAILED: &str = "failed";
/// A file for each case that is being run, by its hash.
pub const LOCKS: &str = "locks";
/// What jobs printed that ran cases under an engine.
pub const JOBS: &str = "jobs";
/// What the names of locks end in.
pub const LOCK_END: &str = ".lock";
/// What the name of a claim to a stale lock ends in.
pub const STALE_END: &str = ".stale";
/// What the names of failures end in.
pub const FAILED_END: &str = ".json";
/// What the name of something ends in that is being written.
pub const PARTIAL_END: &str = ".partial";

/// The folders of a study.
pub const FOLDERS: [&str; 4] = [FILES, DONE, FAILED, LOCKS];
