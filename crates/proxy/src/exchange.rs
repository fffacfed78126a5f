//! A set of listening sockets takes another set's place: as a whole, or not at all.

use anyhow::Result;
use std::future::Future;

/// What opens and closes listening sockets.
pub trait Doors: Sync {
    /// What is to listen.
    type Plan: Send + Sync;
    /// What listens.
    type Open: Send + Sync;

    /// Whether what listens is what is planned, and so goes on.
    fn serves(open: &Self::Open, plan: &Self::Plan) -> bool;

    /// Whether both need a port of the same number.
    fn collide(open: &Self::Open, plan: &Self::Plan) -> bool;

    /// Listens.
    ///
    /// # Errors
    /// An address that cannot be listened on, with its name.
    fn open(&self, plan: &Self::Plan) -> impl Future<Output = Result<Self::Open>> + Send;

    /// Closes its sockets, and waits until their ports are free. Gives the plan to open them again, where they
    /// were.
    fn close(open: Self::Open) -> impl Future<Output = Self::Plan> + Send;
}

/// Opens what is planned and not open yet, and closes what is open and not planned.
///
/// # Errors
/// An address that cannot be listened on. Then everything is as it was, and listens where it did. Where that
/// cannot be done, since a port was given up and taken by somebody else in between, the error says so.
pub async fn exchange<D: Doors>(
    doors: &D,
    open: &mut Vec<D::Open>,
    plans: Vec<D::Plan>,
) -> Result<()> {
    let goes_on = |old: &D::Open| plans.iter().any(|plan| D::serves(old, plan));
    let (kept, leaving): (Vec<_>, Vec<_>) = open.drain(..).partition(goes_on);
    let fresh = plans
        .into_iter()
        .filter(|plan| !kept.iter().any(|old| D::serves(old, plan)));
    // What listens elsewhere is opened before anything is closed.
    let takes_over = |plan: &D::Plan| leaving.iter().any(|old| D::collide(old, plan));
    let (late, early): (Vec<_>, Vec<_>) = fresh.partition(takes_over);
    *open = kept;
    let mut opened = Vec::new();
    for plan in &early {
        match doors.open(plan).await {
            Ok(door) => opened.push(door),
            Err(error) => {
                open.extend(leaving);
                return Err(error);
            }
        }
    }
    let is_in_the_way = |old: &D::Open| late.iter().any(|plan| D::collide(old, plan));
    let (in_the_way, others): (Vec<_>, Vec<_>) = leaving.into_iter().partition(is_in_the_way);
    let mut closed = Vec::new();
    for old in in_the_way {
        closed.push(D::close(old).await);
    }
    for plan in &late {
        match doors.open(plan).await {
            Ok(door) => opened.push(door),
            Err(mut error) => {
                for door in opened {
                    D::close(door).await;
                }
                open.extend(others);
                for plan in &closed {
                    match doors.open(plan).await {
                        Ok(door) => open.push(door),
                        Err(again) => error = error.context(format!("{again:#}")),
                    }
                }
                return Err(error);
            }
        }
    }
    open.extend(opened);
    for old in others {
        D::close(old).await;
    }
    Ok(())
}
