//! Applications of one's own: what they are called, and what makes them.

use super::Application;
use std::fmt;
use std::sync::Arc;
use tailcut_design::register::{NameError, Named, Register, Registered};
use tailcut_units::{Rate, Time};
use tailcut_workload::SizeDistribution;

/// What an application of one's own is told of the run that it feeds.
#[derive(Clone, Copy, Debug)]
pub struct ApplicationSeat<'a> {
    /// Hosts in the network: 0 to one less than this.
    pub hosts: u32,
    /// By host: the number of its rack.
    pub racks: &'a [u32],
    /// The slowest link of any host.
    pub host_rate: Rate,
    /// The sizes that the scenario says.
    pub sizes: &'a SizeDistribution,
    /// When it is to begin.
    pub from: Time,
    /// When it is to begin nothing more.
    pub until: Time,
    /// How many things it is to begin at most, where the scenario says.
    pub at_most: Option<u64>,
    /// The seed of its random stream.
    pub seed: u64,
}

type Make = Arc<dyn Fn(&ApplicationSeat<'_>) -> Box<dyn Application> + Send + Sync>;

/// An application of one's own. Once registered it feeds the runs of scenarios that name it.
#[derive(Clone)]
pub struct OwnApplication {
    name: &'static str,
    about: &'static str,
    make: Make,
}

impl OwnApplication {
    /// An application that is called `name`; `about` is a line for `tailcut list workloads`. `make` is
    /// called once for each run, and carries what parameters there are.
    pub fn new<A: Application + 'static>(
        name: &'static str,
        about: &'static str,
        make: impl Fn(&ApplicationSeat<'_>) -> A + Send + Sync + 'static,
    ) -> Self {
        Self {
            name,
            about,
            make: Arc::new(move |seat| Box::new(make(seat))),
        }
    }

    /// Returns its line in `tailcut list workloads`.
    pub const fn about(&self) -> &'static str {
        self.about
    }

    pub(crate) fn make(&self, seat: &ApplicationSeat<'_>) -> Box<dyn Application> {
        (self.make)(seat)
    }
}

impl Named for OwnApplication {
    fn name(&self) -> &'static str {
        self.name
    }
}

impl Registered for OwnApplication {
    fn all() -> Vec<&'static Self> {
        OWN_APPLICATIONS.all()
    }

    fn register(self) -> Result<(), NameError> {
        OWN_APPLICATIONS.enter(self, std::iter::empty())
    }
}

impl fmt::Debug for OwnApplication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

static OWN_APPLICATIONS: Register<OwnApplication> = Register::new();
