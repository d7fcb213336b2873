//! Lays out files, opens them for a job, and removes them.

use crate::error::{DuringStorage, StorageError};
use crate::layout::{Allocation, FileLayout, Open};
use crate::place::EvaluationDirectory;
use memmap2::MmapMut;
use rustix::fs::{Advice, FallocateFlags, OFlags, fadvise, fallocate};
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Bytes per write.
const PIECE: usize = 1 << 20;
/// A multiple of the logical block of every known device; other writes go through the page cache.
const DIRECT_UNIT: usize = 4096;

/// Existing files, opened for a job.
#[derive(Debug)]
pub struct FileSet {
    pub layout: FileLayout,
    pub open: Open,
    pub files: Vec<File>,
    pub paths: Vec<PathBuf>,
    /// The directory that they are in.
    pub directory: PathBuf,
}

impl FileSet {
    /// Makes everything durable and drops it from the page cache (posix_fadvise(2), POSIX_FADV_DONTNEED: dirty or
    /// mapped pages would stay there).
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn drop_cached(&self) -> Result<(), StorageError> {
        (0..self.files.len()).try_for_each(|file| self.drop_file(file))
    }

    /// The same with one file.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn drop_file(&self, file: usize) -> Result<(), StorageError> {
        drop_cached(&self.files[file], &self.paths[file])
    }
}

fn drop_cached(file: &File, path: &Path) -> Result<(), StorageError> {
    file.sync_all().during("sync", path)?;
    fadvise(file, 0, None, Advice::DontNeed).during("drop from the page cache", path)
}

/// Receives the progress of a layout: bytes written, of how many. False ends it with [`StorageError::Interrupted`].
pub type Told<'a> = &'a mut dyn FnMut(u64, u64) -> bool;

/// Creates the files of a layout unless they exist already: written in pieces of 1 MiB (with direct I/O if the file
/// system supports it), synced and dropped from the page cache at the end.
///
/// # Errors
/// [`StorageError::Full`] if the file system has too little room, [`StorageError::Io`] for other errors,
/// [`StorageError::Interrupted`]; what was created so far is removed.
pub fn lay_out(
    place: &EvaluationDirectory,
    layout: &FileLayout,
    seed: u64,
    told: Told<'_>,
) -> Result<(), StorageError> {
    if place.laid_out(&layout.name).as_ref() == Some(layout) && layout.can_be_used_again() && is_whole(place, layout) {
        return Ok(());
    }
    remove(place, layout)?;
    check_room(place, layout)?;
    match make(place, layout, seed, told) {
        Ok(()) => {
            place.note_layout(layout);
            Ok(())
        }
        Err(error) => {
            let error = explained(error, place, layout);
            // The first error is the one to report.
            let _ = remove(place, layout);
            Err(error)
        }
    }
}

/// Whether all files exist with the right length: a job may have let them grow.
fn is_whole(place: &EvaluationDirectory, layout: &FileLayout) -> bool {
    let whole = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|facts| facts.len() == layout.bytes_per_file);
    layout.paths(place.path()).iter().all(whole)
}

/// A disk is not filled up just to find out that it is too small.
fn check_room(place: &EvaluationDirectory, layout: &FileLayout) -> Result<(), StorageError> {
    let claims_room = matches!(layout.allocation, Allocation::Overwrite | Allocation::Unwritten);
    match free_bytes(place.path()) {
        Some(free) if claims_room && free < layout.bytes() => Err(full(place, layout)),
        _ => Ok(()),
    }
}

/// The space left for unprivileged writers; `None` if the file system does not say.
fn free_bytes(directory: &Path) -> Option<u64> {
    let facts = rustix::fs::statvfs(directory).ok().filter(|facts| facts.f_blocks > 0)?;
    Some(facts.f_bavail.saturating_mul(facts.f_frsize))
}

fn full(place: &EvaluationDirectory, layout: &FileLayout) -> StorageError {
    let free = free_bytes(place.path()).unwrap_or(0);
    StorageError::Full { directory: place.path().to_owned(), needed: layout.bytes(), free }
}

fn explained(error: StorageError, place: &EvaluationDirectory, layout: &FileLayout) -> StorageError {
    match error {
        StorageError::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => full(place, layout),
        other => other,
    }
}

fn make(place: &EvaluationDirectory, layout: &FileLayout, seed: u64, told: Told<'_>) -> Result<(), StorageError> {
    let mut piece = MmapMut::map_anon(PIECE).during("get memory to lay out", place.path())?;
    for (number, path) in (0u32..).zip(&layout.paths(place.path())) {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path).during("create", path)?;
        match layout.allocation {
            Allocation::Extend => {}
            Allocation::Hole => file.set_len(layout.bytes_per_file).during("make sparse", path)?,
            Allocation::Unwritten => allocate(&file, layout.bytes_per_file).during("allocate (fallocate)", path)?,
            Allocation::Overwrite => {
                let content = |offset, bytes: &mut [u8]| layout.content.fill(seed, number, offset, bytes);
                let before = u64::from(number) * layout.bytes_per_file;
                let mut told = |done| told(before + done, layout.bytes());
                write_in_full(&file, path, layout.bytes_per_file, &mut piece, content, &mut told)?;
            }
        }
        drop_cached(&file, path)?;
    }
    File::open(place.path()).and_then(|directory| directory.sync_all()).during("sync", place.path())
}

/// Piece by piece; `told` is called with the bytes written to this file.
fn write_in_full(
    file: &File,
    path: &Path,
    length: u64,
    piece: &mut [u8],
    content: impl Fn(u64, &mut [u8]),
    told: &mut dyn FnMut(u64) -> bool,
) -> Result<(), StorageError> {
    let mut writer = Writer::new(file, path);
    for offset in (0..length).step_by(PIECE) {
        let end = length.min(offset + PIECE as u64);
        let bytes = &mut piece[..(end - offset) as usize];
        content(offset, bytes);
        writer.write(offset, bytes).during("write", path)?;
        if !told(end) {
            return Err(StorageError::Interrupted);
        }
    }
    Ok(())
}

/// fallocate(2), which leaves the extents unwritten; never the emulation that writes.
fn allocate(file: &File, bytes: u64) -> rustix::io::Result<()> {
    match bytes {
        0 => Ok(()),
        _ => fallocate(file, FallocateFlags::empty(), 0, bytes),
    }
}

/// Bypasses the page cache as long as the file system allows it.
struct Writer<'a> {
    file: &'a File,
    direct: Option<File>,
}

impl Writer<'_> {
    fn new<'a>(file: &'a File, path: &Path) -> Writer<'a> {
        let flags = (OFlags::DIRECT | OFlags::NOFOLLOW).bits() as i32;
        Writer { file, direct: OpenOptions::new().write(true).custom_flags(flags).open(path).ok() }
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let direct = self.direct.as_ref().filter(|_| bytes.len().is_multiple_of(DIRECT_UNIT));
        match direct.map(|file| file.write_all_at(bytes, offset)) {
            Some(Err(error)) if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => self.direct = None,
            Some(done) => return done,
            None => {}
        }
        self.file.write_all_at(bytes, offset)
    }
}

/// Removes the files of a layout, and of any layout of the same name before it.
///
/// # Errors
/// [`StorageError::Io`].
pub fn remove(place: &EvaluationDirectory, layout: &FileLayout) -> Result<(), StorageError> {
    let most = place.forget_layout(&layout.name).map_or(0, |before| before.files).max(layout.files);
    for number in 0..most {
        let path = place.path().join(layout.file_name(number));
        match fs::remove_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            removed => removed.during("remove", &path)?,
        }
    }
    Ok(())
}

/// Opens files that were laid out: clean, and not in the page cache.
///
/// # Errors
/// [`StorageError::Io`]; EINVAL if the file system has no O_DIRECT.
pub fn open(place: &EvaluationDirectory, layout: &FileLayout, open: Open) -> Result<FileSet, StorageError> {
    let what = if open.direct { "open with O_DIRECT" } else { "open" };
    let paths = layout.paths(place.path());
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(open.flags());
    let files: Result<Vec<File>, StorageError> =
        paths.iter().map(|path| options.open(path).during(what, path)).collect();
    let set = FileSet { layout: layout.clone(), open, files: files?, paths, directory: place.path().to_owned() };
    set.drop_cached()?;
    Ok(set)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{Content, DUPLICATE};
    use std::os::unix::fs::MetadataExt;

    fn place() -> (tempfile::TempDir, EvaluationDirectory) {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("data");
        fs::create_dir(&directory).unwrap();
        let place = EvaluationDirectory::create(&root.path().join("home"), &directory).unwrap();
        (root, place)
    }

    /// Two files with a piece and a bit, which is no multiple of what direct I/O takes.
    fn layout(allocation: Allocation, content: Content) -> FileLayout {
        let bytes_per_file = PIECE as u64 + 5000;
        FileLayout { name: "data".to_owned(), files: 2, bytes_per_file, allocation, content, fresh: false }
    }

    fn made(place: &EvaluationDirectory, layout: &FileLayout) -> Vec<Vec<u8>> {
        lay_out(place, layout, 1, &mut |_, _| true).unwrap();
        layout.paths(place.path()).iter().map(|path| fs::read(path).unwrap()).collect()
    }

    fn files_left(place: &EvaluationDirectory) -> usize {
        fs::read_dir(place.path()).unwrap().count() - 1
    }

    #[test]
    fn each_allocation_has_its_length_and_its_blocks() {
        let (_root, place) = place();
        let cases = [
            (Allocation::Overwrite, PIECE as u64 + 5000, true),
            (Allocation::Unwritten, PIECE as u64 + 5000, true),
            (Allocation::Hole, PIECE as u64 + 5000, false),
            (Allocation::Extend, 0, false),
        ];
        for (allocation, bytes, allocated) in cases {
            let layout = layout(allocation, Content::Random);
            lay_out(&place, &layout, 1, &mut |_, _| true).unwrap();
            for facts in layout.paths(place.path()).iter().map(|path| fs::metadata(path).unwrap()) {
                assert_eq!((facts.len(), facts.blocks() > 0), (bytes, allocated), "{allocation:?}");
            }
        }
        remove(&place, &layout(Allocation::Hole, Content::Random)).unwrap();
        assert_eq!(files_left(&place), 0);
    }

    #[test]
    fn contents_are_what_they_are_called() {
        let (_root, place) = place();
        let of = |content| made(&place, &layout(Allocation::Overwrite, content));
        let random = of(Content::Random);
        assert_ne!(random[0], random[1]);
        let zeros = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == 0).count() as f64 / bytes.len() as f64;
        assert!(zeros(&random[0]) < 0.01);
        assert_eq!(zeros(&of(Content::Zeros)[1]), 1.0);
        let half = zeros(&of(Content::HalfCompressible)[0]);
        assert!((0.49..0.52).contains(&half), "{half}");
        let duplicates = of(Content::Duplicates);
        assert!(
            duplicates
                .iter()
                .flat_map(|file| file.chunks_exact(DUPLICATE))
                .all(|page| page == &duplicates[0][..DUPLICATE])
        );
        assert!(zeros(&duplicates[0]) < 0.02);
    }

    #[test]
    fn equal_layouts_are_made_once_unless_they_must_be_fresh() {
        let (_root, place) = place();
        let shared = layout(Allocation::Overwrite, Content::Zeros);
        let inode = |layout: &FileLayout| {
            lay_out(&place, layout, 1, &mut |_, _| true).unwrap();
            fs::write(place.path().join("between"), b"takes the inode that may have become free").unwrap();
            fs::remove_file(place.path().join("between")).unwrap();
            let facts = fs::metadata(place.path().join("data.0")).unwrap();
            (facts.ino(), facts.ctime(), facts.ctime_nsec())
        };
        let first = inode(&shared);
        assert_eq!(inode(&shared), first);
        OpenOptions::new().write(true).open(place.path().join("data.1")).unwrap().set_len(1).unwrap();
        assert_ne!(inode(&shared), first, "a file that has another length by now");
        let fresh = FileLayout { fresh: true, ..shared };
        assert_ne!(inode(&fresh), inode(&fresh));
    }

    #[test]
    fn progress_is_told_and_an_interruption_leaves_nothing() {
        let (_root, place) = place();
        let layout = layout(Allocation::Overwrite, Content::Zeros);
        let mut told = Vec::new();
        lay_out(&place, &layout, 1, &mut |done, of| {
            told.push((done, of));
            true
        })
        .unwrap();
        assert_eq!(
            told.iter().map(|told| told.0).collect::<Vec<_>>(),
            [1 << 20, (1 << 20) + 5000, (2 << 20) + 5000, (2 << 20) + 10_000]
        );
        let fresh = FileLayout { fresh: true, ..layout };
        let interrupted = lay_out(&place, &fresh, 1, &mut |done, _| done < 2 << 20);
        assert!(matches!(interrupted, Err(StorageError::Interrupted)));
        assert_eq!(files_left(&place), 0);
    }

    #[test]
    fn what_cannot_fit_is_refused_with_what_is_needed_and_free() {
        let (_root, place) = place();
        let huge = FileLayout { bytes_per_file: 1 << 60, ..layout(Allocation::Overwrite, Content::Zeros) };
        let error = lay_out(&place, &huge, 1, &mut |_, _| panic!("something was written")).unwrap_err();
        assert!(matches!(error, StorageError::Full { needed, free, .. } if needed == 2 << 60 && free > 0), "{error}");
        assert_eq!(files_left(&place), 0);
    }

    #[test]
    fn files_open_as_asked() {
        let (_root, place) = place();
        let layout = layout(Allocation::Overwrite, Content::Random);
        lay_out(&place, &layout, 1, &mut |_, _| true).unwrap();
        let flags = |asked| {
            let set = open(&place, &layout, asked).unwrap();
            let flags = rustix::fs::fcntl_getfl(&set.files[1]).unwrap().bits() as i32;
            (flags & libc::O_DIRECT != 0, flags & libc::O_SYNC)
        };
        assert_eq!(flags(Open { dsync: true, ..Open::default() }), (false, libc::O_DSYNC));
        let set = open(&place, &layout, Open::default()).unwrap();
        assert_eq!((set.files.len(), set.paths[1].file_name().unwrap().to_str()), (2, Some("data.1")));
        remove(&place, &layout).unwrap();
        assert!(open(&place, &layout, Open::default()).unwrap_err().to_string().starts_with("cannot open "));
    }
}
