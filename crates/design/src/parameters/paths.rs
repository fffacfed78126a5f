//! Parameters of the ways in which switches choose paths.

use tailcut_fabric::load_balancer::{
    CongaConfig, ExpeditusConfig, ExpeditusDeckConfig, LetFlowConfig, OmniscientConfig,
};
use tailcut_units::FiveTuple;

/// What switches hash a flow's packets by.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum EcmpHash {
    /// A well-mixed hash with a seed a switch.
    #[default]
    Mixed,
    /// CRC-32, the same at every switch, and the remainder of it.
    Crc32,
    /// The exclusive or of addresses and ports, the same at every switch, and the remainder of it.
    Xor,
}

impl EcmpHash {
    /// The hash of a flow.
    #[inline]
    pub const fn of(self, tuple: &FiveTuple) -> u32 {
        match self {
            Self::Mixed => tuple.hash(),
            Self::Crc32 => tuple.crc32(),
            Self::Xor => tuple.xor(),
        }
    }
}

/// Parameters of the routings that have some.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct PathParameters {
    /// What ECMP hashes by. Anything but the mixed hash only where ECMP is all that switches do: other
    /// routings tell flows apart by it.
    pub ecmp_hash: EcmpHash,
    /// LetFlow's.
    pub letflow: LetFlowConfig,
    /// CONGA's.
    pub conga: CongaConfig,
    /// Those of Expeditus.
    pub expeditus: ExpeditusConfig,
    /// Those of Expeditus in its first form.
    pub expeditus_deck: ExpeditusDeckConfig,
    /// The omniscient chooser's.
    pub omniscient: OmniscientConfig,
}
