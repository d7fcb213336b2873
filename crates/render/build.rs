//! Embeds the script of a page, where it was built; see `src/script.rs`.

#[path = "../../web/embed.rs"]
mod embed;

fn main() {
    embed::embed("report.js", within_page);
}

/// A page is well-formed as XML, in which a script may hold `<` and `&` as character data only. The comments hide the
/// marks of that from JavaScript.
fn within_page(script: &str) -> String {
    for end in ["</script", "<!--"] {
        assert!(
            !script.contains(end),
            "the script of a page must not hold `{end}`, which ends its element or hides the end"
        );
    }
    // Brackets in code, which mean the same apart; in text that ends character data they would end it.
    format!("//<![CDATA[\n{}\n//]]>\n", script.trim_end().replace("]]>", "]] >"))
}
