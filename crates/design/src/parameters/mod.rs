//! Parameters of designs, except TCP, with their sources.

mod ecmp;
mod hull;
mod priorities;
mod receiver_driven;
mod repnet;
mod requests;

pub use ecmp::EcmpHash;
pub use hull::{HullParameters, NicParameters, PhantomParameters};
pub use priorities::{PFabricParameters, PiasParameters, QosParameters};
pub use receiver_driven::{DecodeCores, NdpParameters, ScdpParameters, ScdpPlainParameters};
pub use repnet::RepNetParameters;
pub use requests::RequestParameters;

/// Parameters that only some designs have.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DesignParameters {
    /// Parameters of NDP and NDP+.
    pub ndp: NdpParameters,
    /// Parameters of SCDP.
    pub scdp: ScdpParameters,
    /// Parameters of scdp-plain, except those that it shares with SCDP.
    pub scdp_plain: ScdpPlainParameters,
    /// Parameters of pFabric.
    pub pfabric: PFabricParameters,
    /// Parameters of PIAS.
    pub pias: PiasParameters,
    /// Parameters of QoS.
    pub qos: QosParameters,
    /// Parameters of HULL.
    pub hull: HullParameters,
    /// Hash of ECMP.
    /// All hashes except the mixed hash need `@ecmp`, because other load balancers use the hash to distinguish flows.
    pub ecmp_hash: EcmpHash,
    /// Parameters of requests, servers and duplicates.
    pub requests: RequestParameters,
}
