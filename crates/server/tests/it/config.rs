//! The policy file with the settings of the server: its errors and its schema.

mod diagnostics;
mod schema;
mod settings;
