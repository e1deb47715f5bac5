use super::files::{COMPILED, DescriptorFiles};
use super::*;
use prost::Message;
use prost_types::FileDescriptorSet;

#[test]
fn every_file_is_found_by_what_is_in_it() {
    let files = DescriptorFiles::get();
    let set = FileDescriptorSet::decode(COMPILED).expect("descriptors");
    for file in &set.file {
        let bytes = files.by_name(file.name()).expect("a file");
        assert_eq!(&prost_types::FileDescriptorProto::decode(&bytes[..]).expect("a file"), file);
        // A client that has a file requests those that it imports.
        assert!(file.dependency.iter().all(|name| files.by_name(name).is_some()), "{}", file.name());
    }
    let rows = [
        ("envoy.service.ratelimit.v3.RateLimitService", "envoy/service/ratelimit/v3/rls.proto"),
        (
            "envoy.service.ratelimit.v3.RateLimitService.ShouldRateLimit",
            "envoy/service/ratelimit/v3/rls.proto",
        ),
        (
            "envoy.service.ratelimit.v3.RateLimitResponse.RateLimit.Unit",
            "envoy/service/ratelimit/v3/rls.proto",
        ),
        ("envoy.type.v3.RateLimitUnit", "envoy/type/v3/ratelimit_unit.proto"),
        ("google.protobuf.Struct", "google/protobuf/struct.proto"),
        ("grpc.reflection.v1alpha.ServerReflectionRequest", "grpc/reflection/v1alpha/reflection.proto"),
    ];
    for (symbol, name) in rows {
        assert_eq!(files.by_symbol(symbol), files.by_name(name), "{symbol}");
        assert!(files.by_symbol(symbol).is_some(), "{symbol}");
    }
    assert!(SERVICES.iter().all(|service| files.by_symbol(service).is_some()));
    for symbol in ["", ".", "envoy", "nothing", "RateLimitService"] {
        assert_eq!(files.by_symbol(symbol), None, "{symbol:?}");
    }
}
