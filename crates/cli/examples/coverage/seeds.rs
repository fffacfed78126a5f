//! Runs of all seeds. Each seed has one run of each design, all with the same arrivals.
//! A run is stored as one line of text.

use crate::measure::{DESIGNS, Mice, Seed};
use std::collections::{BTreeMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use tailcut_record::SizeGroup;
use tailcut_scenario::{Location, Scenario, Study};
use tailcut_sim::{RunConfig, Unattended};

/// Number of seeds from which the sets are drawn.
pub const SEEDS: u64 = 4_000;

/// Simulates the runs that are missing in `file`, on `threads` threads, and appends them to the file.
/// A run is one line. If the program is killed, only the unfinished line is lost.
pub fn simulate(file: &Path, seeds: u64, threads: usize) -> anyhow::Result<()> {
    let done: HashSet<(String, u64)> = match File::open(file) {
        Ok(opened) => lines(opened)?
            .map(|(design, seed, _)| (design, seed))
            .collect(),
        Err(_) => HashSet::new(),
    };
    let runs: Vec<RunConfig> = runs(seeds)?
        .into_iter()
        .filter(|run| !done.contains(&(run.stack.to_string(), run.seed)))
        .collect();
    eprintln!("{} runs are there, {} to go", done.len(), runs.len());
    let file = Mutex::new(appendable(file)?);
    let next = AtomicUsize::new(0);
    let work = || -> anyhow::Result<()> {
        while let Some(run) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let line = line(run)?;
            let mut file = file.lock().expect("no thread panics while it writes");
            file.write_all(line.as_bytes())?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().expect("a worker panicked"))
    })
}

/// Returns the runs of `make demo` at a load of 0.5 for `seeds` seeds, without samples and with 1,200 flows each.
fn runs(seeds: u64) -> anyhow::Result<Vec<RunConfig>> {
    let text = include_str!("../../../../scenarios/compare.toml");
    let mut scenario = Scenario::parse("scenarios/compare.toml", "", text)?;
    let designs = DESIGNS.join(",");
    let seeds = seeds.to_string();
    let changes = [
        ("designs", designs.as_str()),
        ("loads", "0.5"),
        ("flows", "1200"),
        ("seeds", &seeds),
    ];
    for (key, value) in changes {
        scenario.set(key, value, &Location::flag("coverage"))?;
    }
    scenario.unset("", "sample_every");
    Ok(Study::of(&scenario)?.runs)
}

/// Returns the line of a run, such as `tcp 17 15264000,-,...`.
/// The line contains the design, the seed, and the completion time of each mouse in nanoseconds.
fn line(run: &RunConfig) -> anyhow::Result<String> {
    let record = tailcut_sim::run(run, &Unattended)?;
    let mice = record
        .flows
        .iter()
        .filter(|flow| SizeGroup::of(flow.bytes) == SizeGroup::Mice);
    let times: Vec<String> = mice
        .map(|flow| match flow.fct {
            Some(fct) => (fct.as_ps() / 1_000).to_string(),
            None => "-".to_owned(),
        })
        .collect();
    Ok(format!("{} {} {}\n", run.stack, run.seed, times.join(",")))
}

/// Removes an incomplete last line from the file, and opens the file for appending.
fn appendable(path: &Path) -> anyhow::Result<File> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let whole = bytes
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |at| at + 1);
    file.set_len(whole as u64)?;
    file.seek(SeekFrom::End(0))?;
    Ok(file)
}

/// Returns the seeds in `file` that have a run of each design, in ascending order.
pub fn read(file: &Path) -> anyhow::Result<Vec<Seed>> {
    let mut kept: BTreeMap<u64, [Option<Mice>; 3]> = BTreeMap::new();
    for (design, seed, mice) in lines(File::open(file)?)? {
        if let Some(index) = DESIGNS.iter().position(|name| *name == design) {
            kept.entry(seed).or_default()[index] = Some(mice);
        }
    }
    let whole = |[a, b, c]: [Option<Mice>; 3]| Some([a?, b?, c?]);
    Ok(kept.into_values().filter_map(whole).collect())
}

/// Returns the runs in the complete lines of `file`.
fn lines(file: File) -> anyhow::Result<impl Iterator<Item = (String, u64, Mice)>> {
    let mut texts = Vec::new();
    let mut reader = BufReader::new(file);
    let mut text = String::new();
    while reader.read_line(&mut text)? > 0 {
        if text.ends_with('\n') {
            texts.push(text.trim_end().to_owned());
        }
        text.clear();
    }
    Ok(texts.into_iter().filter_map(|text| {
        let mut parts = text.split(' ');
        let (design, seed) = (parts.next()?.to_owned(), parts.next()?.parse().ok()?);
        let times = parts.next()?.split(',').filter(|time| !time.is_empty());
        let times = times.map(|time| {
            time.parse::<u64>()
                .map_or(f64::INFINITY, |ns| ns as f64 / 1e3)
        });
        Some((design, seed, times.collect()))
    }))
}
