use super::*;

/// What is made of an error, as a server writes it.
fn meaning(line: &str) -> AttemptError {
    let value = redis::parse_redis_value(format!("-{line}\r\n").as_bytes()).unwrap();
    read(value, &Address::tcp("asked", 7000)).unwrap_err()
}

fn step_of(line: &str) -> RetryStep {
    match meaning(line) {
        AttemptError::Again { step, .. } => step,
        AttemptError::Failed(failure) => panic!("{line}: {failure:?}"),
    }
}

#[test]
fn errors_that_prove_that_nothing_ran_are_retried() {
    for (line, step) in [
        ("NOSCRIPT No matching script. Please use EVAL.", RetryStep::Text),
        ("MOVED 3999 127.0.0.1:6381", RetryStep::Moved(Address::tcp("127.0.0.1", 6381))),
        ("MOVED 3999 :6381", RetryStep::Moved(Address::tcp("asked", 6381))),
        ("MOVED nonsense", RetryStep::Rediscover),
        ("ASK 3999 10.0.0.2:6381", RetryStep::Ask(Address::tcp("10.0.0.2", 6381))),
        ("TRYAGAIN Multiple keys request during rehashing of slot", RetryStep::Pause),
        ("LOADING Redis is loading the dataset in memory", RetryStep::Pause),
        ("BUSY Redis is busy running a script.", RetryStep::Pause),
        ("CLUSTERDOWN The cluster is down", RetryStep::Rediscover),
        ("MASTERDOWN Link with MASTER is down", RetryStep::Rediscover),
        ("READONLY You can't write against a read only replica.", RetryStep::Demoted),
        (
            "READONLY You can't write against a read only replica. script: db8d, on @user_script:1.",
            RetryStep::Demoted,
        ),
        (
            "ERR Error running script (call to f_db8d): @user_script:1: @user_script: 1: -READONLY You can't \
             write against a read only replica.",
            RetryStep::Demoted,
        ),
    ] {
        assert_eq!(step_of(line), step, "{line}");
    }
}

#[test]
fn other_errors_are_the_end_and_only_those_from_inside_a_script_may_have_run() {
    for line in [
        "NOPERM this user has no permissions to run the 'evalsha' command",
        "OOM command not allowed when used memory > 'maxmemory'. script: db8d, on @user_script:1.",
        "ERR Error running script (call to f_db8d): @user_script:1: @user_script: 1: -OOM command not allowed",
        "ERR Error running script (call to f_d): @user_script:1: @user_script: 1: -NOREPLICAS Not enough",
        "CROSSSLOT Keys in request don't hash to the same slot",
        "NOAUTH Authentication required.",
    ] {
        assert!(matches!(meaning(line), AttemptError::Failed(CallFailure::NotRun(_))), "{line}");
    }
    for line in [
        "ERR Unknown Redis command called from script script: 208e, on @user_script:1.",
        "ERR ACL failure in script: User u has no permissions to run 'get' script: on @user_script:1.",
        "ERR Error running script (call to f_af): @user_script:1: @user_script: 1: The user can't",
        "TRYAGAIN from within script: on @user_script:1.",
    ] {
        assert!(matches!(meaning(line), AttemptError::Failed(CallFailure::MayHaveRun(_))), "{line}");
    }
}

#[test]
fn the_code_and_the_text_reach_the_caller() {
    let line =
        "ERR Error running script (call to f_d): @user_script:1: @user_script: 1: -OOM command not allowed";
    let refused = RedisError::Refused { code: "OOM".into(), text: "command not allowed".into() };
    assert_eq!(meaning(line).error(), &refused);
}

#[test]
fn replies_are_cut_into_records() {
    assert_eq!(split(b"abcd", 2, 2), Ok(vec![b"ab".to_vec(), b"cd".to_vec()]));
    for reply in [&b"abc"[..], b"abcde", b""] {
        let setback = split(reply, 2, 2).unwrap_err();
        assert!(matches!(setback, AttemptError::Failed(CallFailure::MayHaveRun(RedisError::Protocol(_)))));
    }
}

#[test]
fn an_answer_that_is_no_string_is_unexpected() {
    for value in [Value::Int(3), Value::Nil, Value::Array(Vec::new())] {
        let setback = read(value, &Address::tcp("asked", 7000)).unwrap_err();
        assert!(matches!(setback, AttemptError::Failed(CallFailure::MayHaveRun(RedisError::Protocol(_)))));
    }
}
