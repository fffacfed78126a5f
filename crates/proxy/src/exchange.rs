//! Atomic replacement of a set of listening sockets by another set.

use anyhow::Result;
use std::future::Future;

/// Functions that open and close the listening sockets of one kind of listener.
pub trait ListenerFactory: Sync {
    /// Description of a listener to open.
    type Plan: Send + Sync;
    /// Type of an open listener.
    type Open: Send + Sync;

    /// Whether the open listener already matches the plan and can stay open.
    fn serves(open: &Self::Open, plan: &Self::Plan) -> bool;

    /// Returns whether the open listener and the plan use the same port.
    /// The listener must then close before the plan can be opened.
    fn collide(open: &Self::Open, plan: &Self::Plan) -> bool;

    /// Opens a listener.
    ///
    /// # Errors
    /// The address cannot be opened for listening. The error names it.
    fn open(&self, plan: &Self::Plan) -> impl Future<Output = Result<Self::Open>> + Send;

    /// Closes a listener and waits until its port is free. Returns the plan that opens it again at the same address.
    fn close(open: Self::Open) -> impl Future<Output = Self::Plan> + Send;
}

/// Makes the open listeners match the plans: it opens planned listeners, and closes open listeners that have no plan.
///
/// # Errors
/// An address cannot be opened for listening. All old listeners then stay open, or are opened again.
/// If another process has taken the port of a closed listener in the meantime, the error also names that port.
pub async fn exchange<F: ListenerFactory>(
    factory: &F,
    open: &mut Vec<F::Open>,
    plans: Vec<F::Plan>,
) -> Result<()> {
    let goes_on = |old: &F::Open| plans.iter().any(|plan| F::serves(old, plan));
    let (kept, leaving): (Vec<_>, Vec<_>) = open.drain(..).partition(goes_on);
    let fresh = plans
        .into_iter()
        .filter(|plan| !kept.iter().any(|old| F::serves(old, plan)));
    // Plans whose port is free are opened before any listener closes. If one of them fails, no connection is lost.
    let takes_over = |plan: &F::Plan| leaving.iter().any(|old| F::collide(old, plan));
    let (late, early): (Vec<_>, Vec<_>) = fresh.partition(takes_over);
    *open = kept;
    let mut opened = Vec::new();
    for plan in &early {
        match factory.open(plan).await {
            Ok(listener) => opened.push(listener),
            Err(error) => {
                open.extend(leaving);
                return Err(error);
            }
        }
    }
    let is_in_the_way = |old: &F::Open| late.iter().any(|plan| F::collide(old, plan));
    let (in_the_way, others): (Vec<_>, Vec<_>) = leaving.into_iter().partition(is_in_the_way);
    let mut closed = Vec::new();
    for old in in_the_way {
        closed.push(F::close(old).await);
    }
    for plan in &late {
        match factory.open(plan).await {
            Ok(listener) => opened.push(listener),
            Err(mut error) => {
                for listener in opened {
                    F::close(listener).await;
                }
                open.extend(others);
                for plan in &closed {
                    match factory.open(plan).await {
                        Ok(listener) => open.push(listener),
                        Err(again) => error = error.context(format!("{again:#}")),
                    }
                }
                return Err(error);
            }
        }
    }
    open.extend(opened);
    for old in others {
        F::close(old).await;
    }
    Ok(())
}
