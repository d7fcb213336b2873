//! Which names stand for secrets. Recordings are shown around, so no value of such a name stands in one.

const WORDS: [&str; 6] = ["passw", "pwd", "auth", "secret", "key", "token"];
/// Parts of settings that have one of these words and are no secrets, so that a plan may set them.
const HARMLESS: [&str; 11] = [
    "key_buffer",
    "key_cache",
    "key_write",
    "foreign_key",
    "password_lifetime",
    "password_history",
    "password_reuse",
    "validate_password",
    "native_password",
    "authentication_plugin",
    "authentication_policy",
];

/// True if a setting or variable of this name may hold a secret: of what a server has, its value is never recorded.
pub fn may_be_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    WORDS.iter().any(|word| name.contains(word))
}

/// The same for what somebody sets in a plan, where the harmless ones are known.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    may_be_secret(&HARMLESS.iter().fold(name, |name, part| name.replace(part, "")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_name() {
        for name in
            ["password", "MASTER_PASSWORD", "authentication_string", "ssl_key", "secret_file", "api-token", "DbPasswd"]
        {
            assert!(is_secret(name) && may_be_secret(name), "{name}");
        }
        for name in ["innodb_buffer_pool_size", "max_connections"] {
            assert!(!is_secret(name) && !may_be_secret(name), "{name}");
        }
        for name in ["key-buffer-size", "key_cache_block_size", "default_password_lifetime", "mysql_native_password"] {
            assert!(!is_secret(name) && may_be_secret(name), "{name}");
        }
        assert!(is_secret("key_buffer_password"));
    }
}
