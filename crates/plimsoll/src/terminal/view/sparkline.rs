//! A curve in one line of text.

/// The steps of a sparkline from low to high.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alphabet {
    /// Block elements, U+2581 to U+2588.
    Blocks,
    /// For terminals that have only these.
    Ascii,
}

impl Alphabet {
    fn steps(self) -> [char; 8] {
        match self {
            Alphabet::Blocks => ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
            Alphabet::Ascii => ['_', '.', '-', ':', '=', '+', '*', '#'],
        }
    }
}

/// One character per value, as high as its share of `top`: the lowest step is nothing or next to nothing, the highest
/// is `top`. A blank means that there is no value, or none that is a number.
pub fn sparkline(values: impl IntoIterator<Item = Option<f64>>, top: f64, alphabet: Alphabet) -> String {
    let steps = alphabet.steps();
    let highest = steps.len() - 1;
    let step = |value: f64| {
        let share = if top > 0.0 { (value / top).clamp(0.0, 1.0) } else { 0.0 };
        steps[(share * highest as f64).round() as usize]
    };
    let shown = |value: Option<f64>| value.filter(|value| value.is_finite()).map_or(' ', step);
    values.into_iter().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_rise_from_nothing_to_the_top() {
        let values = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0].map(Some);
        assert_eq!(sparkline(values, 7.0, Alphabet::Blocks), "▁▂▃▄▅▆▇█");
        assert_eq!(sparkline(values, 7.0, Alphabet::Ascii), "_.-:=+*#");
        assert_eq!(sparkline(values, 70.0, Alphabet::Blocks), "▁▁▁▁▁▂▂▂", "of a higher top");
    }

    #[test]
    fn what_is_no_number_is_a_gap() {
        let values = [Some(1.0), None, Some(f64::NAN), Some(9.0), Some(-9.0)];
        assert_eq!(sparkline(values, 1.0, Alphabet::Blocks), "█  █▁");
        assert_eq!(sparkline([Some(0.0), Some(3.0)], 0.0, Alphabet::Blocks), "▁▁", "there is no top");
    }
}
