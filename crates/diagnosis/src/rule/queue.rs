//! What a busy resource costs those that need it.

/// A resource that is busy for a greater part of the time limits, and being served counts as well. Planted limits kept
/// theirs busy for 0.95 and more; the difference leaves room for a disturbed second.
pub const SATURATED: f64 = 0.85;

/// Share of the transactions under way that are at a resource of some units, which are busy for the share `utilisation`
/// of their time. Below [`SATURATED`] only those that wait count: being served is work, not a limit.
///
/// The queue is that of M/M/m in the approximation of Sakasegawa, "An approximation formula L_q ≃ αρ^β/(1−ρ)" (1977).
/// That assumes arrivals without end. Here only transactions that are under way and not being served can wait, so one
/// connection never waits for itself.
pub fn share(units: f64, utilisation: f64, in_flight: f64) -> f64 {
    let utilisation = utilisation.clamp(0.0, 1.0);
    let units = units.max(1.0);
    let waiting = utilisation.powf((2.0 * (units + 1.0)).sqrt()) / (1.0 - utilisation).max(f64::EPSILON);
    let waiting = waiting.min((in_flight - units * utilisation).max(0.0));
    let served = if utilisation >= SATURATED { units * utilisation } else { 0.0 };
    ((waiting + served) / in_flight.max(f64::EPSILON)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_grows_as_its_resource_fills() {
        assert_eq!(share(1.0, 0.0, 16.0), 0.0);
        // M/M/1: 0.5² / 0.5 wait.
        assert!((share(1.0, 0.5, 1.0) - 0.5).abs() < 1e-9);
        assert!(share(1.0, 0.6, 16.0) < 0.1 && share(2.0, 0.6, 16.0) < share(1.0, 0.6, 16.0));
        assert!((share(1.0, 0.9, 16.0) - 9.0 / 16.0).abs() < 1e-9);
        assert_eq!(share(1.0, 1.0, 16.0), 1.0);
        assert_eq!(share(2.0, 7.0, 16.0), 1.0);
    }

    #[test]
    fn one_connection_does_not_queue_behind_itself() {
        assert!((share(1.0, 0.6, 1.0) - 0.4).abs() < 1e-9, "never half of its time");
        assert_eq!(share(2.0, 0.8, 1.0), 0.0);
        assert!((share(1.0, 0.95, 1.0) - 1.0).abs() < 1e-9, "it is hardly ever elsewhere");
    }

    #[test]
    fn being_served_alone_is_no_limit() {
        assert!(share(2.0, 0.4, 1.0) < 0.3, "one connection, which uses a part of two CPUs");
    }

    #[test]
    fn whatever_the_numbers_it_is_a_share() {
        let numbers = [0.0, 0.5, 1.0, -1.0, 1e300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
        for units in numbers {
            for utilisation in numbers {
                for in_flight in numbers {
                    let share = share(units, utilisation, in_flight);
                    assert!(share.is_nan() || (0.0..=1.0).contains(&share), "{units} {utilisation} {in_flight}");
                }
            }
        }
    }
}
