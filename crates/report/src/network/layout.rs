//! Positions of nodes and links in a drawing. Hosts are in the lowest row, and each tier has one row above them.

use super::graph::{Edge, Graph};

/// Width of the column on the left that contains the names of the tiers.
const NAMES: f64 = 86.0;
const MARGIN: f64 = 14.0;
pub(super) const FONT: f64 = 11.0;
/// Height of the box of a switch.
pub(super) const BOX: f64 = 18.0;

/// Point in the drawing: horizontal and vertical coordinate.
pub(super) type Point = (f64, f64);

/// Position of a node: its centre, its width, and the width that is available to it in its row.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub(super) struct NodePosition {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub room: f64,
}

/// Sizes and positions of all elements of a drawing.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub width: f64,
    pub height: f64,
    /// Position of each node.
    pub positions: Vec<NodePosition>,
    /// Line of each link direction, in the order of [`Graph::ports`].
    /// A line begins at the sender, and is on the right side of its edge.
    pub lines: Vec<Vec<Point>>,
    /// Factor for the widths of lines, 0.3 to 1. It prevents neighbouring lines from touching.
    pub thickness: f64,
    /// Width of the longest host name.
    /// If hosts have less space, no host shows its name, because only some names would fit.
    pub host_name: f64,
    /// Vertical position and name of each tier.
    pub tiers: Vec<(f64, String)>,
}

impl Layout {
    pub fn of(graph: &Graph) -> Self {
        let top = graph.top();
        let count = |tier: u8| graph.tier(tier).count() as f64;
        let folded = graph.is_folded();
        let names = graph
            .tier(0)
            .map(|node| text_width(&graph.nodes[node].name));
        let host_name = names.fold(0.0, f64::max) + 2.0;
        let room = |tier: u8| match (tier, folded) {
            // Up to forty hosts fit into a row together with their names.
            (0, false) if count(0) <= 40.0 => count(0) * (host_name + 2.0).max(24.0),
            (0, false) => count(tier) * 16.0,
            _ => count(tier) * 64.0,
        };
        let needed = (0..=top).map(room).fold(0.0, f64::max);
        let inner = needed.clamp(230.0, 1_040.0);
        let width = NAMES + inner + MARGIN;
        let gap = match graph.edges.len() {
            ..=200 => 104.0,
            201..=600 => 150.0,
            _ => 210.0,
        };
        let above = match has_links_within_tiers(graph) {
            true => gap * 0.6,
            false => MARGIN + BOX,
        };
        let y = |tier: u8| above + f64::from(top - tier) * gap;
        let height = y(0) + if folded { BOX } else { FONT * 2.0 } + 4.0;
        let mut positions = vec![NodePosition::default(); graph.nodes.len()];
        let degrees = degrees(graph);
        // A switch needs enough width for its ports, on the side that has more ports.
        let ports = |node: usize| degrees[node] as f64 * 12.0;
        for tier in order_of_placing(top) {
            let row = graph.tier(tier);
            let mut row: Vec<(f64, usize)> = row
                .map(|node| (pull(graph, node, tier, &positions), node))
                .collect();
            row.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let spacing = inner / row.len().max(1) as f64;
            for (place, (_, node)) in row.into_iter().enumerate() {
                positions[node] = NodePosition {
                    x: NAMES + (place as f64 + 0.5) * spacing,
                    y: y(tier),
                    room: spacing,
                    width: match graph.nodes[node].hosts {
                        1 => (spacing * 0.6).min(9.0),
                        _ => {
                            let name = text_width(&graph.nodes[node].name) + 8.0;
                            (spacing * 0.84).min(ports(node).max(60.0).max(name))
                        }
                    },
                };
            }
        }
        settle_above_hosts(graph, &mut positions);
        let ends = ends(graph, &positions);
        let rooms = ends.iter().map(|(_, _, room)| *room);
        let closest = rooms.fold(f64::INFINITY, f64::min);
        Self {
            width,
            height,
            lines: lines(graph, &positions, &ends, gap),
            host_name,
            thickness: (closest / 8.0).clamp(0.3, 1.0),
            positions,
            tiers: (0..=top)
                .map(|tier| (y(tier), tier_name(tier, top)))
                .collect(),
        }
    }
}

/// Returns the approximate width of a text.
pub(super) fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * FONT * 0.6
}

/// Returns, for each node, the larger of two numbers: its edges to higher tiers and its edges to lower tiers.
fn degrees(graph: &Graph) -> Vec<usize> {
    let mut sides = vec![[0usize; 2]; graph.nodes.len()];
    for edge in &graph.edges {
        sides[edge.low][0] += 1;
        sides[edge.high][1] += 1;
    }
    sides.into_iter().map(|[up, down]| up.max(down)).collect()
}

/// Returns the order in which tiers are placed. The switches next to the hosts are first, ordered by number.
/// The hosts follow, ordered by their switch. The higher tiers come last.
fn order_of_placing(top: u8) -> impl Iterator<Item = u8> {
    [1, 0]
        .into_iter()
        .filter(move |tier| *tier <= top)
        .chain(2..=top)
}

/// Returns the mean position of a node's neighbours in the adjacent tier that was placed earlier.
fn pull(graph: &Graph, node: usize, tier: u8, positions: &[NodePosition]) -> f64 {
    let beside = match tier {
        0 => 1,
        1 => return 0.0,
        tier => tier - 1,
    };
    let others = graph.edges.iter().filter_map(|edge| other_end(edge, node));
    let (mut sum, mut count) = (0.0, 0);
    for other in others.filter(|&other| graph.nodes[other].tier == beside) {
        sum += positions[other].x;
        count += 1;
    }
    sum / f64::from(count.max(1))
}

fn other_end(edge: &Edge, node: usize) -> Option<usize> {
    match (edge.low == node, edge.high == node) {
        (true, _) => Some(edge.high),
        (_, true) => Some(edge.low),
        _ => None,
    }
}

/// Moves each switch that has hosts to the middle above its hosts, if the hosts are not evenly spread.
fn settle_above_hosts(graph: &Graph, positions: &mut [NodePosition]) {
    let mut sums = vec![(0.0, 0u32); positions.len()];
    for edge in graph
        .edges
        .iter()
        .filter(|edge| graph.nodes[edge.low].tier == 0)
    {
        let (sum, count) = &mut sums[edge.high];
        *sum += positions[edge.low].x;
        *count += 1;
    }
    let row: Vec<usize> = graph.tier(1).collect();
    let settled: Vec<f64> = row
        .iter()
        .map(|&node| sums[node].0 / f64::from(sums[node].1.max(1)))
        .collect();
    let nearest = |place: usize| {
        let others = settled.iter().enumerate();
        let others = others.filter(|(other, _)| *other != place);
        let distances = others.map(|(_, x)| (x - settled[place]).abs());
        distances.fold(f64::INFINITY, f64::min)
    };
    let room: Vec<f64> = (0..row.len()).map(nearest).collect();
    // If hosts have several switches, the move could put two of their switches on top of each other.
    // The switches of hosts with several switches stay evenly spread.
    if room.iter().all(|room| *room > 4.0) {
        let linked = has_links_within_tiers(graph);
        for ((node, x), room) in row.into_iter().zip(settled).zip(room) {
            let share = if linked { 0.55 } else { 0.84 };
            positions[node].x = x;
            positions[node].width = positions[node].width.min(room * share);
        }
    }
}

/// Returns whether a link connects two nodes of the same tier.
fn has_links_within_tiers(graph: &Graph) -> bool {
    graph
        .edges
        .iter()
        .any(|edge| graph.nodes[edge.low].tier == graph.nodes[edge.high].tier)
}

/// Ends of an edge: the point at its lower node, the point at its higher node, and the free width next to the edge.
type Ends = (Point, Point, f64);

/// Returns the line of each directed link.
fn lines(graph: &Graph, positions: &[NodePosition], ends: &[Ends], gap: f64) -> Vec<Vec<Point>> {
    let mut lines = Vec::with_capacity(graph.directions());
    for (edge, (from, to, room)) in graph.edges.iter().zip(ends) {
        let aside = (room * 0.22).clamp(0.5, 2.8);
        let (low, high) = (&graph.nodes[edge.low], &graph.nodes[edge.high]);
        let mut line = vec![*from, *to];
        if low.tier == high.tier && !are_neighbours(graph, edge, positions) {
            // The line passes above the nodes between its two ends.
            let rise = (0.25 * (to.0 - from.0).abs()).min(gap * 0.5);
            line.insert(1, ((from.0 + to.0) / 2.0, from.1 - rise));
        }
        lines.push(beside(&line, aside));
        line.reverse();
        lines.push(beside(&line, aside));
    }
    lines
}

fn are_neighbours(graph: &Graph, edge: &Edge, positions: &[NodePosition]) -> bool {
    let (a, b) = (positions[edge.low].x, positions[edge.high].x);
    let between = graph
        .tier(graph.nodes[edge.low].tier)
        .map(|node| positions[node].x);
    between.filter(|x| *x > a.min(b) && *x < a.max(b)).count() == 0
}

fn ends(graph: &Graph, positions: &[NodePosition]) -> Vec<Ends> {
    // For each node: the edges above the node, and the edges below the node.
    // The edges are ordered by their other ends, so that they do not cross at the node.
    let mut above = vec![Vec::new(); positions.len()];
    let mut below = vec![Vec::new(); positions.len()];
    for (index, edge) in graph.edges.iter().enumerate() {
        if graph.nodes[edge.low].tier < graph.nodes[edge.high].tier {
            above[edge.low].push((index, positions[edge.high].x));
            below[edge.high].push((index, positions[edge.low].x));
        }
    }
    for side in above.iter_mut().chain(&mut below) {
        side.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    }
    let port = |node: usize, side: &[(usize, f64)], index: usize| {
        let rank = side
            .iter()
            .position(|(other, _)| *other == index)
            .unwrap_or(0);
        let room = positions[node].width / side.len().max(1) as f64;
        (
            positions[node].x - positions[node].width / 2.0 + (rank as f64 + 0.5) * room,
            room,
        )
    };
    let half = |node: usize| match graph.nodes[node].hosts {
        1 => positions[node].width / 2.0,
        _ => BOX / 2.0,
    };
    let edges = graph.edges.iter().enumerate();
    edges
        .map(|(index, edge)| {
            let (low, high) = (positions[edge.low], positions[edge.high]);
            if graph.nodes[edge.low].tier == graph.nodes[edge.high].tier {
                let towards = (high.x - low.x).signum();
                return match are_neighbours(graph, edge, positions) {
                    true => (
                        (low.x + towards * low.width / 2.0, low.y),
                        (high.x - towards * high.width / 2.0, high.y),
                        low.width,
                    ),
                    false => (
                        (low.x, low.y - half(edge.low)),
                        (high.x, high.y - half(edge.high)),
                        low.width,
                    ),
                };
            }
            let (from, room_below) = port(edge.low, &above[edge.low], index);
            let (to, room_above) = port(edge.high, &below[edge.high], index);
            (
                (from, low.y - half(edge.low)),
                (to, high.y + half(edge.high)),
                room_below.min(room_above),
            )
        })
        .collect()
}

/// Returns a line that is moved by `aside` to the right of its direction.
fn beside(line: &[Point], aside: f64) -> Vec<Point> {
    let (first, last) = (line[0], line[line.len() - 1]);
    let (dx, dy) = (last.0 - first.0, last.1 - first.1);
    let length = dx.hypot(dy).max(1e-9);
    let (right, down) = (-dy / length * aside, dx / length * aside);
    line.iter().map(|(x, y)| (x + right, y + down)).collect()
}

/// Returns the usual name of the switches in a tier.
fn tier_name(tier: u8, top: u8) -> String {
    let name = match (tier, top) {
        (0, _) => "hosts",
        (1, 1) => "switches",
        (1, 2) => "leaf",
        (2, 2) => "spine",
        (1, 3) => "edge",
        (2, 3) => "aggregation",
        (3, 3) => "core",
        _ => return format!("tier {tier}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_record::TopologyLink;
    use tailcut_units::{Duration, Rate};

    /// Returns a graph that has links in both directions between nodes of the given tiers.
    fn graph(pairs: &[(&str, u8, &str, u8)]) -> Graph {
        let both = pairs
            .iter()
            .flat_map(|&(a, low, b, high)| [(a, low, b, high), (b, high, a, low)]);
        let links: Vec<TopologyLink> = (0..)
            .zip(both)
            .map(|(port, (from, from_tier, to, to_tier))| TopologyLink {
                port,
                from: from.to_owned(),
                to: to.to_owned(),
                from_tier,
                to_tier,
                rate: Rate::from_gbps(10),
                delay: Duration::from_us(1),
            })
            .collect();
        Graph::of(&links).expect("links")
    }

    /// Asserts that nodes do not overlap and are inside the drawing, and that no two directed links share a line.
    fn assert_apart(graph: &Graph) {
        let layout = Layout::of(graph);
        for tier in 0..=graph.top() {
            let mut row: Vec<NodePosition> = graph
                .tier(tier)
                .map(|node| layout.positions[node])
                .collect();
            row.sort_by(|a, b| a.x.total_cmp(&b.x));
            for pair in row.windows(2) {
                let (right, left) = (
                    pair[0].x + pair[0].width / 2.0,
                    pair[1].x - pair[1].width / 2.0,
                );
                assert!(right < left, "{pair:?}");
            }
            for place in row {
                assert!(place.x - place.width / 2.0 >= 0.0, "{place:?}");
                assert!(place.x + place.width / 2.0 <= layout.width, "{place:?}");
            }
        }
        for (index, line) in layout.lines.iter().enumerate() {
            assert!(line.iter().all(
                |(x, y)| (0.0..=layout.width).contains(x) && (0.0..=layout.height).contains(y)
            ));
            assert!(!layout.lines[..index].contains(line));
        }
    }

    #[test]
    fn switches_that_are_linked_within_a_tier_stay_apart() {
        assert_apart(&graph(&[
            ("h0", 0, "s0", 1),
            ("h1", 0, "s0", 1),
            ("h2", 0, "s0", 1),
            ("h3", 0, "s1", 1),
            ("h4", 0, "s2", 1),
            ("s0", 1, "s1", 1),
            ("s1", 1, "s2", 1),
            ("s0", 1, "s2", 1),
        ]));
    }

    #[test]
    fn hosts_on_several_switches_do_not_pull_these_together() {
        assert_apart(&graph(&[
            ("h0", 0, "s0", 1),
            ("h0", 0, "s1", 1),
            ("h1", 0, "s0", 1),
            ("h1", 0, "s1", 1),
            ("s0", 1, "s2", 2),
            ("s1", 1, "s2", 2),
        ]));
    }

    #[test]
    fn hosts_with_long_names_get_room_for_them() {
        let graph = graph(&[
            ("client[10]", 0, "rack", 1),
            ("client[11]", 0, "rack", 1),
            ("store", 0, "the other rack", 1),
            ("rack", 1, "the other rack", 1),
        ]);
        let layout = Layout::of(&graph);
        for node in graph.tier(0) {
            assert!(layout.positions[node].room >= layout.host_name);
        }
        assert_apart(&graph);
    }

    #[test]
    fn traffic_keeps_to_the_right() {
        let graph = graph(&[("h0", 0, "s0", 1)]);
        let layout = Layout::of(&graph);
        let [up, down] = &layout.lines[..] else {
            panic!("two directions");
        };
        assert!(up[0].1 > up[1].1, "up from the host");
        assert!(up[0].0 > down[0].0, "on the right");
        assert_eq!(graph.ends(0), ("h0", "s0"));
    }
}
