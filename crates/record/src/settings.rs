//! `variables.json` and `my.cnf`: the server's settings, without secrets.

use plimsoll_model::secrets::may_be_secret;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One server setting: what was asked, what the running server answered, and who asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedSetting {
    pub requested: Option<String>,
    pub effective: Option<String>,
    /// Who set it: `plimsoll`, `user`, `config-file`, `server`.
    pub origin: String,
}

/// The settings as they are recorded: of a possible secret only its name and its origin stay.
pub(crate) fn without_secrets(settings: &BTreeMap<String, RecordedSetting>) -> BTreeMap<String, RecordedSetting> {
    settings
        .iter()
        .map(|(name, setting)| {
            let kept = if may_be_secret(name) {
                RecordedSetting { origin: setting.origin.clone(), ..RecordedSetting::default() }
            } else {
                setting.clone()
            };
            (name.clone(), kept)
        })
        .collect()
}

/// An option file as it is recorded: values of possible secrets are replaced by a remark.
pub(crate) fn option_file_without_secrets(text: &str) -> String {
    text.lines()
        .map(|line| match line.split_once('=') {
            // Comments too: one may be a setting that somebody switched off.
            Some((name, _)) if may_be_secret(name) => format!("{name}= (left out)\n"),
            _ => format!("{line}\n"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_file_loses_only_values_of_secrets() {
        let kept = option_file_without_secrets("[mysqld]\nport=0\n# password = hunter2\nssl_key=/k.pem");
        assert_eq!(kept, "[mysqld]\nport=0\n# password = (left out)\nssl_key= (left out)\n");
    }
}
