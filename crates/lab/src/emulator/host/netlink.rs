//! Netlink client: it configures the devices, addresses and routes of a network namespace.

use crate::emulator::addresses::{self, IPV4_PREFIX, IPV6_PREFIX};
use crate::emulator::host::settings::KernelSettings;
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage,
    NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol,
    RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily as Family, RecvFlags, SendFlags, SocketFlags, SocketType};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::OwnedFd;
use tailcut_units::HostId;

/// Index of the loopback device, the first of every namespace.
const LOOPBACK: u32 = 1;
/// Bit for ECN in the features of a route.
const FEATURE_ECN: u32 = 1;

/// Netlink connection to the network namespace in which it was opened.
pub struct Netlink {
    socket: OwnedFd,
    sequence: u32,
}

impl Netlink {
    /// Opens a connection to the network namespace of the calling thread.
    ///
    /// # Errors
    /// The kernel rejects a call.
    pub fn open() -> io::Result<Self> {
        let kernel = SocketAddrNetlink::new(0, 0);
        let socket = rustix::net::socket_with(
            Family::NETLINK,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            // The protocol number 0 is NETLINK_ROUTE.
            None,
        )?;
        rustix::net::connect(&socket, &kernel)?;
        Ok(Self {
            socket,
            sequence: 0,
        })
    }

    /// Sets up the devices of a host: loopback, and the network card with index `card`.
    ///
    /// # Errors
    /// The kernel rejects a request.
    pub fn set_up(&mut self, host: HostId, card: u32, settings: &KernelSettings) -> io::Result<()> {
        self.link(LOOPBACK, Vec::new())?;
        let mac = addresses::mac(host).to_vec();
        let queue = LinkAttribute::TxQueueLen(settings.tap_queue);
        let attributes = vec![
            LinkAttribute::Address(mac),
            LinkAttribute::Mtu(settings.mtu),
            queue,
        ];
        self.link(card, attributes)?;
        self.address(card, addresses::ipv4(host).into(), IPV4_PREFIX)?;
        self.address(card, addresses::ipv6(host).into(), IPV6_PREFIX)?;
        self.route(host, card, settings)?;
        self.multicast_route(card)
    }

    /// Adds a permanent neighbour entry for host `other`.
    ///
    /// # Errors
    /// The kernel rejects a request.
    pub fn neighbour(&mut self, card: u32, other: HostId) -> io::Result<()> {
        let mac = addresses::mac(other).to_vec();
        let known = [
            (
                AddressFamily::Inet,
                NeighbourAddress::Inet(addresses::ipv4(other)),
            ),
            (
                AddressFamily::Inet6,
                NeighbourAddress::Inet6(addresses::ipv6(other)),
            ),
        ];
        for (family, address) in known {
            let mut message = NeighbourMessage::default();
            message.header.family = family;
            message.header.ifindex = card;
            message.header.state = NeighbourState::Permanent;
            message.header.kind = RouteType::Unicast;
            message.attributes = vec![
                NeighbourAttribute::Destination(address),
                NeighbourAttribute::LinkLayerAddress(mac.clone()),
            ];
            self.request(RouteNetlinkMessage::NewNeighbour(message))?;
        }
        Ok(())
    }

    /// Activates a device and sets its attributes.
    fn link(&mut self, device: u32, attributes: Vec<LinkAttribute>) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = device;
        message.header.flags = LinkFlags::Up;
        message.header.change_mask = LinkFlags::Up;
        message.attributes = attributes;
        self.request(RouteNetlinkMessage::SetLink(message))
    }

    fn address(&mut self, device: u32, address: IpAddr, prefix: u8) -> io::Result<()> {
        let mut message = AddressMessage::default();
        message.header.family = family(address);
        message.header.prefix_len = prefix;
        message.header.index = device;
        // Addresses are unique by construction, so duplicate address detection would only cost time.
        message.header.flags = AddressHeaderFlags::Nodad;
        message.attributes = vec![
            AddressAttribute::Address(address),
            AddressAttribute::Local(address),
        ];
        self.request(RouteNetlinkMessage::NewAddress(message))
    }

    /// Creates the route to all other hosts, with the TCP settings.
    /// The route replaces the route that the kernel creates when it adds the host's address.
    fn route(&mut self, host: HostId, card: u32, settings: &KernelSettings) -> io::Result<()> {
        let network =
            Ipv4Addr::from_bits(addresses::ipv4(host).to_bits() & (u32::MAX << (32 - IPV4_PREFIX)));
        let source = addresses::ipv4(host);
        let mut message = route(card, network, IPV4_PREFIX, RouteProtocol::Kernel);
        message
            .attributes
            .push(RouteAttribute::PrefSource(RouteAddress::Inet(source)));
        let mut metrics = vec![RouteMetric::CcAlgo(settings.congestion.name.clone())];
        if let Some(window) = settings.initial_window {
            metrics.push(RouteMetric::InitCwnd(window));
        }
        if let Some(window) = settings.window {
            metrics.push(RouteMetric::Window(window));
        }
        if settings.ecn {
            metrics.push(RouteMetric::Features(FEATURE_ECN));
        }
        message.attributes.push(RouteAttribute::Metrics(metrics));
        self.request(RouteNetlinkMessage::NewRoute(message))
    }

    fn multicast_route(&mut self, card: u32) -> io::Result<()> {
        let groups = Ipv4Addr::new(224, 0, 0, 0);
        let message = route(card, groups, 4, RouteProtocol::Boot);
        self.request(RouteNetlinkMessage::NewRoute(message))
    }

    /// Sends a request and waits for its reply.
    fn request(&mut self, request: RouteNetlinkMessage) -> io::Result<()> {
        self.sequence += 1;
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;
        header.sequence_number = self.sequence;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::from(request));
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        rustix::net::send(&self.socket, &bytes, SendFlags::empty())?;
        let mut answer = [0; 4_096];
        loop {
            let (length, _) = rustix::net::recv(&self.socket, &mut answer[..], RecvFlags::empty())?;
            let answer = answer.get(..length).unwrap_or_default();
            let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(answer)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
            // The reply belongs to an earlier request.
            if message.header.sequence_number != self.sequence {
                continue;
            }
            return match message.payload {
                NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
                _ => Ok(()),
            };
        }
    }
}

fn route(card: u32, network: Ipv4Addr, prefix: u8, protocol: RouteProtocol) -> RouteMessage {
    let mut message = RouteMessage::default();
    message.header.address_family = AddressFamily::Inet;
    message.header.destination_prefix_length = prefix;
    message.header.table = RouteHeader::RT_TABLE_MAIN;
    message.header.protocol = protocol;
    message.header.scope = RouteScope::Link;
    message.header.kind = RouteType::Unicast;
    message.attributes = vec![
        RouteAttribute::Destination(RouteAddress::Inet(network)),
        RouteAttribute::Oif(card),
    ];
    message
}

const fn family(address: IpAddr) -> AddressFamily {
    match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    }
}
