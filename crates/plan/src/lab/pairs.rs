//! Which variants of a plan are compared.

use super::Variant;
use plimsoll_model::LoadPoint;

/// The places of each variant and, before it, of the one that it is compared with: the first with the same work on the
/// same data; of those whose names begin with the same group (`8g/fsync`) if there are several. One whose work no other
/// does is compared with the first of all, if that has a workload of the same kind. Those without a load point in common are not compared.
pub fn pairs(variants: &[&Variant]) -> Vec<[usize; 2]> {
    let first_of_several = |is_alike: &dyn Fn(&Variant) -> bool| {
        let mut alike = (0..variants.len()).filter(|other| is_alike(variants[*other]));
        alike.next().filter(|_| alike.next().is_some())
    };
    let against = |variant: &Variant| {
        let same_work = |other: &Variant| other.workload == variant.workload;
        let of_group =
            first_of_several(&|other| same_work(other) && group(other).is_some_and(|of| Some(of) == group(variant)));
        of_group.or_else(|| first_of_several(&same_work)).unwrap_or(0)
    };
    let pairs = variants.iter().enumerate().map(|(place, variant)| [against(variant), place]);
    let alike = |[a, b]: [&Variant; 2]| a.workload.kind == b.workload.kind && !common_points(a, b).is_empty();
    pairs.filter(|[a, b]| a != b && alike([*a, *b].map(|place| variants[place]))).collect()
}

/// The load points that both have, in the order of the plan.
pub fn common_points(a: &Variant, b: &Variant) -> Vec<LoadPoint> {
    points(&[a]).into_iter().filter(|point| b.load.points.contains(point)).collect()
}

/// `8g` of `8g/fsync`.
fn group(variant: &Variant) -> Option<&str> {
    variant.name.split_once('/').map(|(group, _)| group)
}

/// The load points of any variant, each once, in the order of the plan.
pub fn points(variants: &[&Variant]) -> Vec<LoadPoint> {
    let mut points = Vec::new();
    for point in variants.iter().flat_map(|variant| &variant.load.points) {
        if !points.contains(point) {
            points.push(*point);
        }
    }
    points
}
