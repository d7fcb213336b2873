//! Embeds the script of the dashboard, where it was built; see `src/script.rs`.

#[path = "../../web/embed.rs"]
mod embed;

fn main() {
    // The dashboard serves it as a file of its own, as it is.
    embed::embed("dashboard.js", str::to_owned);
}
