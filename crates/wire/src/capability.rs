//! Capability flags: the low 32 bits are MySQL's, the high 32 MariaDB's extension.

pub const LONG_PASSWORD: u64 = 1;
pub const LONG_FLAG: u64 = 1 << 2;
pub const CONNECT_WITH_DB: u64 = 1 << 3;
pub const LOCAL_FILES: u64 = 1 << 7;
pub const PROTOCOL_41: u64 = 1 << 9;
pub const TLS: u64 = 1 << 11;
pub const TRANSACTIONS: u64 = 1 << 13;
pub const SECURE_CONNECTION: u64 = 1 << 15;
pub const MULTI_RESULTS: u64 = 1 << 17;
pub const PS_MULTI_RESULTS: u64 = 1 << 18;
pub const PLUGIN_AUTH: u64 = 1 << 19;
pub const PLUGIN_AUTH_LENGTH: u64 = 1 << 21;
pub const DEPRECATE_EOF: u64 = 1 << 24;
/// MariaDB: the column definitions of a prepared statement's result are sent only if they have changed.
pub const MARIADB_CACHE_METADATA: u64 = 1 << 36;

/// What this client supports and always asks for, if the server supports it as well.
pub const WANTED: u64 = LONG_PASSWORD
    | LONG_FLAG
    | PROTOCOL_41
    | TRANSACTIONS
    | SECURE_CONNECTION
    | MULTI_RESULTS
    | PS_MULTI_RESULTS
    | PLUGIN_AUTH
    | PLUGIN_AUTH_LENGTH
    | DEPRECATE_EOF
    | MARIADB_CACHE_METADATA;

/// Status flag of OK and EOF packets: another result follows.
pub const MORE_RESULTS: u16 = 0x0008;
/// Status flag: a transaction is open.
pub const IN_TRANSACTION: u16 = 0x0001;
/// Status flag: backslashes are ordinary characters in string literals.
pub const NO_BACKSLASH_ESCAPES: u16 = 0x0200;
