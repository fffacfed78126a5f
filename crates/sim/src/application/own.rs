//! Registration of custom applications.

use super::Application;
use std::fmt;
use std::sync::Arc;
use tailcut_design::register::{NameError, Named, Register, Registered};
use tailcut_units::{Rate, Time};
use tailcut_workload::SizeDistribution;

/// Parameters that a custom application receives from its run.
#[derive(Clone, Copy, Debug)]
pub struct ApplicationSeat<'a> {
    /// Number of hosts in the network. Hosts are numbered from 0.
    pub hosts: u32,
    /// Number of the rack, by host.
    pub racks: &'a [u32],
    /// Rate of the slowest host link.
    pub host_rate: Rate,
    /// Size distribution of the scenario.
    pub sizes: &'a SizeDistribution,
    /// Start of the application.
    pub from: Time,
    /// Time after which the application must not start operations.
    pub until: Time,
    /// Largest number of operations that the application starts, if the scenario limits it.
    pub at_most: Option<u64>,
    /// Seed for the random numbers of the application.
    pub seed: u64,
}

type Make = Arc<dyn Fn(&ApplicationSeat<'_>) -> Box<dyn Application> + Send + Sync>;

/// Custom application. After the application is registered, a scenario can use it by name.
#[derive(Clone)]
pub struct OwnApplication {
    name: &'static str,
    about: &'static str,
    make: Make,
}

impl OwnApplication {
    /// Creates an application with this name. `about` is its description in `tailcut list workloads`.
    /// `make` creates the application for each run. This closure can capture parameters.
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

    /// Returns the application's description in `tailcut list workloads`.
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
