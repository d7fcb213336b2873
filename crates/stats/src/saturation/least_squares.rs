//! Least squares of the logarithm of the Universal Scalability Law: three parameters, two of them never negative.

/// How many parameters the law has.
pub(super) const COUNT: usize = 3;

/// ln γ, α and β.
pub(super) type ModelParameters = [f64; COUNT];
type Matrix = [[f64; COUNT]; COUNT];

/// Halvings of a step that brings no better fit, and steps, before that is taken for the best one.
const HALVINGS: usize = 30;
const STEPS: usize = 100;

/// A determinant below this share of the product of its diagonal belongs to a matrix without an inverse.
const SINGULAR: f64 = 1e-14;

/// Which parameters are free; the others are 0. The least squares under α, β ≥ 0 are the free ones of one of these.
const FREE: [[bool; COUNT]; 4] = [[true, true, true], [true, false, true], [true, true, false], [true, false, false]];

/// What least squares found.
pub(super) struct Fit {
    pub parameters: ModelParameters,
    /// Sum of squared residuals of the log throughput over n − 3: the square of a share of the throughput.
    pub variance: f64,
    /// Of the parameters, as if none were at its bound.
    pub covariance: Matrix,
}

impl Fit {
    /// Variance of a quantity with this gradient in the parameters.
    pub fn variance_along(&self, gradient: ModelParameters) -> f64 {
        dot(&gradient, &times(&self.covariance, &gradient)).max(0.0)
    }
}

/// The law's log throughput at a load, and its gradient in the parameters.
pub(super) fn curve([ln_gamma, alpha, beta]: &ModelParameters, load: f64) -> (f64, ModelParameters) {
    let (contention, coherency) = (load - 1.0, load * (load - 1.0));
    let slowdown = 1.0 + alpha * contention + beta * coherency;
    (ln_gamma + load.ln() - slowdown.ln(), [1.0, -contention / slowdown, -coherency / slowdown])
}

/// Fits `points`, pairs of load and log throughput; `None` if they lie at fewer than three different loads.
pub(super) fn fit(points: &[(f64, f64)]) -> Option<Fit> {
    let candidates = FREE.iter().filter_map(|free| gauss_newton(points, free));
    let allowed = candidates.filter(|&[_, alpha, beta]| alpha >= 0.0 && beta >= 0.0);
    let parameters = allowed.min_by(|a, b| squares(points, a).total_cmp(&squares(points, b)))?;
    let variance = squares(points, &parameters) / (points.len() - COUNT) as f64;
    let gradients = points.iter().map(|&(load, _)| (curve(&parameters, load).1, 0.0));
    let covariance = inverse(&normal_equations(gradients).0)?.map(|row| row.map(|entry| variance * entry));
    Some(Fit { parameters, variance, covariance })
}

/// Gauss and Newton's method: steps of linear least squares, each halved until it improves the fit.
fn gauss_newton(points: &[(f64, f64)], free: &[bool; COUNT]) -> Option<ModelParameters> {
    let mut found = start(points, free)?;
    for _ in 0..STEPS {
        let before = squares(points, &found);
        let residuals = points.iter().map(|&(load, log)| {
            let (fitted, gradient) = curve(&found, load);
            (gradient, log - fitted)
        });
        let step = linear(residuals, free)?;
        let shorter = |halvings: usize| {
            let share = 0.5_f64.powi(halvings as i32);
            [0, 1, 2].map(|which| found[which] + share * step[which])
        };
        let Some(better) = (0..HALVINGS).map(shorter).find(|next| squares(points, next) < before) else { break };
        found = better;
    }
    Some(found)
}

/// Where the search begins: the law is linear in N ÷ X = (1 + α(N − 1) + βN(N − 1)) ÷ γ, here relative to N ÷ X.
fn start(points: &[(f64, f64)], free: &[bool; COUNT]) -> Option<ModelParameters> {
    let relative = points.iter().map(|&(load, log)| {
        let rate = log.exp() / load;
        ([rate, rate * (load - 1.0), rate * load * (load - 1.0)], 1.0)
    });
    let [per_unit, contention, coherency] = linear(relative, free)?;
    let &(load, log) = points.first()?;
    let per_unit = if per_unit > 0.0 { per_unit } else { load / log.exp() };
    Some([-per_unit.ln(), (contention / per_unit).max(0.0), (coherency / per_unit).max(0.0)])
}

fn squares(points: &[(f64, f64)], parameters: &ModelParameters) -> f64 {
    points.iter().map(|&(load, log)| (log - curve(parameters, load).0).powi(2)).sum()
}

/// The coefficients whose products with the rows come closest to the targets; those that are not free are 0.
fn linear(rows: impl Iterator<Item = (ModelParameters, f64)>, free: &[bool; COUNT]) -> Option<ModelParameters> {
    let rows = rows.map(|(row, target)| ([0, 1, 2].map(|at| if free[at] { row[at] } else { 0.0 }), target));
    let (mut matrix, right) = normal_equations(rows);
    for at in (0..COUNT).filter(|&at| !free[at]) {
        matrix[at][at] = 1.0;
    }
    Some(times(&inverse(&matrix)?, &right))
}

fn normal_equations(rows: impl Iterator<Item = (ModelParameters, f64)>) -> (Matrix, ModelParameters) {
    let (mut matrix, mut right) = (Matrix::default(), ModelParameters::default());
    for (row, target) in rows {
        for i in 0..COUNT {
            right[i] += row[i] * target;
            for j in 0..COUNT {
                matrix[i][j] += row[i] * row[j];
            }
        }
    }
    (matrix, right)
}

/// The inverse of a symmetric matrix by its cofactors, which are the cross products of its rows.
fn inverse(matrix: &Matrix) -> Option<Matrix> {
    let [a, b, c] = matrix;
    let cofactors = [cross(b, c), cross(c, a), cross(a, b)];
    let determinant = dot(a, &cofactors[0]);
    let regular = determinant > SINGULAR * a[0] * b[1] * c[2];
    regular.then(|| cofactors.map(|row| row.map(|entry| entry / determinant)))
}

fn cross(a: &ModelParameters, b: &ModelParameters) -> ModelParameters {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn dot(a: &ModelParameters, b: &ModelParameters) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn times(matrix: &Matrix, vector: &ModelParameters) -> ModelParameters {
    matrix.map(|row| dot(&row, vector))
}
