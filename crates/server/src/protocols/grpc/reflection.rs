//! `grpc.reflection`: the services and their messages, for generic clients. Both versions differ
//! only in name.

mod files;
mod messages;

use std::sync::Arc;

use super::status::{Status, StatusCode};
use bytes::Bytes;
use h2::RecvStream;
use h2::server::SendResponse;
use slidegate::Clock;
use tokio::time::timeout;

use super::connection_state::ConnectionState;
use super::message;
use super::message::Messages;
use super::reply::{Outbox, StreamClosed};
use super::routes::{Route, SERVICES};
use crate::net::connections::Order;
use files::DescriptorFiles;
use messages::{
    ErrorResponse, FileDescriptorResponse, ListServiceResponse, ReflectionAnswer, ReflectionQuery,
    ServerReflectionRequest, ServerReflectionResponse, ServiceResponse,
};

/// Answers requests until the client has no more, or sends none for long.
pub(super) async fn serve<C: Clock>(
    connection: Arc<ConnectionState<C>>,
    body: RecvStream,
    respond: SendResponse<Bytes>,
) {
    let Ok(mut outbox) = Outbox::open(respond) else { return };
    let mut messages = Messages::new(body, &connection.budget(Route::Reflection));
    let ended = loop {
        let next = tokio::select! {
            biased;
            next = timeout(connection.bounds.idle, messages.next()) => next,
            () = connection.ordered(Order::Cut) => break Some(Status::shutting_down()),
        };
        match next.map(|next| {
            next.map_err(Status::from).and_then(|next| next.map(|next| answer(&next)).transpose())
        }) {
            Ok(Ok(Some(answer))) => {
                let sent = tokio::select! {
                    biased;
                    sent = outbox.send(answer, connection.bounds.write) => sent,
                    status = messages.overflow() => break Some(status),
                };
                if let Err(StreamClosed) = sent {
                    return;
                }
            }
            Ok(Ok(None)) => break None,
            Ok(Err(status)) => break Some(status),
            Err(_) => {
                break Some(Status::deadline_exceeded(
                    "timed out waiting for the next request; start another call",
                ));
            }
        }
    };
    outbox.end(ended.as_ref());
}

/// Response to a message.
fn answer(message: &[u8]) -> Result<Bytes, Status> {
    let request: ServerReflectionRequest = message::parse(message)?;
    let answer = match &request.query {
        Some(ReflectionQuery::FileByFilename(name)) => file(DescriptorFiles::get().by_name(name), name),
        Some(ReflectionQuery::FileContainingSymbol(symbol)) => {
            file(DescriptorFiles::get().by_symbol(symbol), symbol)
        }
        Some(ReflectionQuery::ListServices(_)) => ReflectionAnswer::Services(ListServiceResponse {
            service: SERVICES.map(|name| ServiceResponse { name: name.to_owned() }).into(),
        }),
        Some(ReflectionQuery::FileContainingExtension(extension)) => not_found(&extension.containing_type),
        Some(ReflectionQuery::AllExtensionNumbersOfType(name)) => not_found(name),
        None => error(StatusCode::InvalidArgument, "missing message_request".to_owned()),
    };
    let valid_host = request.host.clone();
    let response =
        ServerReflectionResponse { valid_host, original_request: Some(request), answer: Some(answer) };
    Ok(message::frame(&response))
}

fn file(found: Option<&Bytes>, name: &str) -> ReflectionAnswer {
    match found {
        Some(file) => {
            ReflectionAnswer::File(FileDescriptorResponse { file_descriptor_proto: vec![file.clone()] })
        }
        None => not_found(name),
    }
}

fn not_found(name: &str) -> ReflectionAnswer {
    error(StatusCode::NotFound, format!("unknown name {name:?}"))
}

fn error(code: StatusCode, error_message: String) -> ReflectionAnswer {
    ReflectionAnswer::Error(ErrorResponse { error_code: code as i32, error_message })
}

#[cfg(test)]
mod tests;
