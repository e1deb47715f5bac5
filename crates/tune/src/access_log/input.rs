//! Bytes of an input: plain, or of gzip or zstd by their first bytes.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;
use zstd::stream::read as zstd;

use super::options::LogInput;

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const COMPRESSED_BLOCK_BYTES: usize = 1 << 17;

/// Bytes of an input, decompressed.
pub(super) struct LogBytes {
    reader: Box<dyn Read + Send>,
    /// Bytes read of the input as it is.
    read: Arc<AtomicU64>,
    is_compressed: bool,
}

/// Error while bytes are read.
#[derive(Debug)]
pub(super) enum BytesError {
    /// Error of the system.
    Io(io::Error),
    /// Compressed data that ends early or is damaged.
    Torn,
}

/// Opened input.
pub(super) struct OpenedInput {
    pub(super) bytes: LogBytes,
    /// Its size, if it is a file.
    pub(super) size: Option<u64>,
}

pub(super) fn open(input: &LogInput) -> io::Result<OpenedInput> {
    match input {
        LogInput::File(path) => {
            let file = File::open(path)?;
            let metadata = file.metadata()?;
            let size = metadata.is_file().then_some(metadata.len());
            Ok(OpenedInput { bytes: LogBytes::detect(file)?, size })
        }
        LogInput::Stdin => Ok(OpenedInput { bytes: LogBytes::detect(io::stdin())?, size: None }),
    }
}

impl LogBytes {
    pub(super) fn detect(source: impl Read + Send + 'static) -> io::Result<Self> {
        let read = Arc::new(AtomicU64::new(0));
        let mut source = ReadCounter { source, read: read.clone() };
        let mut start = Vec::with_capacity(ZSTD.len());
        source.by_ref().take(ZSTD.len() as u64).read_to_end(&mut start)?;
        let is_zstd = start.starts_with(&ZSTD);
        let is_gzip = start.starts_with(&GZIP);
        let whole = Cursor::new(start).chain(source);
        let reader: Box<dyn Read + Send> = if is_gzip {
            Box::new(MultiGzDecoder::new(BufReader::with_capacity(COMPRESSED_BLOCK_BYTES, whole)))
        } else if is_zstd {
            Box::new(zstd::Decoder::new(whole)?)
        } else {
            Box::new(whole)
        };
        Ok(Self { reader, read, is_compressed: is_gzip || is_zstd })
    }

    /// Reads what comes next. 0 at the end.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, BytesError> {
        loop {
            match self.reader.read(buffer) {
                Ok(bytes) => return Ok(bytes),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Errors of the system have a number, those of a decoder have none.
                Err(error) if self.is_compressed && error.raw_os_error().is_none() => {
                    return Err(BytesError::Torn);
                }
                Err(error) => return Err(BytesError::Io(error)),
            }
        }
    }

    /// Bytes read of the input as it is.
    pub(super) fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }
}

/// Counts what is read.
struct ReadCounter<R> {
    source: R,
    read: Arc<AtomicU64>,
}

impl<R: Read> Read for ReadCounter<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.source.read(buffer)?;
        self.read.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}
