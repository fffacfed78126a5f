//! Slurm: the script of a job array, each job of which runs a chunk of cases, and handing it in.

use crate::chunks::Chunk;
use crate::error::Error;
use crate::forecast::rounded_time;
use crate::paths::{WAIT, absolute, refused, text};
use crate::study_dir::StudyDir;
use serde_json::{Value, json};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Jobs of an array at most, where Slurm does not say: its own default.
const MOST_JOBS: usize = 1_000;

/// A job's limit of time is so many times what its cases are expected to take, and so many seconds more:
/// nodes differ, and others work on them.
const TIMES: f64 = 4.0;
const SECONDS_MORE: f64 = 600.0;

/// How long before its limit a job is asked to end, in seconds: a run looks up now and then, and gives its
/// lock back.
const NOTICE: u32 = 30;

/// An array of jobs, each of which runs a chunk of a study's cases.
#[derive(Debug)]
pub struct Array<'a> {
    /// The study, whose directory all nodes have under the same path.
    pub study: &'a StudyDir,
    /// The cases of each job.
    pub chunks: &'a [Chunk],
    /// The program `tailcut`, by a path that all nodes have.
    pub program: &'a Path,
    /// Flags of sbatch that were asked for.
    pub flags: Vec<String>,
    /// The limit of time that was asked for, as sbatch takes it.
    pub time_limit: Option<&'a str>,
    /// How many jobs run at the same time at most.
    pub at_most: Option<usize>,
}

impl Array<'_> {
    /// The script for `sbatch`. The folder for what jobs print is made.
    ///
    /// # Errors
    /// [`Error::Engine`] for a path or a flag that a script cannot hold; what the system refuses.
    pub fn script(&self) -> Result<String, Error> {
        let printed = absolute(&self.study.jobs()?)?;
        let dir = absolute(self.study.path())?;
        let (printed, dir) = (text(&printed)?, text(&dir)?);
        // Slurm puts the numbers of jobs in for `%`, unless there is a backslash.
        if let Some(found) = printed.chars().find(|c| matches!(c, '%' | '\\')) {
            return Err(refused(format!(
                "study submit: {printed}: found '{found}' in the path; allowed: any other character, as \
                 Slurm reads it as a pattern"
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
        // Signals reach the program itself, as it takes the shell's place.
        script.push_str(&format!(
            ")\nexec {} case {} \"${{cases[$SLURM_ARRAY_TASK_ID]}}\" \\\n    --threads 1 --wait {WAIT}\n",
            for_shell(text(self.program)?),
            for_shell(dir),
        ));
        Ok(script)
    }

    /// In minutes; `None` where nobody can tell.
    fn usual_limit(&self) -> Option<u64> {
        Some(((self.longest()? * TIMES + SECONDS_MORE) / 60.0).ceil() as u64)
    }

    /// What the longest chunk is expected to take, in CPU seconds.
    fn longest(&self) -> Option<f64> {
        let mut expected = self.chunks.iter().map(|one| one.cpu_seconds);
        expected.try_fold(0.0, |longest: f64, one| Some(longest.max(one?)))
    }

    fn cases(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.places.len()).sum()
    }

    /// In words, once it is handed in as a job.
    pub fn text(&self, job: &str) -> String {
        let (cases, jobs) = (self.cases(), self.chunks.len());
        let longest = self.longest().map_or_else(String::new, |longest| {
            format!(", the longest {} of CPU time", rounded_time(longest))
        });
        let dir = self.study.path().display();
        format!(
            "Job {job}: {cases} cases of {dir} in an array of {jobs} jobs{longest}\n\
             Watch: squeue --job {job}; tailcut study status {dir}\n\
             What jobs print: {dir}/jobs/{job}_*.log\n\
             In the end: tailcut study collect {dir}"
        )
    }

    /// The same as data; `None` for a script that is not handed in.
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

/// How many jobs an array may have, as Slurm says.
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

/// The number above all that jobs of an array may have, and so how many there may be.
fn max_array_size(config: &str) -> Option<usize> {
    let mut lines = config.lines().filter_map(|line| line.split_once('='));
    let (_, size) = lines.find(|(key, _)| key.trim() == "MaxArraySize")?;
    size.trim().parse().ok().filter(|size| *size > 0)
}

/// Hands a script in and gives the number of the job.
///
/// # Errors
/// Where there is no `sbatch`, or it refuses; it says itself why.
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
                "study submit: found no sbatch on the PATH; allowed: a machine that hands jobs to Slurm, \
                 or --print for a script to take there"
                    .to_owned()));
        }
        Err(error) => {
            return Err(refused(format!(
                "study submit: cannot start sbatch: {error}"
            )));
        }
    };
    // Where it refuses before it has read all, it says why.
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
    // With several clusters, theirs follows.
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

fn one_line(name: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    name.chars().map(plain).collect()
}

/// A flag as a line of directives holds it.
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

/// A text as a word of the shell.
fn for_shell(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=:@%,./+".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests;
