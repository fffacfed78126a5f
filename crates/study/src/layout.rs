//! Names of the files in a study's directory.

/// File with the plan.
pub const PLAN: &str = "plan.json";
/// Lock file of the process that plans, collects, retries or prunes.
pub const LOCK: &str = "lock";
/// Folder with copies of the files that the scenario reads. The name of a copy is the hash of its bytes.
pub const FILES: &str = "files";
/// Folder with one folder for each finished case. The name is the hash of the case.
pub const DONE: &str = "done";
/// Folder with one file for each failed case. The name begins with the hash of the case.
pub const FAILED: &str = "failed";
/// Folder with one lock file for each running case. The name begins with the hash of the case.
pub const LOCKS: &str = "locks";
/// Folder with the output of the jobs of an engine such as Slurm.
pub const JOBS: &str = "jobs";
/// Suffix of the name of a lock's file.
pub const LOCK_END: &str = ".lock";
/// Suffix of the file name of a claim to a stale lock.
pub const STALE_END: &str = ".stale";
/// Suffix of the name of a failure's file.
pub const FAILED_END: &str = ".json";
/// Suffix of the name of a file or folder that is being written.
pub const PARTIAL_END: &str = ".partial";

/// Folders that every study has. The folder for jobs is created when it is needed.
pub const FOLDERS: [&str; 4] = [FILES, DONE, FAILED, LOCKS];
