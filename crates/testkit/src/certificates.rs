//! Certificates for servers that make none by themselves, and for those that have to hold for a name.

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// An authority, a server's certificate from it, and an authority that has nothing to do with it: `ca.pem`,
/// `server.pem`, `server-key.pem` and `stranger.pem` in a directory that goes with this.
pub struct Certificates {
    directory: TempDir,
}

impl Certificates {
    /// `names` are the hosts for which the server's certificate holds.
    ///
    /// # Panics
    /// If they cannot be made.
    pub fn for_hosts(names: &[&str]) -> Certificates {
        let directory = crate::servers::home();
        let write = |name: &str, text: String| fs::write(directory.path().join(name), text).expect("it can be written");
        let pair = || KeyPair::generate().expect("a pair of keys");
        let authority = |file: &str| {
            let key = pair();
            let mut params = CertificateParams::new(Vec::new()).expect("an authority names no host");
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params.distinguished_name.push(rcgen::DnType::CommonName, file);
            let certificate = params.self_signed(&key).expect("a certificate");
            write(file, certificate.pem());
            (certificate, key)
        };
        authority("stranger.pem");
        let (certificate, authority_key) = authority("ca.pem");
        let key = pair();
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let params = CertificateParams::new(names).expect("names of hosts");
        write("server.pem", params.signed_by(&key, &certificate, &authority_key).expect("a certificate").pem());
        write("server-key.pem", key.serialize_pem());
        Certificates { directory }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// What a server is set to that has this certificate.
    pub fn settings(&self) -> [(&'static str, String); 3] {
        let path = |name: &str| self.path(name).display().to_string();
        [("ssl_ca", path("ca.pem")), ("ssl_cert", path("server.pem")), ("ssl_key", path("server-key.pem"))]
    }
}
