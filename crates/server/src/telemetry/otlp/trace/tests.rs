use std::cell::Cell;

use hyper::header::HeaderValue;

use super::*;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALL: (Listener, &str) = (Listener::Http, "POST /v1/check");

fn headers(flags: &str) -> HeaderMap {
    let value = HeaderValue::from_str(&format!("00-{TRACE}-00f067aa0ba902b7-{flags}")).expect("a value");
    HeaderMap::from_iter([("traceparent".parse().expect("a name"), value)])
}

/// Numbers that look random, the same at each run.
fn numbers() -> impl FnMut() -> u64 {
    let state = Cell::new(7_u64);
    move || {
        state
            .set(state.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407));
        state.get().rotate_left(29)
    }
}

#[test]
fn a_caller_decides_whatever_the_share() {
    for basis_points in [0, 10_000] {
        let share = SampleShare::new(basis_points);
        let mut random = numbers();
        let span = Trace::begin(share, CALL, Some(&headers("01")), &mut random).0.expect("a span");
        let id = u128::from_str_radix(TRACE, 16).expect("hex").to_be_bytes();
        assert_eq!((span.trace_id, span.parent), (id, Some(0x00f0_67aa_0ba9_02b7_u64.to_be_bytes())));
        assert!(Trace::begin(share, CALL, Some(&headers("00")), &mut random).is_none());
        // One that is no parent is as if it were not there.
        let root = Trace::begin(share, CALL, Some(&headers("zz")), &mut random);
        assert_eq!(root.is_none(), basis_points == 0);
        assert_eq!(root.0.and_then(|begun| begun.parent), None);
    }
}

#[test]
fn a_share_of_new_traces_is_sampled() {
    let mut random = numbers();
    let mut sampled = |basis_points| {
        let share = SampleShare::new(basis_points);
        (0..100_000).filter(|_| !Trace::begin(share, CALL, None, &mut random).is_none()).count()
    };
    assert_eq!((sampled(0), sampled(10_000)), (0, 100_000));
    // Seeded: these are not chances, but what came of it once. 1,000 and 50,000 are expected, give
    // or take 31 and 158.
    let (hundredth, half) = (sampled(100), sampled(5_000));
    assert!((900..1_100).contains(&hundredth) && (49_500..50_500).contains(&half), "{hundredth} {half}");
}

#[test]
fn whoever_decides_by_the_id_decides_the_same() {
    let mut random = numbers();
    let share = SampleShare::new(2_500);
    for _ in 0..1_000 {
        if let Some(begun) = Trace::begin(share, CALL, None, &mut random).0 {
            let low = u64::from_be_bytes(begun.trace_id[8..].try_into().expect("eight bytes"));
            // As the SDKs do: the lower 63 bits' share of what there could be.
            assert!(share.has(low) && low >> 1 < (1 << 63) / 4);
        }
    }
}

#[test]
fn a_span_is_whole() {
    let begun =
        Trace::begin(SampleShare::new(10_000), CALL, Some(&headers("01")), numbers()).0.expect("a span");
    let outcome = SpanOutcome { error: Some("no answer".to_owned()), ..SpanOutcome::default() };
    let span = begun.span(outcome);
    assert_eq!((&*span.name, span.kind, span.flags), ("POST /v1/check", SERVER, 0x301));
    assert_eq!((span.trace_id.len(), span.span_id.len(), span.parent_span_id.len()), (16, 8, 8));
    assert!(span.start_time_unix_nano <= span.end_time_unix_nano && span.span_id != [0; 8]);
    assert_eq!(span.attributes, [KeyValue::text("slidegate.protocol", "http")]);
    assert_eq!(span.status, Some(SpanStatus { message: "no answer".to_owned(), code: ERROR }));
}
