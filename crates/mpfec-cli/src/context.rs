//! What every command gets.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mpfec_core::net::Endpoint;

use crate::args::Expert;
use crate::close::CloseCode;
use crate::output::Output;

/// What every command gets; clones share everything.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    pub(crate) output: Output,
    pub(crate) expert: Expert,
    /// Open endpoints, so that peers can be told when the program is stopped.
    endpoints: Arc<Mutex<Vec<Endpoint>>>,
}

impl Context {
    pub(crate) fn new(output: Output, expert: Expert) -> Self {
        Self {
            output,
            expert,
            endpoints: Arc::default(),
        }
    }

    /// Notes an endpoint whose peers are to be told when the program is stopped.
    pub(crate) fn note(&self, endpoint: &Endpoint) {
        self.endpoints
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(endpoint.clone());
    }

    /// Tells all peers that the program ends, as far as that goes quickly.
    pub(crate) async fn close_all(&self, code: CloseCode, reason: &str) {
        let endpoints = std::mem::take(
            &mut *self
                .endpoints
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
        for endpoint in &endpoints {
            endpoint.close(code.to_wire(), reason);
        }
        let idle = async {
            for endpoint in &endpoints {
                endpoint.wait_idle().await;
            }
        };
        // A peer that does not hear of it notices by itself.
        let _ = tokio::time::timeout(FAREWELL, idle).await;
    }
}

/// How long peers are told that it is over.
const FAREWELL: Duration = Duration::from_millis(700);
