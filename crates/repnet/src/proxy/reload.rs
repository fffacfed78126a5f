//! A proxy takes a new configuration while it runs: as a whole, or not at all.

use super::{Flows, Proxy, ProxyConfig, Route};
use anyhow::Result;
use std::sync::Arc;

impl Proxy {
    /// Takes a new configuration: routes that are alike go on, others are closed and opened. Flows
    /// go on in any case.
    ///
    /// # Errors
    /// An address that cannot be listened on. Then every route is as it was, and listens where it
    /// did. Where that cannot be done, because its port was given up and taken by somebody else in
    /// between, the error names the route.
    pub async fn reload(&mut self, config: &ProxyConfig) -> Result<()> {
        // What listens elsewhere is opened before anything is closed.
        let admin = match &config.admin {
            Some(asked)
                if self
                    .admin
                    .as_ref()
                    .is_none_or(|admin| admin.asked != *asked) =>
            {
                Some(self.open_admin(asked).await?)
            }
            _ => None,
        };
        let is_there = |wanted: &&_| self.routes.iter().all(|old| old.flows.config != **wanted);
        let fresh: Vec<Arc<Flows>> = config
            .routes
            .iter()
            .filter(is_there)
            .map(Flows::of)
            .collect();
        let is_to_go = |route: &Route| !config.routes.contains(&route.flows.config);
        let takes_over = |wanted: &Arc<Flows>| {
            let mut leaving = self.routes.iter().filter(|route| is_to_go(route));
            leaving.any(|old| old.bound().shares_port(&wanted.config))
        };
        let (late, early): (Vec<_>, Vec<_>) = fresh.into_iter().partition(takes_over);
        let mut opened = Vec::new();
        for flows in &early {
            opened.push(self.open(flows, &flows.config.listen).await?);
        }
        let is_in_the_way = |route: &Route| {
            let mut late = late.iter();
            is_to_go(route) && late.any(|wanted| wanted.config.shares_port(&route.bound()))
        };
        let (in_the_way, others) = self.routes.drain(..).partition(is_in_the_way);
        self.routes = others;
        opened.extend(self.replace(in_the_way, &late).await?);
        self.routes.retain(|route| !is_to_go(route));

        self.drain_timeout = config.drain_timeout;
        for route in &opened {
            self.shown.routes().push(Arc::clone(&route.flows));
        }
        self.routes.append(&mut opened);
        if admin.is_some() || config.admin.is_none() {
            self.admin = admin;
        }
        // Of routes that have gone only those with flows are shown.
        let accepting = &self.routes;
        self.shown.routes().retain(|flows| {
            *flows.open.borrow() > 0
                || accepting
                    .iter()
                    .any(|route| Arc::ptr_eq(&route.flows, flows))
        });
        Ok(())
    }

    /// Closes routes and opens others at their ports; on an error the former are opened again.
    async fn replace(&mut self, old: Vec<Route>, wanted: &[Arc<Flows>]) -> Result<Vec<Route>> {
        let mut closed = Vec::new();
        for route in old {
            let at = route.bound().listen;
            closed.push((route.close().await, at));
        }
        let mut opened = Vec::new();
        for flows in wanted {
            match self.open(flows, &flows.config.listen).await {
                Ok(route) => opened.push(route),
                Err(mut error) => {
                    for route in opened {
                        route.close().await;
                    }
                    for (flows, at) in &closed {
                        match self.open(flows, at).await {
                            Ok(route) => self.routes.push(route),
                            Err(again) => error = error.context(format!("{again:#}")),
                        }
                    }
                    return Err(error);
                }
            }
        }
        Ok(opened)
    }
}
