//! Frames as other programs send them.
//! The tests build each frame byte by byte, and compute its checksums over the whole frame.

use std::net::{Ipv4Addr, Ipv6Addr};

pub const MAC_A: [u8; 6] = [2, 0, 0, 0, 0, 1];
pub const MAC_B: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// Returns the Internet checksum as section 4.1 of RFC 1071 computes it.
pub fn checksum(bytes: &[u8]) -> u16 {
    let mut sum: u32 = 0;
    for pair in bytes.chunks(2) {
        let low = pair.get(1).copied().unwrap_or(0);
        sum += u32::from(pair[0]) << 8 | u32::from(low);
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

pub fn ethernet(ether_type: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    frame.extend(MAC_B);
    frame.extend(MAC_A);
    frame.extend(ether_type.to_be_bytes());
    frame.extend(payload);
    frame
}

/// Inserts a VLAN tag into a frame.
pub fn tagged(frame: &[u8], tag: u16) -> Vec<u8> {
    let mut tagged = frame[..12].to_vec();
    tagged.extend([0x81, 0x00]);
    tagged.extend(tag.to_be_bytes());
    tagged.extend(&frame[12..]);
    tagged
}

#[derive(Clone, Debug)]
pub struct V4 {
    pub src: Ipv4Addr,
    pub dst: Ipv4Addr,
    pub traffic_class: u8,
    pub ttl: u8,
    pub id: u16,
    /// Flags and fragment offset, in the bits of the IPv4 header.
    pub fragment: u16,
    /// Options of the IPv4 header, in words of four bytes.
    pub options: Vec<[u8; 4]>,
}

impl Default for V4 {
    fn default() -> Self {
        Self {
            src: Ipv4Addr::new(10, 0, 0, 1),
            dst: Ipv4Addr::new(10, 0, 0, 2),
            traffic_class: 0,
            ttl: 64,
            id: 0x1234,
            fragment: 0x4000,
            options: Vec::new(),
        }
    }
}

impl V4 {
    pub fn packet(&self, protocol: u8, payload: &[u8]) -> Vec<u8> {
        let words = 5 + self.options.len();
        let total = (4 * words + payload.len()) as u16;
        let mut packet = vec![0x40 | words as u8, self.traffic_class];
        packet.extend(total.to_be_bytes());
        packet.extend(self.id.to_be_bytes());
        packet.extend(self.fragment.to_be_bytes());
        packet.extend([self.ttl, protocol, 0, 0]);
        packet.extend(self.src.octets());
        packet.extend(self.dst.octets());
        packet.extend(self.options.iter().flatten());
        let sum = checksum(&packet);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        packet.extend(payload);
        packet
    }

    pub fn frame(&self, protocol: u8, payload: &[u8]) -> Vec<u8> {
        ethernet(0x0800, &self.packet(protocol, payload))
    }

    /// Returns a frame with a TCP segment and its correct checksum.
    pub fn tcp(&self, ports: [u16; 2], flags: u8, payload: &[u8]) -> Vec<u8> {
        let mut segment = tcp(ports, flags, payload);
        let mut summed = self.src.octets().to_vec();
        summed.extend(self.dst.octets());
        summed.extend([0, 6]);
        summed.extend((segment.len() as u16).to_be_bytes());
        summed.extend(&segment);
        let sum = checksum(&summed);
        segment[16..18].copy_from_slice(&sum.to_be_bytes());
        self.frame(6, &segment)
    }

    pub fn udp(&self, ports: [u16; 2], payload: &[u8]) -> Vec<u8> {
        let mut pseudo = self.src.octets().to_vec();
        pseudo.extend(self.dst.octets());
        pseudo.extend([0, 17]);
        pseudo.extend((8 + payload.len() as u16).to_be_bytes());
        self.frame(17, &udp(&pseudo, ports, payload))
    }
}

#[derive(Clone, Debug)]
pub struct V6 {
    pub src: Ipv6Addr,
    pub dst: Ipv6Addr,
    pub traffic_class: u8,
    pub flow_label: u32,
    pub hop_limit: u8,
}

impl Default for V6 {
    fn default() -> Self {
        Self {
            src: Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1),
            dst: Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2),
            traffic_class: 0,
            flow_label: 0xabcde,
            hop_limit: 64,
        }
    }
}

impl V6 {
    pub fn frame(&self, next_header: u8, payload: &[u8]) -> Vec<u8> {
        let first = 6 << 28 | u32::from(self.traffic_class) << 20 | self.flow_label;
        let mut packet = first.to_be_bytes().to_vec();
        packet.extend((payload.len() as u16).to_be_bytes());
        packet.extend([next_header, self.hop_limit]);
        packet.extend(self.src.octets());
        packet.extend(self.dst.octets());
        packet.extend(payload);
        ethernet(0x86dd, &packet)
    }

    pub fn udp(&self, ports: [u16; 2], payload: &[u8]) -> Vec<u8> {
        let mut pseudo = self.src.octets().to_vec();
        pseudo.extend(self.dst.octets());
        pseudo.extend((8 + payload.len() as u32).to_be_bytes());
        pseudo.extend([0, 0, 0, 17]);
        self.frame(17, &udp(&pseudo, ports, payload))
    }
}

fn udp(pseudo: &[u8], [src, dst]: [u16; 2], payload: &[u8]) -> Vec<u8> {
    let mut datagram = src.to_be_bytes().to_vec();
    datagram.extend(dst.to_be_bytes());
    datagram.extend((8 + payload.len() as u16).to_be_bytes());
    datagram.extend([0, 0]);
    datagram.extend(payload);
    let mut summed = pseudo.to_vec();
    summed.extend(&datagram);
    let sum = match checksum(&summed) {
        0 => 0xffff,
        sum => sum,
    };
    datagram[6..8].copy_from_slice(&sum.to_be_bytes());
    datagram
}

/// Returns a TCP header without options.
pub fn tcp([src, dst]: [u16; 2], flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut segment = src.to_be_bytes().to_vec();
    segment.extend(dst.to_be_bytes());
    segment.extend([0, 0, 0, 9, 0, 0, 0, 5, 0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    segment.extend(payload);
    segment
}
