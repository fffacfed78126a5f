//! Parameters of the designs beside TCP, with their sources.

mod hull;
mod paths;
mod priorities;
mod receiver_driven;
mod repnet;
mod requests;

pub use hull::{HullParameters, NicParameters, PacerParameters, PhantomParameters};
pub use paths::{EcmpHash, PathParameters};
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
    /// Those of the ways in which switches choose paths.
    pub paths: PathParameters,
    /// Those of requests, servers and duplicates.
    pub requests: RequestParameters,
}
