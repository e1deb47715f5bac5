//! Files under `proto/` for reflection: compiled once, and compared with their sources by a test.

use std::collections::HashMap;
use std::sync::OnceLock;

use bytes::Bytes;
use prost::Message;
use prost_types::{DescriptorProto, FileDescriptorProto, FileDescriptorSet};

/// All files, each after those that it imports.
pub(super) const COMPILED: &[u8] = include_bytes!("../../../../proto/compiled.bin");

/// Files by name and by symbol.
#[derive(Default)]
pub(super) struct DescriptorFiles {
    by_name: HashMap<String, Bytes>,
    by_symbol: HashMap<String, Bytes>,
}

impl DescriptorFiles {
    /// The files, decoded at first use.
    pub(super) fn get() -> &'static Self {
        static FILES: OnceLock<DescriptorFiles> = OnceLock::new();
        FILES.get_or_init(|| {
            let set = FileDescriptorSet::decode(COMPILED).expect("a test has read it");
            let mut files = Self::default();
            set.file.iter().for_each(|file| files.add(file));
            files
        })
    }

    pub(super) fn by_name(&self, name: &str) -> Option<&Bytes> {
        self.by_name.get(name)
    }

    /// File that defines a type, a service or a method.
    pub(super) fn by_symbol(&self, symbol: &str) -> Option<&Bytes> {
        self.by_symbol.get(symbol)
    }

    fn add(&mut self, file: &FileDescriptorProto) {
        let bytes = Bytes::from(file.encode_to_vec());
        let mut symbols = Vec::new();
        let package = file.package();
        for message in &file.message_type {
            add_types(&mut symbols, package, message);
        }
        symbols.extend(file.enum_type.iter().map(|kind| format!("{package}.{}", kind.name())));
        for service in &file.service {
            let name = format!("{package}.{}", service.name());
            symbols.extend(service.method.iter().map(|method| format!("{name}.{}", method.name())));
            symbols.push(name);
        }
        self.by_symbol.extend(symbols.into_iter().map(|symbol| (symbol, bytes.clone())));
        self.by_name.insert(file.name().to_owned(), bytes);
    }
}

/// Adds a type and those in it.
fn add_types(symbols: &mut Vec<String>, within: &str, message: &DescriptorProto) {
    let name = format!("{within}.{}", message.name());
    symbols.extend(message.enum_type.iter().map(|kind| format!("{name}.{}", kind.name())));
    message.nested_type.iter().for_each(|nested| add_types(symbols, &name, nested));
    symbols.push(name);
}
