//! Certificates for servers that speak TLS.

use std::path::PathBuf;
use std::process::Command;

use super::namespace;

/// Certificates of an authority (`ca.crt`), of a server and of a client (`server.crt`,
/// `server.key` and so on), in a folder of their own. Made by the program `openssl`.
#[derive(Debug)]
pub struct Certificates(PathBuf);

impl Certificates {
    /// Makes them, for servers on this machine.
    ///
    /// # Panics
    ///
    /// When there is no `openssl`.
    #[expect(clippy::new_without_default, reason = "it is work, and leaves files")]
    pub fn new() -> Self {
        let folder = std::env::temp_dir().join(namespace());
        std::fs::create_dir_all(&folder).expect("a folder");
        let made = Self(folder);
        made.openssl("req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.crt");
        let names = "subjectAltName=DNS:localhost,IP:127.0.0.1\n";
        std::fs::write(made.path("names"), names).expect("a file");
        for name in ["server", "client"] {
            made.openssl(&format!(
                "req -newkey rsa:2048 -nodes -subj /CN={name} -keyout {name}.key -out {name}.csr"
            ));
            made.openssl(&format!(
                "x509 -req -days 2 -in {name}.csr -CA ca.crt -CAkey ca.key -CAcreateserial \
                 -extfile names -out {name}.crt"
            ));
        }
        made
    }

    fn openssl(&self, words: &str) {
        let made = Command::new("openssl")
            .args(words.split_whitespace())
            .current_dir(&self.0)
            .output()
            .expect("the program openssl, to make certificates for this test");
        assert!(made.status.success(), "{words}: {made:?}");
    }

    /// Where one of the files is.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// What stands in one of the files.
    ///
    /// # Panics
    ///
    /// When there is no such file.
    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).expect("one of the files")
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
