//! How evenly connections were served.

/// Mean and population standard deviation; `None` without values. The values are all there is, not a sample of
/// more, hence the division by n.
pub fn mean_stddev(values: &[f64]) -> Option<(f64, f64)> {
    if values.is_empty() {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n;
    Some((mean, variance.sqrt()))
}

#[cfg(test)]
mod tests {
    use super::mean_stddev;

    #[test]
    fn known_values() {
        assert_eq!(mean_stddev(&[]), None);
        assert_eq!(mean_stddev(&[3.5]), Some((3.5, 0.0)));
        assert_eq!(mean_stddev(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]), Some((5.0, 2.0)));
    }
}
