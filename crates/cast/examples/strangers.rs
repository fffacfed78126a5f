//! Measures the CPU time in user space for a packet from an unknown host, in nanoseconds per packet.
//! The receive call is not included. The result is the minimum of 15 rounds of 20,000 packets each.
//!
//! `cargo run --release -p tailcut-cast --example strangers`

#[cfg(target_os = "linux")]
#[path = "../tests/strangers/mod.rs"]
#[allow(dead_code, reason = "a test counts the answers")]
mod strangers;

#[cfg(target_os = "linux")]
fn main() {
    use rustix::time::{ClockId, clock_gettime};
    use strangers::{PACKETS, Stranger};

    let cpu = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
    };
    println!("| packet | without a key, ns | under a key, ns |\n|---|---|---|");
    for (name, make) in PACKETS {
        let packets: Vec<Vec<u8>> = (0..20_000).map(make).collect();
        let costs = [false, true].map(|has_key| {
            let mut stranger = Stranger::new(has_key);
            let round = |_| {
                let before = cpu();
                packets.iter().for_each(|bytes| stranger.speak(bytes));
                (cpu() - before) / packets.len() as f64
            };
            (0..15).map(round).fold(f64::INFINITY, f64::min)
        });
        println!("| {name} | {:.0} | {:.0} |", costs[0], costs[1]);
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("the driver of SCDP runs on Linux only");
}
