//! Decides who may ask: every refusal happens here, before any page is made.
//!
//! A page of another site can make a browser send requests here, and the site's name can be made to resolve to this
//! machine's address. So a request must name this machine itself (`Host`), and the browser must not say that another
//! site initiated it (`Origin`, `Sec-Fetch-Site`; W3C, Fetch Metadata Request Headers).

use crate::token::Token;
use axum::extract::{Request, State};
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::uri::Authority;
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

/// Everything that a page uses comes from here, and nobody may frame it. Figures have no styles of their own; the
/// script of the charts sets style properties, which the policy allows.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const HEADERS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// What requests are checked against.
pub struct Guard {
    /// The address that the dashboard listens on; an unspecified one means all of the machine's.
    pub listen: IpAddr,
    /// Required in every request: other users of this machine can reach its loopback too.
    pub token: Token,
}

/// A request that is not answered with a page, and why.
struct Refusal(StatusCode, &'static str);

/// Refuses a request or passes it on; every answer gets the headers that isolate a page.
pub async fn admit(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let mut response = match guard.refusal(&request) {
        Some(Refusal(status, why)) => (status, format!("{why}\n")).into_response(),
        None => match guard.token_to_keep(&request) {
            Some(cookie) => {
                let there = [(header::SET_COOKIE, cookie), (header::LOCATION, "/".to_owned())];
                (StatusCode::SEE_OTHER, there).into_response()
            }
            None => next.run(request).await,
        },
    };
    let told = match response.status() {
        StatusCode::METHOD_NOT_ALLOWED => Some((header::ALLOW, "GET, HEAD")),
        StatusCode::UNAUTHORIZED => Some((header::WWW_AUTHENTICATE, "Bearer")),
        _ => None,
    };
    for (name, value) in HEADERS.into_iter().chain(told) {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

impl Guard {
    fn refusal(&self, request: &Request) -> Option<Refusal> {
        let headers = request.headers();
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return Some(Refusal(StatusCode::METHOD_NOT_ALLOWED, "the dashboard only reads: use GET"));
        }
        let Some(host) = self.host(request) else {
            let why = "the request names another host; open the dashboard by the address that was printed";
            return Some(Refusal(StatusCode::MISDIRECTED_REQUEST, why));
        };
        if is_of_another_site(headers, &host) {
            let why = "another site sent this request; type the dashboard's address yourself";
            return Some(Refusal(StatusCode::FORBIDDEN, why));
        }
        let known = self.token.is_in(text(headers, &header::AUTHORIZATION), text(headers, &header::COOKIE));
        if known || given(request).is_some_and(|given| self.token.is(given)) {
            return None;
        }
        let why = "a token is required; open the link that `plimsoll serve` printed, which contains it, or send it as \
                   `Authorization: Bearer TOKEN`";
        Some(Refusal(StatusCode::UNAUTHORIZED, why))
    }

    /// The cookie for a browser that sent the token in the address, where others could read it.
    fn token_to_keep(&self, request: &Request) -> Option<String> {
        given(request).filter(|given| self.token.is(given)).map(|_| self.token.cookie())
    }

    /// The requested host, if it means this machine: a name of the loopback, or an address that the dashboard listens
    /// on. No other name is accepted, because the owner of a name can make it resolve to this address.
    fn host(&self, request: &Request) -> Option<Authority> {
        let mut hosts = request.headers().get_all(header::HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else { return None };
        let host = authority(host.to_str().ok()?)?;
        let asked = request.uri().authority();
        (self.is_here(&host) && asked.is_none_or(|asked| self.is_here(asked))).then_some(host)
    }

    fn is_here(&self, host: &Authority) -> bool {
        let name = host.host();
        let address = match name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            Some(inner) => inner.parse::<Ipv6Addr>().map(IpAddr::V6).ok(),
            None => name.parse::<IpAddr>().ok(),
        };
        match address {
            Some(address) => address.is_loopback() || address == self.listen || self.listen.is_unspecified(),
            None => name.eq_ignore_ascii_case("localhost"),
        }
    }
}

fn authority(text: &str) -> Option<Authority> {
    text.parse().ok().filter(|_| !text.contains('@'))
}

/// Whether a browser says that another site, or a page of no site, initiated this request.
fn is_of_another_site(headers: &HeaderMap, host: &Authority) -> bool {
    let fetched = text(headers, &HeaderName::from_static("sec-fetch-site"));
    if fetched.is_some_and(|site| !matches!(site, "same-origin" | "none")) {
        return true;
    }
    let own = |origin: &str| origin.strip_prefix("http://").and_then(authority).is_some_and(|from| from == *host);
    headers.get_all(header::ORIGIN).iter().any(|origin| !origin.to_str().is_ok_and(own))
}

/// The token in the address.
fn given(request: &Request) -> Option<&str> {
    let pairs = request.uri().query()?.split('&').filter_map(|pair| pair.split_once('='));
    pairs.filter(|(name, _)| *name == "token").map(|(_, value)| value).next()
}

fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    fn request(uri: &str, headers: &[(&str, &str)]) -> Request {
        let builder = axum::http::Request::get(uri);
        let built = headers.iter().fold(builder, |builder, (name, value)| builder.header(*name, *value));
        built.body(Body::empty()).unwrap()
    }

    fn status(listen: &str, uri: &str, headers: &[(&str, &str)]) -> Option<u16> {
        let guard = Guard { listen: listen.parse().unwrap(), token: Token::new(7576).unwrap() };
        let bearer = format!("Bearer {}", guard.token.text());
        let headers = [headers, &[("authorization", &bearer)]].concat();
        guard.refusal(&request(uri, &headers)).map(|Refusal(status, _)| status.as_u16())
    }

    #[test]
    fn only_names_of_this_machine_are_hosts() {
        for host in ["127.0.0.1:7576", "localhost", "LOCALHOST:1", "[::1]:7576", "127.8.8.8"] {
            assert_eq!(status("127.0.0.1", "/", &[("host", host)]), None, "{host}");
        }
        for host in ["evil.example", "127.0.0.1.evil.example", "10.0.0.7", "a@127.0.0.1", "localhost.", "", "[::2]"] {
            assert_eq!(status("127.0.0.1", "/", &[("host", host)]), Some(421), "{host}");
        }
        assert_eq!(status("10.0.0.7", "/", &[("host", "10.0.0.7:80")]), None);
        assert_eq!(status("0.0.0.0", "/", &[("host", "10.0.0.7:80")]), None);
        assert_eq!(status("0.0.0.0", "/", &[("host", "evil.example")]), Some(421));
        assert_eq!(status("127.0.0.1", "/", &[]), Some(421));
        assert_eq!(status("127.0.0.1", "http://evil.example/", &[("host", "localhost")]), Some(421));
        assert_eq!(status("127.0.0.1", "/", &[("host", "localhost"), ("host", "evil.example")]), Some(421));
    }

    #[test]
    fn what_another_site_began_is_refused() {
        let with = |name: &str, value: &str| status("127.0.0.1", "/", &[("host", "localhost:7"), (name, value)]);
        for origin in
            ["http://evil.example", "null", "http://localhost:8", "https://localhost:7", "http://x@localhost:7"]
        {
            assert_eq!(with("origin", origin), Some(403), "{origin}");
        }
        assert_eq!(with("origin", "http://localhost:7"), None);
        assert_eq!(with("sec-fetch-site", "cross-site"), Some(403));
        assert_eq!(with("sec-fetch-site", "same-site"), Some(403));
        assert_eq!(with("sec-fetch-site", "none"), None);
    }

    #[test]
    fn a_token_is_wanted_on_loopback_as_well() {
        let token = Token::new(7576).unwrap();
        let text = token.text().to_owned();
        let guard = Guard { listen: "127.0.0.1".parse().unwrap(), token };
        let refused =
            |uri: &str| guard.refusal(&request(uri, &[("host", "127.0.0.1")])).map(|refusal| refusal.0.as_u16());
        assert_eq!(refused("/"), Some(401));
        assert_eq!(refused("/?token=0"), Some(401));
        assert_eq!(refused(&format!("/?token={text}")), None);
        let kept = guard.token_to_keep(&request(&format!("/?token={text}"), &[]));
        assert!(kept.is_some_and(|cookie| cookie.contains(&text)));
        let bearer = format!("Bearer {text}");
        assert!(guard.refusal(&request("/", &[("host", "127.0.0.1"), ("authorization", &bearer)])).is_none());
    }
}
