//! What is left to load, and what comes next. A worker fills a range of ids of one table in ascending order, since two
//! that write at the same end of a B-tree split its pages badly.

use plimsoll_workloads::dataset::DatasetTable;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// Rows of these ids, in one transaction.
    Chunk { table: usize, first: u64, last: u64 },
    /// A statement of [`DatasetTable::after`].
    Index { table: usize, index: usize },
    /// A statement of `Dataset::after_all`.
    Last(usize),
}

impl Task {
    /// Its name in the marker.
    pub fn part(&self, tables: &[DatasetTable]) -> String {
        match self {
            Task::Chunk { table, first, last } => format!("{} {first}-{last}", tables[*table].name),
            Task::Index { table, index } => format!("{} after {index}", tables[*table].name),
            Task::Last(number) => format!("after all {number}"),
        }
    }
}

/// What a free worker does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    Do(Task),
    /// What is left has to wait for the work of others.
    Wait,
    /// Nothing is left for this worker.
    End,
}

/// Ids of a table that are still to be loaded. The worker that has taken the range works from its start to its end;
/// others may split it.
struct Range {
    table: usize,
    next: u64,
    last: u64,
    taken: bool,
}

impl Range {
    fn ids(&self) -> u64 {
        (self.last + 1).saturating_sub(self.next)
    }
}

/// What a table waits for besides its rows.
struct Rest {
    /// Chunks and indexes that a worker is busy with.
    under_way: usize,
    /// Statements of `after` that have not begun, last first.
    indexes: Vec<usize>,
}

pub struct LoadWork<'t> {
    tables: &'t [DatasetTable],
    rests: Vec<Rest>,
    ranges: Vec<Range>,
    /// Statements of `after_all` that have not begun, last first.
    last: Vec<usize>,
    last_under_way: bool,
    /// Rows that `done` covers; an estimate if ids make several rows.
    pub rows_done: u64,
}

impl<'t> LoadWork<'t> {
    /// Everything except the parts in `done`; `after_all` is how many statements come last.
    pub fn new(tables: &'t [DatasetTable], after_all: usize, done: &BTreeSet<String>) -> LoadWork<'t> {
        let left = |task: Task| !done.contains(&task.part(tables));
        let last = (0..after_all).rev().filter(|number| left(Task::Last(*number))).collect();
        let (rests, ranges) = (Vec::new(), Vec::new());
        let mut work = LoadWork { tables, rests, ranges, last, last_under_way: false, rows_done: 0 };
        for (number, table) in tables.iter().enumerate() {
            let (mut next, mut ids_done) = (1, 0);
            let end = (table.ids + 1, table.ids);
            for (first, last) in done_ids(table, done).into_iter().chain([end]) {
                if next < first {
                    work.ranges.push(Range { table: number, next, last: first - 1, taken: false });
                }
                ids_done += last + 1 - first;
                next = next.max(last + 1);
            }
            work.rows_done += (u128::from(ids_done) * u128::from(table.rows) / u128::from(table.ids.max(1))) as u64;
            let indexes =
                (0..table.after.len()).rev().filter(|index| left(Task::Index { table: number, index: *index }));
            work.rests.push(Rest { under_way: 0, indexes: indexes.collect() });
        }
        work
    }

    /// What is being done, for the watcher.
    pub fn doing(&self) -> &'static str {
        if self.ranges.iter().any(|range| range.ids() > 0) {
            "rows"
        } else if self.rests.iter().any(|rest| rest.under_way > 0 || !rest.indexes.is_empty()) {
            "indexes"
        } else {
            "foreign keys"
        }
    }

    /// What to do next: an index of a table that has all its rows; then the worker's own range; then one that nobody
    /// has taken, of an idle table if there is one; then half of what another worker has left.
    pub fn next(&mut self, own: &mut Option<usize>) -> Next {
        let ready = |table: &usize| {
            let rest = &self.rests[*table];
            rest.under_way == 0 && !rest.indexes.is_empty() && !self.has_rows(*table)
        };
        let table = (0..self.rests.len()).find(ready);
        if let Some((table, index)) = table.and_then(|table| Some((table, self.rests[table].indexes.pop()?))) {
            self.rests[table].under_way += 1;
            return Next::Do(Task::Index { table, index });
        }
        let has_ids = |range: &usize| self.ranges[*range].ids() > 0;
        if let Some(range) = own.filter(has_ids).or_else(|| self.free_range()).or_else(|| self.half_a_range()) {
            *own = Some(range);
            return Next::Do(self.chunk_of(range));
        }
        if self.rests.iter().any(|rest| rest.under_way > 0) {
            return Next::Wait;
        }
        // One worker does all the last statements.
        match (self.last_under_way, self.last.pop()) {
            (false, Some(number)) => {
                self.last_under_way = true;
                Next::Do(Task::Last(number))
            }
            (true, Some(number)) => {
                self.last.push(number);
                Next::End
            }
            (_, None) => Next::End,
        }
    }

    /// Notes that a task is done.
    pub fn done(&mut self, task: &Task) {
        match task {
            Task::Chunk { table, .. } | Task::Index { table, .. } => self.rests[*table].under_way -= 1,
            Task::Last(_) => self.last_under_way = false,
        }
    }

    fn has_rows(&self, table: usize) -> bool {
        self.ranges.iter().any(|range| range.table == table && range.ids() > 0)
    }

    /// How much disk space the rest of a range will take, which is proportional to its time.
    fn bytes(&self, range: &Range) -> u128 {
        let table = &self.tables[range.table];
        u128::from(range.ids()) * u128::from(table.bytes.max(1)) / u128::from(table.ids.max(1))
    }

    fn free_range(&self) -> Option<usize> {
        let free = (0..self.ranges.len()).filter(|range| !self.ranges[*range].taken && self.ranges[*range].ids() > 0);
        let somebody_is_at = |table: usize| {
            let taken = |range: &Range| range.table == table && range.taken && range.ids() > 0;
            self.rests[table].under_way > 0 || self.ranges.iter().any(taken)
        };
        free.min_by_key(|range| {
            let range = &self.ranges[*range];
            (somebody_is_at(range.table), Reverse(self.bytes(range)))
        })
    }

    /// Splits the largest remaining range in the middle, at the end of a chunk, and returns the upper half.
    fn half_a_range(&mut self) -> Option<usize> {
        let left = (0..self.ranges.len()).filter(|range| self.ranges[*range].ids() > 0);
        let largest = left.min_by_key(|range| Reverse(self.bytes(&self.ranges[*range])))?;
        let range = &mut self.ranges[largest];
        let chunk = self.tables[range.table].chunk.max(1);
        let (before, behind) = ((range.next - 1) / chunk, range.last.div_ceil(chunk));
        // The upper half of a single chunk is all of it.
        let first = ((before + (behind - before) / 2) * chunk + 1).max(range.next);
        let upper = Range { table: range.table, next: first, last: range.last, taken: false };
        range.last = first - 1;
        self.ranges.push(upper);
        Some(self.ranges.len() - 1)
    }

    fn chunk_of(&mut self, range: usize) -> Task {
        let range = &mut self.ranges[range];
        let chunk = self.tables[range.table].chunk.max(1);
        let first = range.next;
        let last = range.last.min(((first - 1) / chunk + 1) * chunk);
        range.taken = true;
        range.next = last + 1;
        self.rests[range.table].under_way += 1;
        Task::Chunk { table: range.table, first, last }
    }
}

/// The ids that the parts in `done` cover, ascending and within the table.
fn done_ids(table: &DatasetTable, done: &BTreeSet<String>) -> Vec<(u64, u64)> {
    let ids = |part: &String| {
        let (first, last) = part.strip_prefix(&table.name)?.strip_prefix(' ')?.split_once('-')?;
        let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        (1 <= first && first <= last && last <= table.ids).then_some((first, last))
    };
    let mut all: Vec<(u64, u64)> = done.iter().filter_map(ids).collect();
    all.sort_unstable();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Statements that come after everything.
    const LAST: usize = 3;

    fn table(name: &str, ids: u64, chunk: u64, indexes: usize) -> DatasetTable {
        DatasetTable {
            name: name.to_owned(),
            create: String::new(),
            before: Vec::new(),
            after: vec![String::new(); indexes],
            ids,
            rows: 3 * ids,
            chunk,
            rolls_back: true,
            doubles: None,
            bytes: 300 * ids,
            load_data: String::new(),
            insert: String::new(),
        }
    }

    fn some_tables() -> Vec<DatasetTable> {
        vec![
            table("one", 1, 10, 0),
            table("small", 95, 10, 2),
            table("large", 1_003, 10, 1),
            table("none", 0, 10, 1),
            table("other", 700, 70, 3),
        ]
    }

    /// Simulated workers take and end tasks in an order that `seed` decides; all tasks in the order in which they end,
    /// at most `limit` of them.
    fn played(work: &mut LoadWork, workers: usize, mut seed: u64, limit: usize) -> Vec<Task> {
        let mut own = vec![None; workers];
        let mut at: Vec<Option<Task>> = vec![None; workers];
        let mut ended = Vec::new();
        let mut over = vec![false; workers];
        while ended.len() < limit && over.iter().any(|over| !over) {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let worker = (seed >> 33) as usize % workers;
            if over[worker] {
                continue;
            }
            match at[worker].take() {
                Some(task) => {
                    work.done(&task);
                    ended.push(task);
                }
                None => match work.next(&mut own[worker]) {
                    Next::Do(task) => {
                        let others = || at.iter().flatten();
                        if let Task::Index { table, .. } = &task {
                            assert!(!work.has_rows(*table), "indexes come after the rows");
                            let same = |other: &Task| matches!(other, Task::Chunk { table: o, .. } | Task::Index { table: o, .. } if o == table);
                            assert!(!others().any(same), "nobody else is at the table");
                        }
                        if let Task::Last(_) = &task {
                            assert_eq!(others().count(), 0, "alone, after everything else");
                        }
                        at[worker] = Some(task);
                    }
                    Next::Wait => assert!(at.iter().any(Option::is_some), "there is somebody to wait for"),
                    Next::End => over[worker] = true,
                },
            }
        }
        assert!(ended.len() == limit || (0..work.tables.len()).all(|table| !work.has_rows(table)));
        ended
    }

    /// Every id, index and last statement exactly once, the last ones in order.
    fn check_complete(tables: &[DatasetTable], tasks: &[Task]) {
        for (number, table) in tables.iter().enumerate() {
            let ids = tasks.iter().filter_map(|task| match task {
                Task::Chunk { table, first, last } if *table == number => Some((*first, *last)),
                _ => None,
            });
            let mut ids: Vec<_> = ids.collect();
            ids.sort_unstable();
            let mut next = 1;
            for (first, last) in ids {
                assert_eq!(first, next, "{}", table.name);
                assert!(last >= first && last - first < table.chunk);
                assert!(last == table.ids || last % table.chunk == 0, "chunks end where natural parts do");
                next = last + 1;
            }
            assert_eq!(next, table.ids + 1, "{}", table.name);
            for index in 0..table.after.len() {
                let count = tasks.iter().filter(|task| **task == Task::Index { table: number, index }).count();
                assert_eq!(count, 1, "{} {index}", table.name);
            }
        }
        let last: Vec<_> = tasks.iter().filter(|task| matches!(task, Task::Last(_))).collect();
        assert_eq!(last, [&Task::Last(0), &Task::Last(1), &Task::Last(2)]);
    }

    #[test]
    fn everything_is_done_once_whatever_the_number_of_workers() {
        let tables = some_tables();
        for workers in [1, 2, 3, 5, 8, 40] {
            for seed in 0..40 {
                let mut work = LoadWork::new(&tables, LAST, &BTreeSet::new());
                let tasks = played(&mut work, workers, seed, usize::MAX);
                check_complete(&tables, &tasks);
                let names: BTreeSet<_> = tasks.iter().map(|task| task.part(&tables)).collect();
                assert_eq!(names.len(), tasks.len(), "each has a name of its own");
            }
        }
    }

    #[test]
    fn a_resumed_load_does_the_rest_with_any_number_of_workers() {
        let tables = some_tables();
        for seed in 0..60 {
            let (before, after) = (1 + seed as usize % 7, 1 + seed as usize % 5);
            let mut work = LoadWork::new(&tables, LAST, &BTreeSet::new());
            let mut tasks = played(&mut work, before, seed, 3 * seed as usize);
            let done: BTreeSet<_> = tasks.iter().map(|task| task.part(&tables)).collect();
            let mut rest = LoadWork::new(&tables, LAST, &done);
            let ids: u64 = tasks
                .iter()
                .map(|task| if let Task::Chunk { first, last, .. } = task { last + 1 - first } else { 0 })
                .sum();
            assert_eq!(rest.rows_done, 3 * ids);
            tasks.extend(played(&mut rest, after, seed + 1, usize::MAX));
            check_complete(&tables, &tasks);
        }
    }

    #[test]
    fn parts_of_other_chunk_sizes_are_gone_on_with() {
        let tables = vec![table("t", 100, 30, 0)];
        let done = ["t 1-20".to_owned(), "t 41-60".to_owned(), "t2 1-100".to_owned(), "t 90-200".to_owned()].into();
        let mut work = LoadWork::new(&tables, LAST, &done);
        let tasks = played(&mut work, 1, 1, usize::MAX);
        let chunk = |first, last| Task::Chunk { table: 0, first, last };
        assert_eq!(tasks[..4], [chunk(61, 90), chunk(91, 100), chunk(21, 30), chunk(31, 40)]);
    }

    #[test]
    fn workers_write_far_apart() {
        let tables = vec![table("a", 100, 10, 0), table("b", 400, 10, 0)];
        let mut work = LoadWork::new(&tables, LAST, &BTreeSet::new());
        let mut own = [None; 3];
        let chunk = |table, first| Next::Do(Task::Chunk { table, first, last: first + 9 });
        assert_eq!(work.next(&mut own[0]), chunk(1, 1), "the largest first");
        assert_eq!(work.next(&mut own[1]), chunk(0, 1), "then the one that nobody is at");
        assert_eq!(work.next(&mut own[2]), chunk(1, 201), "then half of the largest rest");
        assert_eq!(work.next(&mut own[2]), chunk(1, 211));
        assert_eq!(work.next(&mut own[0]), chunk(1, 11));
    }
}
