//! Spellings of sysbench-tpcc, accepted with profile `sysbench`.

use super::choices::{NAME, Profile, refuse};
use crate::error::Error;
use plimsoll_model::text::escaped;

/// A spelling of the original, the parameter that it stands for, and the texts that it takes.
struct Alias {
    name: &'static str,
    parameter: &'static str,
    /// (the original's text, ours); empty where the text is the same.
    texts: &'static [(&'static str, &'static str)],
}

static TABLE: [Alias; 5] = [
    Alias { name: "scale", parameter: "warehouses", texts: &[] },
    Alias {
        name: "trx-level",
        parameter: "isolation",
        texts: &[("RC", "read-committed"), ("RR", "repeatable-read"), ("SER", "serializable")],
    },
    Alias { name: "use-fk", parameter: "fk", texts: &[("1", "declared"), ("0", "none")] },
    Alias { name: "force-pk", parameter: "history-pk", texts: &[("1", "auto"), ("0", "none")] },
    Alias { name: "enable-purge", parameter: "purge", texts: &[("yes", "on"), ("no", "off")] },
];

/// Name and help of every alias, kebab-case; they are accepted with profile `sysbench` only.
pub fn aliases() -> &'static [(&'static str, &'static str)] {
    &[
        ("scale", "profile sysbench: the same as --warehouses"),
        ("trx-level", "profile sysbench: --isolation as RC, RR or SER"),
        ("use-fk", "profile sysbench: 1 for --fk declared, 0 for --fk none"),
        ("force-pk", "profile sysbench: 1 for --history-pk auto, 0 for none"),
        ("enable-purge", "profile sysbench: yes or no, --purge"),
    ]
}

/// The pairs with every alias replaced by the parameter and the text that it stands for, in the same order.
pub(super) fn spelled_out(pairs: Vec<(String, String)>, profile: Profile) -> Result<Vec<(String, String)>, Error> {
    pairs.into_iter().map(|(name, text)| spell_out(name, text, profile)).collect()
}

fn spell_out(name: String, text: String, profile: Profile) -> Result<(String, String), Error> {
    let kebab = name.replace('_', "-");
    let Some(alias) = TABLE.iter().find(|alias| alias.name == kebab) else { return Ok((name, text)) };
    if profile != Profile::Sysbench {
        return refuse(
            &format!("the parameter '{}' with profile {}", alias.name, profile.name()),
            &format!("it is sysbench-tpcc's word for '{}': use that, or profile sysbench", alias.parameter),
        );
    }
    if alias.texts.is_empty() {
        return Ok((alias.parameter.to_owned(), text));
    }
    match alias.texts.iter().find(|(original, _)| original.eq_ignore_ascii_case(text.trim())) {
        Some((_, ours)) => Ok((alias.parameter.to_owned(), (*ours).to_owned())),
        None => {
            let originals: Vec<&str> = alias.texts.iter().map(|(original, _)| *original).collect();
            Err(Error::BadValue {
                workload: NAME,
                name: alias.name,
                found: escaped(&text),
                accepted: format!("one of {}", originals.join(", ")),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::choices::{ForeignKeys, HistoryPk, Isolation};
    use super::super::parameters::TpccParameters;
    use super::*;

    fn parse(pairs: &[(&str, &str)]) -> Result<TpccParameters, String> {
        TpccParameters::parse(pairs.iter().copied()).map_err(|error| error.to_string())
    }

    #[test]
    fn the_originals_spellings_set_our_parameters() {
        let pairs = [
            ("trx_level", "ser"),
            ("scale", "7"),
            ("profile", "sysbench"),
            ("use-fk", "0"),
            ("force_pk", "1"),
            ("enable-purge", "yes"),
        ];
        let parameters = parse(&pairs).expect("accepted");
        assert_eq!((parameters.warehouses, parameters.isolation), (7, Isolation::Serializable));
        assert_eq!((parameters.fk, parameters.history_pk), (ForeignKeys::None, HistoryPk::Auto));
        assert!(parameters.purge);
    }

    #[test]
    fn what_was_typed_last_wins_under_either_name() {
        let parameters = parse(&[("profile", "sysbench"), ("scale", "7"), ("warehouses", "3")]).expect("accepted");
        assert_eq!(parameters.warehouses, 3);
    }

    #[test]
    fn another_profile_is_answered_with_our_word() {
        let message = parse(&[("scale", "7")]).expect_err("refused");
        assert_eq!(
            message,
            "tpcc cannot have the parameter 'scale' with profile spec; it is sysbench-tpcc's word for 'warehouses': \
             use that, or profile sysbench"
        );
    }

    #[test]
    fn a_broken_text_is_answered_with_the_originals() {
        let message = parse(&[("profile", "sysbench"), ("trx-level", "RU")]).expect_err("refused");
        assert_eq!(message, "parameter 'trx-level' of tpcc is 'RU', but it must be one of RC, RR, SER");
    }

    #[test]
    fn every_alias_is_told_to_the_command_line() {
        let known: Vec<&str> = TABLE.iter().map(|alias| alias.name).collect();
        assert_eq!(aliases().iter().map(|(name, _)| *name).collect::<Vec<_>>(), known);
    }
}
