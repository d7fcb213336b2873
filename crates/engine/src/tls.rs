//! TLS as the client's `ssl-mode` has it.

use crate::error::Failure;
use crate::password_key::{PasswordKey, read_pem};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::path::Path;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    Disabled,
    /// TLS over TCP where the server offers it; its certificate is not checked.
    #[default]
    Preferred,
    Required,
    /// The certificate comes from the given authority.
    VerifyCa,
    /// It does, and it names the host that was asked for.
    VerifyIdentity,
}

impl Mode {
    pub const NAMES: [(&'static str, Mode); 5] = [
        ("disabled", Mode::Disabled),
        ("preferred", Mode::Preferred),
        ("required", Mode::Required),
        ("verify-ca", Mode::VerifyCa),
        ("verify-identity", Mode::VerifyIdentity),
    ];

    /// `disabled`, `preferred`, `required`, `verify-ca`, `verify-identity`, in any case, `_` for `-`.
    pub fn parse(text: &str) -> Option<Mode> {
        let wanted = text.to_ascii_lowercase().replace('_', "-");
        Mode::NAMES.into_iter().find(|(name, _)| *name == wanted).map(|(_, mode)| mode)
    }
}

/// A mode with what it needs.
#[derive(Debug)]
pub struct Tls {
    pub mode: Mode,
    pub config: Option<Arc<ClientConfig>>,
    /// What a password may be sent under where there is no TLS.
    pub key: PasswordKey,
}

impl Tls {
    pub fn disabled() -> Tls {
        Tls { mode: Mode::Disabled, config: None, key: PasswordKey::None }
    }

    /// The same with a key for the password.
    pub fn with_key(self, key: PasswordKey) -> Tls {
        Tls { key, ..self }
    }

    /// Reads the authority's certificates; the two verifying modes want them, the others do not use them.
    pub fn new(mode: Mode, authority: Option<&Path>) -> Result<Tls, Failure> {
        if mode == Mode::Disabled {
            return Ok(Tls::disabled());
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let check: Arc<dyn ServerCertVerifier> = match mode {
            Mode::VerifyCa | Mode::VerifyIdentity => {
                let authority = authority.ok_or_else(|| {
                    Failure::Setup("the ssl-mode wants the authority's certificate: add ssl-ca=FILE.pem".to_owned())
                })?;
                let inner = WebPkiServerVerifier::builder_with_provider(roots(authority)?.into(), provider.clone())
                    .build()
                    .map_err(|error| Failure::Setup(format!("ssl-ca {}: {error}", authority.display())))?;
                Arc::new(Check {
                    inner: Some(inner),
                    identity: mode == Mode::VerifyIdentity,
                    provider: provider.clone(),
                })
            }
            _ => Arc::new(Check { inner: None, identity: false, provider: provider.clone() }),
        };
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Failure::Setup(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(check)
            .with_no_client_auth();
        Ok(Tls { mode, config: Some(Arc::new(config)), key: PasswordKey::None })
    }

    /// Whether to go on in TLS with a server that offers it or not; an error where it is required and not offered.
    pub fn decide(&self, offered: bool, unix: bool) -> Result<Option<&Arc<ClientConfig>>, Failure> {
        match (self.mode, offered) {
            (Mode::Disabled, _) | (Mode::Preferred, false) => Ok(None),
            // Nobody can listen on a Unix socket.
            (Mode::Preferred, true) if unix => Ok(None),
            // Within TLS a server takes the password in clear only. A certificate that nobody checks would not keep it
            // from a stranger; the key does.
            (Mode::Preferred, true) if matches!(self.key, PasswordKey::Of(_)) => Ok(None),
            (_, true) => Ok(self.config.as_ref()),
            (_, false) => Err(Failure::Setup(
                "the ssl-mode requires TLS and the server does not offer it: give the server a certificate, \
                 or use ssl-mode=preferred"
                    .to_owned(),
            )),
        }
    }
}

fn roots(path: &Path) -> Result<RootCertStore, Failure> {
    let unusable = |why: String| Failure::Setup(format!("ssl-ca {}: {why}", path.display()));
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&read_pem("ssl-ca", path)?) {
        let certificate = certificate.map_err(|error| unusable(error.to_string()))?;
        store.add(certificate).map_err(|error| unusable(error.to_string()))?;
    }
    if store.is_empty() {
        return Err(unusable("no certificate in it".to_owned()));
    }
    Ok(store)
}

/// Checks a certificate as far as the mode asks for.
#[derive(Debug)]
struct Check {
    inner: Option<Arc<WebPkiServerVerifier>>,
    identity: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Check {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(inner) = &self.inner else { return Ok(ServerCertVerified::assertion()) };
        match inner.verify_server_cert(certificate, intermediates, name, ocsp, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.identity => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
