//! The options of the lane `nfs-files`, for its client and for the server's file system.

use std::time::Duration;

/// The default of `actimeo=`: `acregmin` of nfs(5), seconds.
const ATTRIBUTE_SECONDS: u32 = 3;
/// The longest and the shortest read and write that the client can be told to request, bytes; `lane-part nfs` has the
/// same limits.
pub const LONGEST: u32 = 1 << 20;
pub const SHORTEST: u32 = 4096;
/// The defaults of `timeo=` and `retrans=` of nfs(5) over TCP.
const TIMEO: u32 = 600;
const RETRANS: u32 = 2;
/// An hour, in the tenths of a second of `timeo=`.
const LONGEST_TIMEO: u32 = 36_000;

/// The lane's `options=`: those of the NFS client, named as in nfs(5), those of the server's export, named as in
/// exports(5), and those of the server's file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NfsOptions {
    /// How long attributes are trusted, seconds.
    pub attribute_seconds: u32,
    /// Of one READ and one WRITE, bytes.
    pub rsize: u32,
    pub wsize: u32,
    /// `async`: the server acknowledges what its disk does not have yet.
    pub is_async: bool,
    pub patience: Patience,
    /// Of mount(8).
    pub server: Vec<String>,
}

/// How long a client waits for a server that does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// For one answer, before the connection counts as lost: `timeo` of nfs(5).
    pub answer: Duration,
    /// How long a request is repeated before who asked gets EIO: with `soft`, `timeo` times `retrans`.
    pub give_up: Duration,
}

/// `hard`, within reason.
impl Default for Patience {
    fn default() -> Patience {
        Patience { answer: Duration::from_secs(30), give_up: Duration::from_secs(60) }
    }
}

impl NfsOptions {
    /// # Errors
    /// What is wrong and what is accepted.
    pub fn of(given: &[String]) -> Result<NfsOptions, String> {
        let (rsize, wsize) = (LONGEST, LONGEST);
        let (attribute_seconds, patience) = (ATTRIBUTE_SECONDS, Patience::default());
        let mut options = NfsOptions { attribute_seconds, rsize, wsize, is_async: false, patience, server: Vec::new() };
        let (mut is_soft, mut timeo, mut retrans) = (false, None, None);
        for option in given {
            let wrong = |accepted: &str| format!("'options={option}'; accepted is {accepted}");
            let number = |value: &str, least: u32, most: u32, accepted: &str| {
                let number = value.parse().ok().filter(|number| (least..=most).contains(number));
                number.ok_or_else(|| wrong(accepted))
            };
            let size = |value: &str| number(value, SHORTEST, LONGEST, &format!("{SHORTEST} to {LONGEST} bytes"));
            match option.split_once('=').unwrap_or((option, "")) {
                ("actimeo", value) => {
                    options.attribute_seconds = value.parse().map_err(|_| wrong("actimeo=N, seconds"))?;
                }
                ("rsize", value) => options.rsize = size(value)?,
                ("wsize", value) => options.wsize = size(value)?,
                ("timeo", value) => {
                    timeo = Some(number(value, 1, LONGEST_TIMEO, "timeo=N, tenths of a second, 1 to 36000")?);
                }
                ("retrans", value) => retrans = Some(number(value, 1, 1000, "retrans=N, 1 to 1000")?),
                ("soft" | "hard", "") => is_soft = option == "soft",
                ("async" | "sync", "") => options.is_async = option == "async",
                _ => options.server.push(option.clone()),
            }
        }
        if !is_soft && timeo.or(retrans).is_some() {
            return Err("'options=timeo' and 'retrans' say when a client gives up; they go with soft".to_owned());
        }
        if is_soft {
            let answer = Duration::from_millis(u64::from(timeo.unwrap_or(TIMEO)) * 100);
            options.patience = Patience { answer, give_up: answer * retrans.unwrap_or(RETRANS) };
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(options: &str) -> Result<NfsOptions, String> {
        NfsOptions::of(&options.split('+').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_soft_client_gives_up_after_timeo_times_retrans() {
        let patience = of("soft+timeo=5+retrans=4").unwrap().patience;
        assert_eq!((patience.answer.as_millis(), patience.give_up.as_millis()), (500, 2000));
        assert_eq!(of("soft").unwrap().patience.give_up.as_secs(), 120);
        assert_eq!(of("hard").unwrap().patience, Patience::default());
        assert!(of("timeo=5").unwrap_err().contains("soft"));
        assert!(of("soft+timeo=0").unwrap_err().contains("tenths of a second"));
        assert!(of("soft+retrans=x").unwrap_err().contains("1 to 1000"));
    }

    #[test]
    fn an_export_is_synchronous_unless_it_says_otherwise() {
        assert!(of("async").unwrap().is_async && !of("sync+noatime").unwrap().is_async);
        assert_eq!(of("sync+noatime").unwrap().server, ["noatime"]);
    }
}
