//! Slurm: the script of a job array, each job of which runs a chunk of cases, and handing it in.

use anyhow::{Context, anyhow};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use tailcut_cases::Chunk;

/// Jobs of an array at most, where Slurm does not say: its own default.
const MOST_JOBS: usize = 1_000;

/// A job's limit of time is so many times what its cases are expected to take, and so many seconds more:
/// nodes differ, and others work on them.
const TIMES: f64 = 4.0;
const SECONDS_MORE: f64 = 600.0;

/// How long before its limit a job is asked to end, in seconds: a run looks up now and then, and gives its
/// lock back.
const NOTICE: u32 = 30;

/// How long a job waits for cases that another process is at, in seconds. After a node has failed their
/// locks are still there for a minute.
const WAIT: u32 = 90;

/// What a script is made of.
#[derive(Debug)]
pub struct Array<'a> {
    /// The study's name.
    pub name: &'a str,
    /// The program, by a path that all nodes have.
    pub program: &'a Path,
    /// The study's directory, likewise.
    pub dir: &'a Path,
    /// The folder for what jobs print, likewise.
    pub printed: &'a Path,
    /// Flags of sbatch that were asked for.
    pub flags: Vec<String>,
    /// The limit of time that was asked for.
    pub time_limit: Option<&'a str>,
    /// How many jobs run at the same time at most.
    pub at_most: Option<usize>,
    /// The cases of each job.
    pub chunks: &'a [Chunk],
}

impl Array<'_> {
    /// The script for `sbatch`.
    ///
    /// # Errors
    /// A path or a flag that a script cannot hold.
    pub fn script(&self) -> anyhow::Result<String> {
        let printed = text(self.printed)?;
        // Slurm puts the numbers of jobs in for `%`, unless there is a backslash.
        if let Some(found) = printed.chars().find(|c| matches!(c, '%' | '\\')) {
            return Err(anyhow!(
                "study submit: {printed}: found '{found}' in the path; allowed: any other character, as \
                 Slurm reads it as a pattern"
            ));
        }
        let last = self.chunks.len().saturating_sub(1);
        let at_most = self.at_most.map_or_else(String::new, |n| format!("%{n}"));
        let mut directives = vec![
            format!("--job-name={}", one_line(self.name)),
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
            let flags: anyhow::Result<Vec<String>> =
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
            for_shell(text(self.dir)?),
        ));
        Ok(script)
    }

    /// In minutes; `None` where nobody can tell.
    fn usual_limit(&self) -> Option<u64> {
        let expected: Option<Vec<f64>> = self.chunks.iter().map(|one| one.cpu_seconds).collect();
        let longest = expected?.into_iter().fold(0.0, f64::max);
        Some(((longest * TIMES + SECONDS_MORE) / 60.0).ceil() as u64)
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
pub fn submit(script: &str) -> anyhow::Result<String> {
    let started = Command::new("sbatch")
        .arg("--parsable")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut sbatch = match started {
        Ok(sbatch) => sbatch,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(anyhow!(
                "study submit: found no sbatch on the PATH; allowed: a machine that hands jobs to Slurm, \
                 or --print for a script to take there"
            ));
        }
        Err(error) => return Err(anyhow::Error::new(error).context("cannot start sbatch")),
    };
    // Where it refuses before it has read all, it says why.
    let _ = sbatch
        .stdin
        .take()
        .map(|mut input| input.write_all(script.as_bytes()));
    let ended = sbatch
        .wait_with_output()
        .context("cannot wait for sbatch")?;
    if !ended.status.success() {
        return Err(anyhow!(
            "study submit: sbatch refused the jobs ({}) for the reason above",
            ended.status
        ));
    }
    let said = String::from_utf8_lossy(&ended.stdout);
    // With several clusters, theirs follows.
    let job = said.lines().last().unwrap_or_default().split(';').next();
    let job = job.unwrap_or_default().trim().to_owned();
    match job.is_empty() || job.contains(|c: char| !c.is_ascii_digit()) {
        true => Err(anyhow!(
            "study submit: found '{}' as sbatch's answer; allowed: a job's number",
            tailcut_scenario::shortened(&said)
        )),
        false => Ok(job),
    }
}

fn text(path: &Path) -> anyhow::Result<&str> {
    let named = || format!("study submit: {}", path.display());
    let text = path
        .to_str()
        .with_context(|| format!("{}: found bytes that are no text in the path", named()))?;
    match text.contains(char::is_control) {
        true => Err(anyhow!(
            "{:?}: found a control character in the path; allowed: none in a script",
            named()
        )),
        false => Ok(text),
    }
}

fn one_line(name: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    name.chars().map(plain).collect()
}

/// A flag as a line of directives holds it.
fn for_slurm(flag: &str) -> anyhow::Result<String> {
    if flag.contains(char::is_control) {
        return Err(anyhow!(
            "study submit: found {flag:?}; allowed: flags without control characters"
        ));
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
