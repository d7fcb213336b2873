//! Who of a fleet is there, and who is lost: judged by data as well as by heartbeats, since one that beats and tells nothing
//! carries nothing.

use std::time::Duration;

/// Without a heartbeat for so long an agent is suspect.
pub const SUSPECT_AFTER: Duration = Duration::from_secs(2);
/// Without anything of its load for so long it is lost, whether it beats or not.
pub const LOST_AFTER: Duration = Duration::from_secs(5);
/// The same of one whose window is over: its connections have 5 s to drain, and it tells nothing meanwhile.
const LAST_WORD: Duration = Duration::from_secs(12);
/// When what we say ourselves has not come back for so long, nobody else can be heard either.
const DEAF_AFTER: Duration = Duration::from_secs(1);
/// More than this between two looks is not time in which we listened: what came meanwhile is still unread.
const LONGEST_LOOK: Duration = Duration::from_millis(250);

/// How it stands with an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentStanding {
    Present,
    /// No heartbeat; it may only have been stopped for a while.
    Suspect,
    /// For good, in this trial, and why.
    Lost(String),
}

/// Whether somebody can be heard at all: what we say ourselves takes the same way, through what the broker stores.
#[derive(Clone, Debug)]
pub struct Hearing {
    /// For how long we have listened.
    listened: Duration,
    looked: Duration,
    /// For how long we have looked since what we had said came back.
    silence: Duration,
}

impl Hearing {
    pub fn new(now: Duration) -> Hearing {
        Hearing { listened: Duration::ZERO, looked: now, silence: Duration::ZERO }
    }

    /// What we have said has come back.
    pub fn echoes(&mut self) {
        self.silence = Duration::ZERO;
    }

    /// A look at what has come; for how long we have listened, which is the clock that agents are judged by. Time in which letters
    /// wait to be read is none: a sign of life may be among them, behind all that a broker tells once more.
    pub fn look(&mut self, now: Duration, is_behind: bool) -> Duration {
        let looked = now.saturating_sub(self.looked).min(LONGEST_LOOK);
        if !is_behind {
            self.listened += looked;
        }
        self.silence += looked;
        self.looked = now;
        self.listened
    }

    pub fn listened(&self) -> Duration {
        self.listened
    }

    /// For how long nobody could be heard, if that is so. Time in which we did not run is none.
    pub fn deaf(&self) -> Option<Duration> {
        (self.silence > DEAF_AFTER).then_some(self.silence)
    }
}

/// When an agent was last heard of, on a clock of ours.
#[derive(Clone, Debug)]
pub struct Attendance {
    beat: Duration,
    told: Duration,
    standing: AgentStanding,
    /// Whether its load is to be telling something every second.
    is_telling: bool,
    /// For how long it may tell nothing then.
    patience: Duration,
}

impl Attendance {
    pub fn new(now: Duration) -> Attendance {
        let standing = AgentStanding::Present;
        Attendance { beat: now, told: now, standing, is_telling: false, patience: LOST_AFTER }
    }

    pub fn standing(&self) -> &AgentStanding {
        &self.standing
    }

    pub fn is_lost(&self) -> bool {
        matches!(self.standing, AgentStanding::Lost(_))
    }

    /// It has given a sign of life.
    pub fn beats(&mut self, now: Duration) {
        self.beat = now;
        if self.standing == AgentStanding::Suspect {
            self.standing = AgentStanding::Present;
        }
    }

    /// Its load has told something.
    pub fn tells(&mut self, now: Duration) {
        self.told = now;
        self.beats(now);
    }

    /// From now on its load tells something every second, or no longer.
    pub fn is_to_tell(&mut self, is_telling: bool, now: Duration) {
        self.is_telling = is_telling;
        self.told = self.told.max(now);
    }

    /// Its window may be over: it drains, and tells nothing before it has.
    pub fn drains(&mut self) {
        self.patience = LAST_WORD;
    }

    /// Nobody could have heard of it up to now.
    pub fn is_excused(&mut self, now: Duration) {
        (self.beat, self.told) = (now, self.told.max(now));
    }

    pub fn lose(&mut self, why: String) {
        if !self.is_lost() {
            self.standing = AgentStanding::Lost(why);
        }
    }

    /// Judges it by what was heard up to now; whether its standing has changed.
    pub fn judge(&mut self, now: Duration) -> bool {
        let since = |then: Duration| now.saturating_sub(then);
        let (beat, told) = (since(self.beat), since(self.told));
        let found = match &self.standing {
            AgentStanding::Lost(_) => return false,
            _ if self.is_telling && told > self.patience => {
                let heart = if beat > SUSPECT_AFTER { "no heartbeat either" } else { "though its heart beats" };
                AgentStanding::Lost(format!("nothing of its load for {:.1} s, {heart}", told.as_secs_f64()))
            }
            _ if !self.is_telling && beat > LOST_AFTER => {
                AgentStanding::Lost(format!("no heartbeat for {:.1} s", beat.as_secs_f64()))
            }
            _ if beat > SUSPECT_AFTER => AgentStanding::Suspect,
            _ => AgentStanding::Present,
        };
        let has_changed = found != self.standing;
        self.standing = found;
        has_changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(tenths: u64) -> Duration {
        Duration::from_millis(100 * tenths)
    }

    /// What becomes of one that beats and tells at these tenths of a second, judged at every tenth.
    fn judged(beats: &[u64], tells: &[u64], until: u64) -> Vec<(u64, AgentStanding)> {
        let mut agent = Attendance::new(at(0));
        agent.is_to_tell(true, at(0));
        let mut changes = Vec::new();
        for now in 1..=until {
            if beats.contains(&now) {
                agent.beats(at(now));
            }
            if tells.contains(&now) {
                agent.tells(at(now));
            }
            if agent.judge(at(now)) {
                changes.push((now, agent.standing().clone()));
            }
        }
        changes
    }

    #[test]
    fn a_time_in_which_nobody_listened_counts_for_nobody() {
        let mut hearing = Hearing::new(at(10));
        assert_eq!((hearing.look(at(12), false), hearing.look(at(13), false)), (at(2), at(3)));
        assert_eq!(hearing.look(at(613), false), at(3) + LONGEST_LOOK, "a minute in which we did not run");
        assert_eq!(hearing.listened(), at(3) + LONGEST_LOOK);
    }

    #[test]
    fn a_time_in_which_letters_wait_to_be_read_counts_for_nobody() {
        let mut hearing = Hearing::new(at(0));
        for now in 1..=100 {
            assert_eq!(hearing.look(at(now), true), at(0));
        }
        assert_eq!(hearing.look(at(102), false), at(2));
    }

    #[test]
    fn who_does_not_hear_himself_hears_nobody() {
        let mut hearing = Hearing::new(at(0));
        let mut deaf = |from: u64, to: u64| {
            for now in from..=to {
                hearing.look(at(now), false);
            }
            let deaf = hearing.deaf();
            hearing.echoes();
            (deaf, hearing.deaf())
        };
        assert_eq!(deaf(1, 10), (None, None));
        assert_eq!(deaf(11, 21), (Some(at(11)), None));
    }

    #[test]
    fn a_minute_in_which_we_did_not_run_makes_nobody_deaf() {
        let mut hearing = Hearing::new(at(0));
        hearing.look(at(9), true);
        hearing.look(at(609), true);
        assert_eq!(hearing.deaf(), None);
    }

    #[test]
    fn one_that_tells_every_second_is_present() {
        let seconds: Vec<u64> = (1..10).map(|second| second * 10).collect();
        assert_eq!(judged(&[], &seconds, 100), []);
    }

    #[test]
    fn one_that_was_stopped_for_three_seconds_is_suspect_and_comes_back() {
        let tells: Vec<u64> = [10, 20, 55, 60, 70, 80].into();
        assert_eq!(judged(&[], &tells, 80), [(41, AgentStanding::Suspect)]);
        let mut agent = Attendance::new(at(0));
        agent.judge(at(30));
        agent.tells(at(31));
        assert_eq!(agent.standing(), &AgentStanding::Present);
    }

    #[test]
    fn one_that_beats_without_data_is_lost_and_stays_lost() {
        let beats: Vec<u64> = (1..100).collect();
        let changes = judged(&beats, &[10], 99);
        assert_eq!(changes.len(), 1);
        assert!(
            matches!(&changes[0], (61, AgentStanding::Lost(why)) if why.contains("though its heart beats")),
            "{changes:?}"
        );
    }

    #[test]
    fn one_whose_window_is_over_has_time_to_drain() {
        let mut agent = Attendance::new(at(0));
        agent.is_to_tell(true, at(0));
        agent.drains();
        (1..=119).for_each(|now| {
            agent.beats(at(now));
            assert!(!agent.judge(at(now)), "{now}");
        });
        agent.judge(at(121));
        assert!(agent.is_lost());
    }

    #[test]
    fn one_that_is_killed_is_lost_and_one_that_has_nothing_to_tell_only_beats() {
        let changes = judged(&[5], &[5], 99);
        assert!(
            matches!(&changes[1], (56, AgentStanding::Lost(why)) if why.contains("no heartbeat either")),
            "{changes:?}"
        );
        let mut idle = Attendance::new(at(0));
        for now in 1..200 {
            idle.beats(at(now));
            assert!(!idle.judge(at(now)));
        }
        idle.judge(at(199 + 51));
        assert!(idle.is_lost());
    }
}
