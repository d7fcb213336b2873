//! Estimators against published tables and against SciPy and NumPy: `../reference` has the numbers and the scripts that made them.

mod rounds;
mod scaling;
mod search;
mod series;
mod sun;
mod within;
