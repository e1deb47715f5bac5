//! Messages of reflection.

use bytes::Bytes;
use prost::{Message, Oneof};

/// `ServerReflectionRequest`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub(crate) struct ServerReflectionRequest {
    #[prost(string, tag = "1")]
    pub(crate) host: String,
    #[prost(oneof = "ReflectionQuery", tags = "3, 4, 5, 6, 7")]
    pub(crate) query: Option<ReflectionQuery>,
}

/// Query of reflection.
#[derive(Clone, PartialEq, Eq, Hash, Oneof)]
pub(crate) enum ReflectionQuery {
    #[prost(string, tag = "3")]
    FileByFilename(String),
    #[prost(string, tag = "4")]
    FileContainingSymbol(String),
    #[prost(message, tag = "5")]
    FileContainingExtension(ExtensionRequest),
    #[prost(string, tag = "6")]
    AllExtensionNumbersOfType(String),
    #[prost(string, tag = "7")]
    ListServices(String),
}

/// `ExtensionRequest`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub(crate) struct ExtensionRequest {
    #[prost(string, tag = "1")]
    pub(crate) containing_type: String,
    #[prost(int32, tag = "2")]
    pub(crate) extension_number: i32,
}

/// `ServerReflectionResponse`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub(crate) struct ServerReflectionResponse {
    #[prost(string, tag = "1")]
    pub(crate) valid_host: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) original_request: Option<ServerReflectionRequest>,
    #[prost(oneof = "ReflectionAnswer", tags = "4, 6, 7")]
    pub(crate) answer: Option<ReflectionAnswer>,
}

/// Answer of reflection. There are no extensions.
#[derive(Clone, PartialEq, Eq, Hash, Oneof)]
pub(crate) enum ReflectionAnswer {
    #[prost(message, tag = "4")]
    File(FileDescriptorResponse),
    #[prost(message, tag = "6")]
    Services(ListServiceResponse),
    #[prost(message, tag = "7")]
    Error(ErrorResponse),
}

/// `FileDescriptorResponse`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub(crate) struct FileDescriptorResponse {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    pub(crate) file_descriptor_proto: Vec<Bytes>,
}

/// `ListServiceResponse`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub(crate) struct ListServiceResponse {
    #[prost(message, repeated, tag = "1")]
    pub(crate) service: Vec<ServiceResponse>,
}

/// `ServiceResponse`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub(crate) struct ServiceResponse {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
}

/// `ErrorResponse`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub(crate) struct ErrorResponse {
    #[prost(int32, tag = "1")]
    pub(crate) error_code: i32,
    #[prost(string, tag = "2")]
    pub(crate) error_message: String,
}
