//! Tests of choosing limits, over files and by the public interface.

mod access_log;
mod peak;
mod simulate;
mod suggest;
