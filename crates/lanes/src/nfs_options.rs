//! The options of the lane `nfs-files`, for its client and for the server's file system.

/// The default of `actimeo=`: `acregmin` of nfs(5), seconds.
const ATTRIBUTE_SECONDS: u32 = 3;
/// The longest and the shortest read and write that the client can be told to request, bytes; `lane-part nfs` has the
/// same limits.
pub const LONGEST: u32 = 1 << 20;
pub const SHORTEST: u32 = 4096;

/// The lane's `options=`: those of the NFS client, named as in nfs(5), and those of the server's file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NfsOptions {
    /// How long attributes are trusted, seconds.
    pub attribute_seconds: u32,
    /// Of one READ and one WRITE, bytes.
    pub rsize: u32,
    pub wsize: u32,
    /// Of mount(8).
    pub server: Vec<String>,
}

impl NfsOptions {
    /// # Errors
    /// What is wrong and what is accepted.
    pub fn of(given: &[String]) -> Result<NfsOptions, String> {
        let (rsize, wsize) = (LONGEST, LONGEST);
        let mut options = NfsOptions { attribute_seconds: ATTRIBUTE_SECONDS, rsize, wsize, server: Vec::new() };
        for option in given {
            let size = |value: &str| {
                let bytes = value.parse().ok().filter(|bytes| (SHORTEST..=LONGEST).contains(bytes));
                bytes.ok_or_else(|| format!("'options={option}'; accepted is {SHORTEST} to {LONGEST} bytes"))
            };
            match option.split_once('=') {
                Some(("actimeo", value)) => {
                    let wrong = || format!("'options={option}'; accepted is actimeo=N, seconds");
                    options.attribute_seconds = value.parse().map_err(|_| wrong())?;
                }
                Some(("rsize", value)) => options.rsize = size(value)?,
                Some(("wsize", value)) => options.wsize = size(value)?,
                _ => options.server.push(option.clone()),
            }
        }
        Ok(options)
    }
}
