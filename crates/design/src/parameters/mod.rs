//! Parameters of the designs beside TCP, with their sources.

mod ecmp;
mod hull;
mod priorities;
mod receiver_driven;
mod repnet;
mod requests;

pub use ecmp::EcmpHash;
pub use hull::{HullParameters, NicParameters, PacerParameters, PhantomParameters};
pub use priorities::{PFabricParameters, PiasParameters, QosParameters};
pub use receiver_driven::{DecodeCores, NdpParameters, ScdpParameters, ScdpPlainParameters};
pub use repnet::RepNetParameters;
pub use requests::RequestParameters;

/// Parameters that only some designs have.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DesignParameters {
    /// NDP's and NDP+'s.
    pub ndp: NdpParameters,
    /// SCDP's.
    pub scdp: ScdpParameters,
    /// scdp-plain's, beside those that it shares with SCDP.
    pub scdp_plain: ScdpPlainParameters,
    /// pFabric's.
    pub pfabric: PFabricParameters,
    /// PIAS'.
    pub pias: PiasParameters,
    /// QoS'.
    pub qos: QosParameters,
    /// HULL's.
    pub hull: HullParameters,
    /// ECMP's hash. Another hash than the mixed one needs `@ecmp`: other load balancers distinguish flows by the hash.
    pub ecmp_hash: EcmpHash,
    /// Those of requests, servers and duplicates.
    pub requests: RequestParameters,
}
