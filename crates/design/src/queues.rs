//! Queues of a run's switch ports: the design's, the user's choice, or the network's with a class for copies.

use crate::design::Design;
use crate::register::Registered;
use crate::settings::{Settings, Traffic};
use tailcut_fabric::queue::{NamedQueue, PortBuffer, PushOut, QueueConfig, Sharing, Trimming};
use tailcut_transport::ConfigError;

/// Function that gives the queue of a port; `None` keeps the network's.
pub(crate) type QueuePlan = Box<dyn Fn(&PortBuffer) -> Option<QueueConfig> + Send + Sync>;

impl Design {
    /// Returns the queues of switch ports.
    ///
    /// # Errors
    /// `queue.discipline` names no discipline, or ports that the design or requests need cannot have another.
    pub(crate) fn queues(
        &self,
        settings: &Settings,
        traffic: Traffic,
    ) -> Result<QueuePlan, ConfigError> {
        if settings.discipline != "fifo" {
            return self.chosen(settings, traffic);
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

    /// Returns queues of the discipline that the user chose.
    fn chosen(&self, settings: &Settings, traffic: Traffic) -> Result<QueuePlan, ConfigError> {
        let refused = |allowed: String| ConfigError {
            key: "queue.discipline",
            found: format!("\"{}\" with '{}'", settings.discipline, self.name),
            allowed: allowed.into(),
        };
        let Some(discipline) = NamedQueue::named(settings.discipline) else {
            let names: Vec<&str> = NamedQueue::all().iter().map(|one| one.name).collect();
            return Err(refused(names.join(", ")));
        };
        if let Some(why) = self.discipline_obstacle(traffic) {
            return Err(refused(format!("\"fifo\": {why}")));
        }
        let values = settings.values_of(discipline.name, discipline.parameters);
        let marks = self.ports.marks(settings);
        Ok(Box::new(move |port| {
            let port = PortBuffer {
                mark_above: port.mark_above.filter(|_| marks),
                ..*port
            };
            Some((discipline.build)(&port, &values))
        }))
    }

    /// Returns why ports of the design cannot have a discipline that the user chooses, or `None` if they can.
    pub fn discipline_obstacle(&self, traffic: Traffic) -> Option<&'static str> {
        let copies = || {
            (traffic == Traffic::Requests)
                .then_some("copies of requests need their own class at ports")
        };
        self.ports.fixed().or_else(copies)
    }
}

/// Returns a queue with a class for copies of requests below its own, or `None` for a queue without classes.
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
            // Copies have as much room, apart from the others.
            sharing: match queue.sharing {
                Sharing::PerClass => Sharing::PerClass,
                Sharing::Shared | Sharing::LastApart => Sharing::LastApart,
            },
            ..queue
        }),
        QueueConfig::PushOut(_) | QueueConfig::PFabric(_) | QueueConfig::Custom(_) => return None,
    })
}
