//! The TCP kind: whether a connection is accepted.

use std::io;
use std::net::SocketAddr;

use super::connect::connect;
use crate::engine::OutcomeClass;

pub(super) async fn ask(address: SocketAddr) -> io::Result<OutcomeClass> {
    connect(address).await?;
    Ok(OutcomeClass::Passed)
}
