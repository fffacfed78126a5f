//! Conversion of the counters of a fabric to the totals of a record.

use tailcut_fabric::{Count, Fabric, Observer};
use tailcut_record::{DropCounts, PacketCount, RunTotals};

const fn packets(count: Count) -> PacketCount {
    PacketCount {
        packets: count.packets,
        bytes: count.bytes,
    }
}

/// Returns the totals of the packets that entered a fabric.
/// Totals that come from the ports, the engine or a clock are zero.
pub fn network_totals<B: Clone, O: Observer<B>>(fabric: &Fabric<B, O>) -> RunTotals {
    let by_reason = fabric.drops().by_reason().into_iter();
    let dropped = by_reason.filter(|(_, dropped)| dropped.packets > 0);
    let dropped = dropped.map(|(reason, dropped)| (reason.name().to_owned(), packets(dropped)));
    RunTotals {
        sent: packets(fabric.injected()),
        copied: packets(fabric.copied()),
        delivered: packets(fabric.delivered()),
        drops: DropCounts(dropped.collect()),
        trimmed: packets(fabric.trimmed()),
        returned: packets(fabric.returned()),
        remaining: packets(fabric.count_remaining()),
        ..RunTotals::default()
    }
}
