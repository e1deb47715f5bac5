//! What there is, for programs that do not know.

use std::time::Duration;

use bytes::Bytes;
use prost_reflect::{DescriptorPool, DynamicMessage, ReflectMessage, Value};
use tokio::time::timeout;

use crate::grpc::client::{Client, framed, next};
use crate::grpc::service::Service;
use prost::Message;

fn pool() -> DescriptorPool {
    DescriptorPool::decode(&include_bytes!("../../../proto/compiled.bin")[..]).expect("descriptors")
}

/// A question, with this in the field of this name.
fn ask(version: &str, field: &str, value: &str) -> Bytes {
    let name = format!("grpc.reflection.{version}.ServerReflectionRequest");
    let mut request = DynamicMessage::new(pool().get_message_by_name(&name).expect("a message"));
    request.set_field_by_name("host", Value::String("here".to_owned()));
    request.set_field_by_name(field, Value::String(value.to_owned()));
    framed(&request.encode_to_vec())
}

/// Responses to these queries, which are sent at once.
async fn answers(client: &mut Client, version: &str, questions: &[Bytes]) -> Vec<DynamicMessage> {
    let path = format!("/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo");
    let reply = client.call(&path, &[], questions.concat().into()).await;
    assert_eq!(reply.code(), tonic::Code::Ok, "{reply:?}");
    let kind = pool().get_message_by_name(&format!("grpc.reflection.{version}.ServerReflectionResponse"));
    let kind = kind.expect("a message");
    let mut rest = &reply.data[..];
    let mut answers = Vec::new();
    while let Some((head, after)) = rest.split_at_checked(5) {
        let length = u32::from_be_bytes(head[1..].try_into().expect("a length")) as usize;
        let (message, after) = after.split_at(length);
        answers.push(DynamicMessage::decode(kind.clone(), message).expect("an answer"));
        rest = after;
    }
    answers
}

fn part(answer: &DynamicMessage, path: [&str; 2]) -> Value {
    let outer = answer.get_field_by_name(path[0]).expect("a field");
    outer.as_message().expect("a message").get_field_by_name(path[1]).expect("a field").into_owned()
}

#[tokio::test]
async fn a_program_finds_everything() {
    let service = Service::with("").await;
    let mut client = service.client().await;
    for version in ["v1", "v1alpha"] {
        let list = answers(&mut client, version, &[ask(version, "list_services", "*")]).await;
        let services = part(&list[0], ["list_services_response", "service"]);
        let names: Vec<_> = services
            .as_list()
            .expect("a list")
            .iter()
            .map(|service| {
                service
                    .as_message()
                    .expect("a service")
                    .get_field_by_name("name")
                    .expect("a name")
                    .to_string()
            })
            .collect();
        assert_eq!(names.len(), 4, "{names:?}");
        // A generic client that asks for everything it needs.
        let mut wanted =
            vec![ask(version, "file_containing_symbol", "envoy.service.ratelimit.v3.RateLimitService")];
        let mut found = Vec::new();
        let mut set = prost_types::FileDescriptorSet::default();
        while let Some(question) = wanted.pop() {
            let answer = answers(&mut client, version, &[question]).await.remove(0);
            let files = part(&answer, ["file_descriptor_response", "file_descriptor_proto"]);
            for file in files.as_list().expect("a list") {
                let file = prost_types::FileDescriptorProto::decode(file.as_bytes().expect("bytes").clone())
                    .expect("a file");
                let unknown = file.dependency.iter().filter(|name| !found.contains(*name)).cloned();
                for name in unknown.collect::<Vec<_>>() {
                    wanted.push(ask(version, "file_by_filename", &name));
                    found.push(name);
                }
                set.file.insert(0, file);
            }
        }
        set.file.sort_by(|one, other| one.name().cmp(other.name()));
        set.file.dedup_by(|one, other| one.name() == other.name());
        let pool = DescriptorPool::from_file_descriptor_set(set).expect("all that it needs");
        let method =
            pool.get_service_by_name("envoy.service.ratelimit.v3.RateLimitService").expect("a service");
        assert_eq!(method.methods().next().expect("a method").name(), "ShouldRateLimit");
    }
}

#[tokio::test]
async fn questions_one_after_the_other() {
    let service = Service::with("").await;
    let mut client = service.client().await;
    let questions = [
        ask("v1", "file_by_filename", "nothing.proto"),
        ask("v1", "list_services", ""),
        ask("v1", "all_extension_numbers_of_type", "google.protobuf.Struct"),
        framed(&[]),
    ];
    let answers = answers(&mut client, "v1", &questions).await;
    let codes: Vec<_> = answers
        .iter()
        .map(|answer| match answer.has_field_by_name("error_response") {
            true => part(answer, ["error_response", "error_code"]).as_i32().expect("a code"),
            false => 0,
        })
        .collect();
    assert_eq!(codes, [5, 0, 5, 3]);
    assert_eq!(part(&answers[0], ["original_request", "host"]), Value::String("here".to_owned()));
    assert_eq!(answers[0].descriptor().name(), "ServerReflectionResponse");
}

/// A silent call ends; so does one at shutdown.
#[tokio::test]
async fn nobody_waits_for_a_question_for_ever() {
    let mut service = Service::bounded("idle_timeout: 400ms").await;
    let path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
    let mut client = service.client().await;
    let call = client.begin(path, &[]).await.expect("a call");
    let reply = timeout(Duration::from_secs(2), call.reply()).await.expect("five times as long");
    assert_eq!(reply.expect("an answer").code(), tonic::Code::DeadlineExceeded);
    let mut client = service.client().await;
    let mut call = client.begin(path, &[]).await.expect("a call");
    call.body.send_data(ask("v1", "list_services", ""), false).expect("a call");
    let mut body = call.response.await.expect("an answer").into_body();
    assert!(next(&mut body).await.expect("a message").is_some());
    service.tell_to_stop();
    while next(&mut body).await.expect("an end").is_some() {}
    service.ended().await;
}
