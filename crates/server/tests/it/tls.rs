//! TLS as clients see it: who gets in, what is said to those who do not, and certificates that
//! change meanwhile.

mod client;
mod service;

mod clients;
mod conversation;
mod reload;
mod stopping;
mod strangers;
mod unusable_files;
