//! What was typed: options, the name of a test, a command.

use crate::halt::Halt;

/// An option as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypedOption {
    /// With underscores.
    pub name: String,
    pub value: Option<String>,
    /// The whole word, for messages.
    pub word: String,
}

/// A command line, whose options may be anywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    pub test: Option<String>,
    pub command: Option<String>,
    pub options: Vec<TypedOption>,
}

impl CommandLine {
    /// Takes the words after the program's name apart.
    ///
    /// # Errors
    /// There is a third word that is no option.
    pub fn parse(words: &[String]) -> Result<CommandLine, Halt> {
        let mut line = CommandLine::default();
        for word in words {
            if let Some(option) = TypedOption::parse(word) {
                line.options.push(option);
            } else if line.test.is_none() {
                line.test = Some(word.clone());
            } else if line.command.is_none() {
                line.command = Some(word.clone());
            } else {
                return Err(Halt::Usage(format!("Unrecognized command line argument: {word}")));
            }
        }
        Ok(line)
    }

    /// `--test=NAME` names a test in the old way: the words are then the command alone.
    pub fn take_old_test(&mut self) -> bool {
        let Some(place) = self.options.iter().position(|option| option.name == "test") else { return false };
        let named = self.options.remove(place).value.unwrap_or_default();
        self.command = self.test.take().or(self.command.take());
        self.test = Some(named);
        true
    }
}

impl TypedOption {
    fn parse(word: &str) -> Option<TypedOption> {
        let text = word.strip_prefix("--")?;
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (text, None),
        };
        Some(TypedOption { name: name.replace('-', "_"), value, word: word.to_owned() })
    }
}

/// The options of a file: one of a line, `name=value`; what follows `#` is a comment, quotes around a value are dropped.
pub fn options_of_file(text: &str) -> Vec<TypedOption> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let typed = lines.filter(|line| !line.is_empty()).map(|line| {
        let (name, value) = line.split_once('=').map_or((line, None), |(name, value)| (name, Some(value)));
        let value = value.map(|value| value.trim().trim_matches(['"', '\'']).to_owned());
        TypedOption { name: name.trim().replace('-', "_"), value, word: format!("--{line}") }
    });
    typed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<CommandLine, Halt> {
        CommandLine::parse(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_may_be_anywhere_and_dashes_are_underscores() {
        let line = parsed("--rand-type=uniform x.lua --threads=4 run --histogram").unwrap();
        assert_eq!((line.test.as_deref(), line.command.as_deref()), (Some("x.lua"), Some("run")));
        let names: Vec<_> = line.options.iter().map(|option| (option.name.as_str(), option.value.as_deref())).collect();
        assert_eq!(names, [("rand_type", Some("uniform")), ("threads", Some("4")), ("histogram", None)]);
        assert_eq!(parsed("x run extra"), Err(Halt::Usage("Unrecognized command line argument: extra".to_owned())));
    }

    #[test]
    fn the_old_way_to_name_a_test_leaves_the_command() {
        let mut line = parsed("--test=oltp --num-threads=2 run").unwrap();
        assert!(line.take_old_test());
        assert_eq!((line.test.as_deref(), line.command.as_deref()), (Some("oltp"), Some("run")));
        assert_eq!(line.options.len(), 1);
        assert!(!line.take_old_test());
    }

    #[test]
    fn a_file_has_an_option_in_each_line() {
        let options = options_of_file("threads=4 # four\n\n# nothing\nmysql-user='me'\nhistogram\n");
        let found: Vec<_> = options.iter().map(|option| (option.name.as_str(), option.value.as_deref())).collect();
        assert_eq!(found, [("threads", Some("4")), ("mysql_user", Some("me")), ("histogram", None)]);
    }
}
