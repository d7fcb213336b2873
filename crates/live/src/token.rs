//! The secret that a viewer needs, even on this machine, where others may be logged in.

use subtle::ConstantTimeEq;

/// Enough random bytes that nobody can guess them.
const BYTES: usize = 32;

/// A random secret in hexadecimal digits. It lasts as long as the process.
pub struct Token {
    text: String,
    /// The cookie that carries it. Cookies are shared by all ports of a host, and so are their names.
    cookie: String,
}

impl Token {
    /// A new token from the system's randomness (getrandom(2)), for the dashboard on `port`.
    ///
    /// # Errors
    /// If the system has none.
    pub fn new(port: u16) -> std::io::Result<Token> {
        let mut bytes = [0u8; BYTES];
        let mut filled = 0;
        while filled < BYTES {
            filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
        }
        let text = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Token { text, cookie: format!("plimsoll_token_{port}") })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether this is the token. The time that the check takes does not reveal where the two differ.
    pub fn is(&self, given: &str) -> bool {
        self.text.as_bytes().ct_eq(given.as_bytes()).into()
    }

    /// Whether a header `Authorization: Bearer …` or `Cookie: …` carries it.
    pub fn is_in(&self, authorization: Option<&str>, cookies: Option<&str>) -> bool {
        let bearer = authorization.and_then(|value| value.split_once(' '));
        let bearer = bearer.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("Bearer")).map(|(_, value)| value);
        let pairs = cookies.unwrap_or_default().split(';').filter_map(|pair| pair.trim().split_once('='));
        let cookie = pairs.filter(|(name, _)| *name == self.cookie).map(|(_, value)| value);
        bearer.into_iter().chain(cookie).any(|given| self.is(given.trim()))
    }

    /// The cookie for a browser: not for scripts, and not sent when another site links here.
    pub fn cookie(&self) -> String {
        format!("{}={}; Path=/; HttpOnly; SameSite=Strict", self.cookie, self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_opens() {
        let token = Token::new(7).unwrap();
        assert_eq!(token.text().len(), 2 * BYTES);
        assert_ne!(token.text(), Token::new(7).unwrap().text());
        assert!(token.is(token.text()));
        for wrong in ["", &token.text()[1..], &format!("{}0", token.text()), &"0".repeat(2 * BYTES)] {
            assert!(!token.is(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_header_or_a_cookie_carries_it() {
        let token = Token::new(7).unwrap();
        let (bearer, basic) = (format!("bearer {}", token.text()), format!("Basic {}", token.text()));
        let cookie = format!("a=b; plimsoll_token_7={}", token.text());
        let other = format!("plimsoll_token_8={}", token.text());
        assert!(token.is_in(Some(&bearer), None) && token.is_in(None, Some(&cookie)));
        assert!(!token.is_in(Some(&basic), Some(&other)) && !token.is_in(None, None));
        assert!(token.cookie().contains("HttpOnly") && token.cookie().contains("SameSite=Strict"));
    }
}
