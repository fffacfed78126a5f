//! Script of a Slurm job array, and its submission. Each job of the array runs one chunk of cases.

use crate::chunks::Chunk;
use crate::error::Error;
use crate::forecast::rounded_time;
use crate::paths::{WAIT, absolute, refused, text};
use crate::study_dir::StudyDir;
use serde_json::{Value, json};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Largest number of jobs in an array if Slurm does not report it. The number is Slurm's default.
const MOST_JOBS: usize = 1_000;

/// Factor in the time limit of a job. The limit is long, because nodes differ in speed and run other jobs.
/// The limit is the expected time of the job's cases, multiplied by `TIMES`, plus `SECONDS_MORE`.
const TIMES: f64 = 4.0;
/// Second part of a job's time limit, in seconds. See [`TIMES`].
const SECONDS_MORE: f64 = 600.0;

/// Seconds between Slurm's signal SIGTERM to a job and the job's time limit.
/// A run checks at intervals whether the signal has arrived. If so, the run ends and releases its lock.
const NOTICE: u32 = 30;

/// Array of jobs, each of which runs a chunk of a study's cases.
#[derive(Debug)]
pub struct Array<'a> {
    /// Study whose cases the jobs run. Its directory must have the same path on all nodes.
    pub study: &'a StudyDir,
    /// Chunks of cases, one for each job.
    pub chunks: &'a [Chunk],
    /// Path of the program `tailcut`. It must be the same on all nodes.
    pub program: &'a Path,
    /// Further flags for sbatch.
    pub flags: Vec<String>,
    /// Time limit that the user set, in sbatch's notation.
    pub time_limit: Option<&'a str>,
    /// Largest number of jobs that run at the same time. `None` for no limit.
    pub at_most: Option<usize>,
}

impl Array<'_> {
    /// Returns the script for `sbatch`, and creates the folder for the output of the jobs.
    ///
    /// # Errors
    /// [`Error::Engine`] for a path or a flag that a script cannot contain; a failed system call.
    pub fn script(&self) -> Result<String, Error> {
        let printed = absolute(&self.study.jobs()?)?;
        let dir = absolute(self.study.path())?;
        let (printed, dir) = (text(&printed)?, text(&dir)?);
        // In the path of the output, Slurm replaces patterns such as `%A` by job numbers.
        // A backslash disables this replacement.
        if let Some(found) = printed.chars().find(|c| matches!(c, '%' | '\\')) {
            return Err(refused(format!(
                "study submit: {printed}: found '{found}' in the path; allowed: any other character, \
                 because Slurm reads it as a pattern"
            )));
        }
        let last = self.chunks.len().saturating_sub(1);
        let at_most = self.at_most.map_or_else(String::new, |n| format!("%{n}"));
        let mut directives = vec![
            format!("--job-name={}", one_line(&self.study.plan().name)),
            format!("--array=0-{last}{at_most}"),
            format!("--output={printed}/%A_%a.log"),
            "--open-mode=append".to_owned(),
            "--requeue".to_owned(),
            "--ntasks=1".to_owned(),
            "--cpus-per-task=1".to_owned(),
            format!("--signal=B:TERM@{NOTICE}"),
        ];
        let usual = self.usual_limit().map(|minutes| minutes.to_string());
        let limit = self.time_limit.map(str::to_owned).or(usual);
        directives.extend(limit.map(|limit| format!("--time={limit}")));
        let mut script = "#!/bin/bash\n".to_owned();
        for directive in &directives {
            script.push_str(&format!("#SBATCH {}\n", for_slurm(directive)?));
        }
        if !self.flags.is_empty() {
            let flags: Result<Vec<String>, Error> =
                self.flags.iter().map(|flag| for_slurm(flag)).collect();
            script.push_str(&format!("#SBATCH {}\n", flags?.join(" ")));
        }
        script.push_str("\ncases=(\n");
        for chunk in self.chunks {
            script.push_str(&format!("    {}\n", chunk.places_as_argument()));
        }
        // `exec` replaces the shell, so that signals reach the program itself.
        script.push_str(&format!(
            ")\nexec {} case {} \"${{cases[$SLURM_ARRAY_TASK_ID]}}\" \\\n    --threads 1 --wait {WAIT}\n",
            for_shell(text(self.program)?),
            for_shell(dir),
        ));
        Ok(script)
    }

    /// Returns the time limit in minutes. `None` if the time of the cases is unknown.
    fn usual_limit(&self) -> Option<u64> {
        Some(((self.longest()? * TIMES + SECONDS_MORE) / 60.0).ceil() as u64)
    }

    /// Returns the expected time of the longest chunk, in CPU seconds.
    fn longest(&self) -> Option<f64> {
        let mut expected = self.chunks.iter().map(|one| one.cpu_seconds);
        expected.try_fold(0.0, |longest: f64, one| Some(longest.max(one?)))
    }

    fn cases(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.places.len()).sum()
    }

    /// Returns the text that the user sees after the submission. `job` is the number of the job.
    pub fn text(&self, job: &str) -> String {
        let (cases, jobs) = (self.cases(), self.chunks.len());
        let longest = self.longest().map_or_else(String::new, |longest| {
            format!(", the longest {} of CPU time", rounded_time(longest))
        });
        let dir = self.study.path().display();
        format!(
            "Job {job}: {cases} cases of {dir} in an array of {jobs} jobs{longest}\n\
             Watch: squeue --job {job}; tailcut study status {dir}\n\
             Output of the jobs: {dir}/jobs/{job}_*.log\n\
             Afterwards: tailcut study collect {dir}"
        )
    }

    /// Returns the array as JSON. `job` is `None` for a script that was not submitted.
    pub fn json(&self, job: Option<&str>, script: &str) -> Value {
        let chunks = self.chunks.iter().map(|chunk| {
            json!({
                "cases": chunk.places_as_argument(),
                "expected_cpu_seconds": chunk.cpu_seconds,
            })
        });
        json!({
            "job": job,
            "cases": self.cases(),
            "chunks": chunks.collect::<Vec<_>>(),
            "script": script,
        })
    }
}

/// Returns the largest number of jobs in an array, from Slurm's configuration.
pub fn most_jobs() -> usize {
    let asked = Command::new("scontrol")
        .args(["show", "config"])
        .stderr(Stdio::null())
        .output();
    let said = asked.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    said.ok()
        .and_then(|said| max_array_size(&said))
        .unwrap_or(MOST_JOBS)
}

/// Returns `MaxArraySize` of Slurm's configuration.
/// The indices of an array's jobs start at 0 and must be below this value. So an array has at most this number of jobs.
fn max_array_size(config: &str) -> Option<usize> {
    let mut lines = config.lines().filter_map(|line| line.split_once('='));
    let (_, size) = lines.find(|(key, _)| key.trim() == "MaxArraySize")?;
    size.trim().parse().ok().filter(|size| *size > 0)
}

/// Submits a script and returns the number of the job.
///
/// # Errors
/// There is no `sbatch`, or `sbatch` refuses the script. In this case, `sbatch` itself prints the reason.
pub fn submit(script: &str) -> Result<String, Error> {
    let started = Command::new("sbatch")
        .arg("--parsable")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut sbatch = match started {
        Ok(sbatch) => sbatch,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(Error::Engine(
                "study submit: found no sbatch on the PATH; allowed: a machine that submits jobs to Slurm, \
                 or --print for a script to submit there"
                    .to_owned()));
        }
        Err(error) => {
            return Err(refused(format!(
                "study submit: cannot start sbatch: {error}"
            )));
        }
    };
    // If sbatch ends before it has read the whole script, this write fails. The exit status below shows that error.
    let _ = sbatch
        .stdin
        .take()
        .map(|mut input| input.write_all(script.as_bytes()));
    let ended = sbatch
        .wait_with_output()
        .map_err(|error| refused(format!("study submit: cannot wait for sbatch: {error}")))?;
    if !ended.status.success() {
        return Err(refused(format!(
            "study submit: sbatch refused the jobs ({}) for the reason above",
            ended.status
        )));
    }
    let said = String::from_utf8_lossy(&ended.stdout);
    // With several clusters, the name of the cluster follows the job number.
    let job = said.lines().last().unwrap_or_default().split(';').next();
    let job = job.unwrap_or_default().trim().to_owned();
    match job.is_empty() || job.contains(|c: char| !c.is_ascii_digit()) {
        true => Err(refused(format!(
            "study submit: found '{}' as sbatch's answer; allowed: a job's number",
            tailcut_scenario::shortened(&said)
        ))),
        false => Ok(job),
    }
}

/// Returns a name without control characters, such as line breaks.
fn one_line(name: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    name.chars().map(plain).collect()
}

/// Returns a flag with the quotes that it needs in an `#SBATCH` line.
fn for_slurm(flag: &str) -> Result<String, Error> {
    if flag.contains(char::is_control) {
        return Err(refused(format!(
            "study submit: found {flag:?}; allowed: flags without control characters"
        )));
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=:@%,./+".contains(c);
    Ok(match flag.chars().all(is_plain) {
        true => flag.to_owned(),
        false => format!("\"{}\"", flag.replace('\\', "\\\\").replace('"', "\\\"")),
    })
}

/// Returns a text with the quotes that make it one argument in a shell script.
fn for_shell(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=:@%,./+".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests;
