//! Queues of a run's switch ports.
//! A queue is the design's queue, the user's discipline, or the network's queue with a class for copies.

use crate::design::Design;
use crate::settings::{Settings, Traffic};
use tailcut_fabric::queue::{NamedQueue, PortBuffer, PushOut, QueueConfig, Sharing, Trimming};
use tailcut_transport::ConfigError;

/// Function that returns the queue of a port. `None` keeps the network's queue.
pub(crate) type QueuePlan = Box<dyn Fn(&PortBuffer) -> Option<QueueConfig> + Send + Sync>;

impl Design {
    /// Returns the function that sets the queues of switch ports.
    ///
    /// # Errors
    /// The ports cannot have the discipline of the user ([`Design::discipline`]).
    pub(crate) fn queues(
        &self,
        settings: &Settings,
        traffic: Traffic,
    ) -> Result<QueuePlan, ConfigError> {
        if let Some(discipline) = self.discipline(settings, traffic)? {
            let values = settings.values_of(discipline.name, discipline.parameters);
            let marks = self.ports.marks(settings);
            return Ok(Box::new(move |port| {
                let port = PortBuffer {
                    mark_above: port.mark_above.filter(|_| marks),
                    ..*port
                };
                Some((discipline.build)(&port, &values))
            }));
        }
        let values = settings.values_of(self.name, self.parameters);
        let own = self.ports.queue(settings, &values);
        Ok(Box::new(move |port| {
            let own = own.as_ref().map(|make| make(port));
            match traffic {
                Traffic::Requests => {
                    with_copies(own.unwrap_or_else(|| QueueConfig::DropTail(port.fifo())))
                }
                Traffic::Transfers | Traffic::Steered => own,
            }
        }))
    }

    /// Returns the user's discipline for switch ports. `None`: the ports keep the design's queue.
    ///
    /// # Errors
    /// The design needs its own queue, or copies of requests need a separate class.
    pub fn discipline(
        &self,
        settings: &Settings,
        traffic: Traffic,
    ) -> Result<Option<&'static NamedQueue>, ConfigError> {
        let Some(discipline) = settings.discipline else {
            return Ok(None);
        };
        let copies = || {
            (traffic == Traffic::Requests)
                .then_some("copies of requests need their own class at ports")
        };
        match self.ports.fixed().or_else(copies) {
            None => Ok(Some(discipline)),
            Some(why) => Err(ConfigError {
                key: "queue.discipline",
                found: format!("\"{}\" with '{}'", discipline.name, self.name),
                allowed: format!("\"fifo\": {why}").into(),
            }),
        }
    }
}

/// Returns a queue with one more class below all others, for copies of requests.
/// Returns `None` if the queue cannot have one more class.
fn with_copies(queue: QueueConfig) -> Option<QueueConfig> {
    let pushed_out = |classes, limit, mark_above| {
        QueueConfig::PushOut(PushOut {
            classes: classes + 1,
            group: classes,
            limit,
            mark_above,
        })
    };
    Some(match queue {
        QueueConfig::DropTail(queue) => pushed_out(1, queue.limit, queue.mark_above),
        QueueConfig::Priority(queue) => pushed_out(queue.classes, queue.limit, queue.mark_above),
        QueueConfig::Trimming(queue) => QueueConfig::Trimming(Trimming {
            classes: queue.classes + 1,
            // The class of copies has its own limit, which equals the limit of each other class.
            sharing: match queue.sharing {
                Sharing::PerClass => Sharing::PerClass,
                Sharing::Shared | Sharing::LastApart => Sharing::LastApart,
            },
            ..queue
        }),
        QueueConfig::PushOut(_) | QueueConfig::PFabric(_) | QueueConfig::Custom(_) => return None,
    })
}
