//! Scripts that come with Plimsoll under the names of sysbench's own, written anew: people run them by name, and their own
//! scripts `require` them and replace parts.

/// Modules by name, as `require` finds them where there is no file of that name.
pub const MODULES: [(&str, &str); 13] = [
    ("oltp", include_str!("bundled/oltp.lua")),
    ("oltp_common", include_str!("bundled/oltp_common.lua")),
    ("oltp_read_write", include_str!("bundled/oltp_read_write.lua")),
    ("oltp_read_only", include_str!("bundled/oltp_read_only.lua")),
    ("oltp_write_only", include_str!("bundled/oltp_write_only.lua")),
    ("oltp_point_select", include_str!("bundled/oltp_point_select.lua")),
    ("oltp_update_index", include_str!("bundled/oltp_update_index.lua")),
    ("oltp_update_non_index", include_str!("bundled/oltp_update_non_index.lua")),
    ("oltp_delete", include_str!("bundled/oltp_delete.lua")),
    ("oltp_insert", include_str!("bundled/oltp_insert.lua")),
    ("bulk_insert", include_str!("bundled/bulk_insert.lua")),
    ("select_random_points", include_str!("bundled/select_random_points.lua")),
    ("select_random_ranges", include_str!("bundled/select_random_ranges.lua")),
];

/// The text of one of them.
pub fn text(name: &str) -> Option<&'static str> {
    MODULES.into_iter().find(|(known, _)| *known == name).map(|(_, text)| text)
}
