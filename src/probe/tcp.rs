//! The TCP kind: whether a connection is accepted.

use std::io;
use std::net::SocketAddr;

use super::connect::{connect, not_to_itself};
use super::{Kind, Stage};
use crate::api::TcpSocket;
use crate::engine::OutcomeClass;

impl Kind for TcpSocket {
    type Place = SocketAddr;

    async fn ask(&self, place: &SocketAddr, _: &mut Stage) -> io::Result<OutcomeClass> {
        not_to_itself(connect(*place).await?, *place)?;
        Ok(OutcomeClass::Passed)
    }
}
