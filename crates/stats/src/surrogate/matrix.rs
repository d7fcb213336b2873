//! Cholesky's factor of a covariance matrix.

/// The lower factor, row by row, without the zeros above its diagonal.
#[derive(Clone, Debug)]
pub(super) struct Factor {
    rows: Vec<f64>,
    size: usize,
}

/// Where the row of a place begins.
fn row(place: usize) -> usize {
    place * (place + 1) / 2
}

impl Factor {
    /// Of the symmetric matrix whose entry at (row, column), for columns up to the row, `entry` tells; `None` if it is not
    /// positive definite.
    pub fn of(size: usize, entry: impl Fn(usize, usize) -> f64) -> Option<Factor> {
        let mut rows = Vec::with_capacity(row(size));
        for i in 0..size {
            for j in 0..=i {
                let (of_i, of_j) = (&rows[row(i)..row(i) + j], &rows[row(j)..]);
                let known: f64 = of_i.iter().zip(of_j).map(|(a, b)| a * b).sum();
                let rest = entry(i, j) - known;
                rows.push(match i == j {
                    true if rest > 0.0 => rest.sqrt(),
                    true => return None,
                    false => rest / rows[row(j) + j],
                });
            }
        }
        Some(Factor { rows, size })
    }

    /// x of L x = b.
    pub fn solve_lower(&self, mut b: Vec<f64>) -> Vec<f64> {
        for i in 0..self.size {
            let of_row = &self.rows[row(i)..=row(i) + i];
            let known: f64 = of_row[..i].iter().zip(&b).map(|(entry, x)| entry * x).sum();
            b[i] = (b[i] - known) / of_row[i];
        }
        b
    }

    /// x of Lᵀ x = b.
    pub fn solve_upper(&self, mut b: Vec<f64>) -> Vec<f64> {
        for i in (0..self.size).rev() {
            b[i] /= self.rows[row(i) + i];
            let x = b[i];
            let of_row = &self.rows[row(i)..row(i) + i];
            b.iter_mut().zip(of_row).for_each(|(b, entry)| *b -= entry * x);
        }
        b
    }

    /// Half the logarithm of the matrix's determinant.
    pub fn half_log_determinant(&self) -> f64 {
        (0..self.size).map(|i| self.rows[row(i) + i].ln()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_solves_its_matrix() {
        let matrix = [[4.0, 2.0, 0.6], [2.0, 5.0, 1.5], [0.6, 1.5, 3.0]];
        let factor = Factor::of(3, |i, j| matrix[i][j]).unwrap();
        let x = factor.solve_upper(factor.solve_lower(vec![1.0, 2.0, 3.0]));
        let back = matrix.map(|row| row.iter().zip(&x).map(|(a, b)| a * b).sum::<f64>());
        assert!(back.iter().zip([1.0, 2.0, 3.0]).all(|(a, b)| (a - b).abs() < 1e-12), "{back:?}");
        // By hand: 4 (15 − 2.25) − 2 (6 − 0.9) + 0.6 (3 − 3).
        assert!((2.0 * factor.half_log_determinant() - 40.8f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn what_is_no_covariance_has_no_factor() {
        assert!(Factor::of(2, |i, j| if i == j { 1.0 } else { 2.0 }).is_none());
        assert!(Factor::of(1, |_, _| f64::NAN).is_none());
    }
}
