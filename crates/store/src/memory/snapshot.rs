//! Snapshot: the store in a file; versioned, checksummed, replaced atomically, readable by its
//! owner only.
//!
//! A file is a sequence of 64-bit little-endian words: a header, the subjects, a closing word, the
//! notes, and the SHA-256 of all that. Version 1 had no notes, and versions before 3 no open
//! permits: older permits are void. Shards are written one after the other, so that no request waits for
//! more than one of them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::interner::Interner;
use super::row::Row;
use super::slot::{Slot, SlotContent};
use super::snapshot_reader::{SnapshotReader, damaged};
use super::subject::SubjectState;
use super::{Memory, codec};
use crate::fingerprint::{Fingerprint, Seed};
use crate::key::Space;

/// `SLDGATE` and the version of the format.
const MAGIC: u64 = u64::from_be_bytes(*b"SLDGATE\x03");
/// Older versions: without notes, and without open permits.
const MAGIC_1: u64 = u64::from_be_bytes(*b"SLDGATE\x01");
const MAGIC_2: u64 = u64::from_be_bytes(*b"SLDGATE\x02");
const DIGEST_BYTES: usize = 32;
/// Size of the buffer through which a file is read.
const PIECE_BYTES: usize = 256 << 10;
/// Word before every subject; `END` is behind the last.
const SUBJECT: u64 = 1;
const END: u64 = 0;

/// Error of writing or reading a snapshot.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The file system refused.
    #[error("cannot access snapshot {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The file is not a snapshot, or one of another version.
    #[error("{}: not a snapshot, or an unsupported version; move the file away to start empty", .0.display())]
    Foreign(PathBuf),
    /// The file is damaged. Nothing of it was used.
    #[error("snapshot {} is damaged and was not loaded; move the file away to start empty", .0.display())]
    Damaged(PathBuf),
}

impl Memory {
    /// Writes everything that is alive at `now_ms` to a file, which is replaced as a whole or not
    /// at all.
    pub fn save(&self, path: &Path, now_ms: u64) -> Result<(), SnapshotError> {
        let failed = |source| SnapshotError::Io { path: path.to_owned(), source };
        let temporary = temporary_path(path);
        let _: io::Result<()> = fs::remove_file(&temporary);
        self.write_file(&temporary, now_ms).and_then(|()| fs::rename(&temporary, path)).map_err(|error| {
            let _: io::Result<()> = fs::remove_file(&temporary);
            failed(error)
        })?;
        // The new name is only sure to survive a power cut once the directory is written too.
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(parent).and_then(|directory| directory.sync_all()).map_err(failed)
    }

    /// Checks that [`Memory::save`] can create its file, by creating one. Removes the remains of an
    /// interrupted save.
    pub fn may_save(path: &Path) -> io::Result<()> {
        let temporary = temporary_path(path);
        let _: io::Result<()> = fs::remove_file(&temporary);
        create(&temporary).and_then(|_| fs::remove_file(&temporary))
    }

    fn write_file(&self, path: &Path, now_ms: u64) -> io::Result<()> {
        let mut file = BufWriter::new(create(path)?);
        let mut digest = Sha256::new();
        let mut emit = |words: &[u64]| {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            digest.update(&bytes);
            file.write_all(&bytes)
        };
        let (seed, _) = self.fingerprints.seed().as_chunks::<8>();
        let mut header = vec![MAGIC, now_ms];
        header.extend(seed.iter().map(|word| u64::from_le_bytes(*word)));
        emit(&header)?;
        for shard in &self.shards {
            let mut words = Vec::new();
            let shard = shard.lock();
            shard.slots.iter().for_each(|slot| write_slot(&self.interner, slot, &mut words));
            shard.rows.iter().for_each(|row| write_row(&self.interner, row, &mut words));
            drop(shard);
            emit(&words)?;
        }
        let mut words = vec![END];
        codec::write_notes(&self.notes_now(), &mut words);
        emit(&words)?;
        file.write_all(&digest.finalize())?;
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    }

    /// Store with at most `max_memory` bytes from a file of [`Memory::save`]. The file is read in
    /// pieces, and takes no memory beside the store.
    pub fn load(path: &Path, max_memory: usize) -> Result<Self, SnapshotError> {
        let failed = |source| SnapshotError::Io { path: path.to_owned(), source };
        Self::load_file(File::open(path).map_err(failed)?, path, max_memory)
    }

    /// [`Memory::load`] from an open file; `path` is for errors.
    pub fn load_file(mut file: File, path: &Path, max_memory: usize) -> Result<Self, SnapshotError> {
        let failed = |source: io::Error| match source.kind() {
            ErrorKind::InvalidData | ErrorKind::UnexpectedEof => SnapshotError::Damaged(path.to_owned()),
            _ => SnapshotError::Io { path: path.to_owned(), source },
        };
        if !is_snapshot(&mut file).map_err(failed)? {
            return Err(SnapshotError::Foreign(path.to_owned()));
        }
        check(&mut file).and_then(|words| Self::read(&mut file, words, max_memory)).map_err(failed)
    }

    /// Store from a file of this many words, whose digest is valid.
    fn read(file: &mut File, words: u64, max_memory: usize) -> io::Result<Self> {
        file.rewind()?;
        let input = &mut SnapshotReader::new(BufReader::with_capacity(PIECE_BYTES, file), words);
        let [magic, now_ms] = input.take_array()?;
        let store = Self::with_seed(max_memory, seed_from(&input.take_array()?));
        while input.take()? == SUBJECT {
            let (fingerprint, subject) = read_subject(&store.interner, input, magic)?;
            store.restore(fingerprint, subject, now_ms);
        }
        if magic != MAGIC_1 {
            *store.notes.lock() = codec::read_notes(input)?;
        }
        if input.is_at_end() { Ok(store) } else { Err(damaged()) }
    }

    /// Inserts a subject. Beyond a smaller bound it is forgotten and counted.
    fn restore(&self, fingerprint: Fingerprint, mut subject: SubjectState, now_ms: u64) {
        let mut shard = self.shards[self.shard_of(&fingerprint)].lock();
        let footprint = subject.footprint(subject.layout(&self.interner));
        if shard.reserve_memory(&self.interner, &mut subject, footprint, now_ms).is_err() {
            // No request was denied.
            shard.stats.refused_for_room = 0;
            shard.stats.forgotten_keys += 1;
            shard.stats.forgotten_units += subject.fullness(now_ms).units;
            return;
        }
        shard.put_back(&self.interner, fingerprint, (subject, None), now_ms);
    }
}

/// True if the file begins with the magic number of a snapshot.
fn is_snapshot(file: &mut File) -> io::Result<bool> {
    let mut first = Vec::new();
    file.take(8).read_to_end(&mut first)?;
    let magic = first.first_chunk().map(|first| u64::from_le_bytes(*first));
    Ok(matches!(magic, Some(MAGIC | MAGIC_1 | MAGIC_2)))
}

/// Number of words of a file with a valid digest. It is checked first, so that no state is made of
/// damaged words; for that the file is read twice, because it may not fit into memory.
fn check(file: &mut File) -> io::Result<u64> {
    let content_bytes = file.metadata()?.len().checked_sub(DIGEST_BYTES as u64).ok_or_else(damaged)?;
    file.rewind()?;
    let mut hash = DigestWriter(Sha256::new());
    io::copy(&mut (&mut *file).take(content_bytes), &mut hash)?;
    let mut digest = [0; DIGEST_BYTES];
    file.read_exact(&mut digest)?;
    let is_right = hash.0.finalize().as_slice() == digest && content_bytes.is_multiple_of(8);
    if is_right { Ok(content_bytes / 8) } else { Err(damaged()) }
}

/// Writer into a hash.
struct DigestWriter(Sha256);

impl Write for DigestWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn seed_from(words: &[u64; 4]) -> Seed {
    let mut seed = Seed::default();
    for (chunk, word) in seed.chunks_exact_mut(8).zip(words) {
        chunk.copy_from_slice(&word.to_le_bytes());
    }
    seed
}

fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // An existing file, from an interrupted save, may have another mode or owner.
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn temporary_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    path.with_file_name(name)
}

fn write_slot(interner: &Interner, slot: &Slot, words: &mut Vec<u64>) {
    let subject = match &slot.content {
        SlotContent::Heap(subject) => return write_subject(interner, slot.fingerprint, subject, words),
        SlotContent::Packed { spec, cell } => SlotContent::Packed { spec: *spec, cell: *cell },
    };
    if let Some(subject) = SubjectState::from_slot(interner, subject) {
        write_subject(interner, slot.fingerprint, &subject, words);
    }
}

fn write_row(interner: &Interner, row: &Row, words: &mut Vec<u64>) {
    if let Some(subject) = SubjectState::from_row(interner, row.content.clone()) {
        write_subject(interner, row.fingerprint, &subject, words);
    }
}

fn write_subject(
    interner: &Interner,
    fingerprint: Fingerprint,
    subject: &SubjectState,
    words: &mut Vec<u64>,
) {
    let Space(space) = interner.space(subject.group).unwrap_or(Space([0, 0]));
    words.extend([SUBJECT, fingerprint.0, fingerprint.1]);
    words.extend(space);
    words.extend([u64::from(subject.denied), subject.limit_states.len() as u64]);
    subject.limit_states.iter().for_each(|t| codec::write_limit_state(&t.limit, &t.state, words));
    codec::write_permits(&subject.permits, words);
}

fn read_subject(
    interner: &Interner,
    input: &mut SnapshotReader<impl Read>,
    magic: u64,
) -> io::Result<(Fingerprint, SubjectState)> {
    let [one, two, first, second, denied, limits] = input.take_array()?;
    let mut subject = SubjectState::new(interner.group(Space([first, second])));
    subject.denied = denied == 1;
    for _ in 0..limits {
        subject.limit_states.push(codec::read_limit_state(input)?);
    }
    subject.permits = match magic {
        MAGIC => codec::read_permits(input)?,
        _ => codec::skip_spent(input)?,
    };
    Ok((Fingerprint(one, two), subject))
}
