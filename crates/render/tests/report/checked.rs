//! What every page must keep to, whatever it is of.

use roxmltree::{Document, Node, ParsingOptions};

/// Parses the page strictly and checks what every page must keep to.
pub fn checked(page: &str) -> Document<'_> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document = Document::parse_with_options(page, options).expect("well-formed");
    for node in document.descendants().filter(Node::is_element) {
        let name = node.tag_name().name();
        let is_data = name == "script" && node.attribute("type") == Some("application/json");
        let is_bundle = name == "script" && node.attributes().len() == 0;
        assert!(name != "script" || is_data || is_bundle, "a script of no known kind");
        assert!(!matches!(name, "link" | "img" | "iframe" | "object" | "embed" | "base" | "form"), "{name}");
        for attribute in node.attributes() {
            let (attribute, value) = (attribute.name(), attribute.value());
            assert!(!attribute.starts_with("on"), "{attribute}");
            match attribute {
                "href" => assert!(value.starts_with('#'), "{value}"),
                "src" | "action" | "style" | "xmlns" => panic!("{attribute}={value}"),
                _ => assert!(!value.contains("NaN") && !value.contains("inf"), "{name} {attribute}={value}"),
            }
        }
    }
    let style = node(&document, "style").text().expect("styles");
    assert!(!style.contains("url(") && !style.contains("@import"), "styles refer to nothing outside");
    document
}

/// The first element of that name.
pub fn node<'a>(document: &'a Document<'_>, name: &str) -> Node<'a, 'a> {
    document.descendants().find(|node| node.has_tag_name(name)).unwrap_or_else(|| panic!("no <{name}>"))
}
