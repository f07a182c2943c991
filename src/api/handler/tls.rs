//! How a TLS server is met: as the kubelet meets it, whoever it says it is, or only with a certificate that is right.

use std::fmt;
use std::sync::Arc;

use kube::KubeSchema;
use serde::{Deserialize, Serialize};
use tokio_rustls::rustls::client::Resumption;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use crate::api::checks::{Check, is_dns_label};
use crate::api::convert::SpecError;

/// How a TLS server is met, as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(validation = NAMED.rule())]
pub struct TlsSpec {
    /// The name that the server is asked for (SNI), and that its certificate must have if it is verified. Optional;
    /// without it the server is asked for no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    #[x_kube(validation = SERVER_NAME.rule())]
    pub server_name: Option<String>,

    /// The certificates that may have signed the server's, in PEM. With them it is verified, for serverName and the time
    /// of day. Optional; without them any certificate will do, as for the kubelet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 65536))]
    #[x_kube(validation = CA_BUNDLE.rule())]
    pub ca_bundle: Option<String>,
}

/// How a TLS server is met. Equal if it is written alike.
#[derive(Clone)]
pub struct Tls {
    written: TlsSpec,
    application: Application,
    server_name: Option<ServerName<'static>>,
    config: Arc<ClientConfig>,
}

/// What is spoken over the connection; the server is told so (ALPN).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Application {
    Http1,
    Http2,
}

impl Tls {
    pub(super) fn parse(at: &str, spec: &TlsSpec, application: Application) -> Result<Self, SpecError> {
        NAMED.parse(at, spec)?;
        let server_name = SERVER_NAME.parse_optional(format_args!("{at}.serverName"), spec.server_name.as_ref())?;
        let roots = CA_BUNDLE.parse_optional(format_args!("{at}.caBundle"), spec.ca_bundle.as_ref())?;
        let config = config(roots, application)
            .map_err(|error| SpecError { path: at.to_owned(), sentence: format!("cannot be set up: {error}") })?;
        Ok(Self { written: spec.clone(), application, server_name, config: Arc::new(config) })
    }

    /// The name that the server is asked for.
    pub const fn server_name(&self) -> Option<&ServerName<'static>> {
        self.server_name.as_ref()
    }

    /// What a connection is set up by.
    pub const fn config(&self) -> &Arc<ClientConfig> {
        &self.config
    }
}

fn config(roots: Option<RootCertStore>, application: Application) -> Result<ClientConfig, Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions()?;
    let builder = match roots {
        Some(roots) => builder.with_root_certificates(roots),
        None => builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyCertificate)),
    };
    let mut config = builder.with_no_client_auth();
    // Every attempt shows that the server can do a whole handshake.
    config.resumption = Resumption::disabled();
    config.alpn_protocols = vec![match application {
        Application::Http1 => b"http/1.1".to_vec(),
        Application::Http2 => b"h2".to_vec(),
    }];
    Ok(config)
}

/// Believes everybody: a probe sends no secret, and what it learns it would also be told in plain text.
#[derive(Debug)]
struct AnyCertificate;

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}

impl PartialEq for Tls {
    fn eq(&self, other: &Self) -> bool {
        (&self.written, self.application) == (&other.written, other.application)
    }
}

impl Eq for Tls {}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.written.fmt(f)
    }
}

/// Differs for every two that differ.
impl fmt::Display for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TlsSpec { server_name, ca_bundle } = &self.written;
        f.write_str(" tls")?;
        if let Some(name) = server_name {
            write!(f, " serverName={name}")?;
        }
        if let Some(bundle) = ca_bundle {
            write!(f, " caBundle={bundle:?}")?;
        }
        Ok(())
    }
}

const NAMED: Check<TlsSpec> = Check {
    cel: "!has(self.caBundle) || has(self.serverName)",
    member: ".serverName",
    sentence: "must be there beside caBundle: it is the name that the certificate has to have",
    parse: |tls| (tls.ca_bundle.is_none() || tls.server_name.is_some()).then_some(()),
};

const SERVER_NAME: Check<String, ServerName<'static>> = Check {
    cel: "self.size() <= 253 && \
          self.matches('^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?[.])*[a-z]([a-z0-9-]{0,61}[a-z0-9])?$')",
    member: "",
    sentence: "must be a DNS name such as shop.example: lower-case letters, digits, hyphens and dots, at most 253",
    parse: |name| {
        let last = name.rsplit('.').next()?;
        let is_name = name.len() <= 253
            && name.split('.').all(is_dns_label)
            && last.starts_with(|c: char| c.is_ascii_lowercase());
        if is_name { ServerName::try_from(name.clone()).ok() } else { None }
    },
};

/// The API server cannot read PEM, so it only looks for the beginning of a certificate.
const CA_BUNDLE: Check<String, RootCertStore> = Check {
    cel: "self.contains('-----BEGIN CERTIFICATE-----')",
    member: "",
    sentence: "must be certificates in PEM: -----BEGIN CERTIFICATE----- and so on",
    parse: |bundle| {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(bundle.as_bytes()) {
            roots.add(certificate.ok()?).ok()?;
        }
        (!roots.is_empty()).then_some(roots)
    },
};
