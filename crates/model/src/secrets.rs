//! Which names stand for secrets. Recordings are shown around, so no value of such a name stands in one.

const WORDS: [&str; 5] = ["password", "auth", "secret", "key", "token"];
/// Parts of settings that have one of these words without being secret.
const HARMLESS: [&str; 4] = ["key_buffer", "key_cache", "key_write", "foreign_key_checks"];

/// True if a setting or variable of this name may hold a secret; its value is never recorded.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    let telling = HARMLESS.iter().fold(name, |name, part| name.replace(part, ""));
    WORDS.iter().any(|word| telling.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_name() {
        for name in ["password", "MASTER_PASSWORD", "authentication_string", "ssl_key", "secret_file", "api-token"] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["innodb_buffer_pool_size", "key_buffer_size", "key-buffer-size", "key_cache_block_size"] {
            assert!(!is_secret(name), "{name}");
        }
        assert!(is_secret("key_buffer_password"));
    }
}
