//! Parts of statements.

use super::choices::Profile;
use std::iter::repeat_n;

/// `part`, repeated.
pub fn listed(part: &str, separator: &str, times: usize) -> String {
    repeat_n(part, times).collect::<Vec<_>>().join(separator)
}

/// The time as the columns of a profile keep it.
pub const fn now(profile: Profile) -> &'static str {
    match profile {
        Profile::Sysbench => "NOW()",
        Profile::Spec | Profile::Dbt2 => "NOW(6)",
    }
}
