//! Our fingerprint of a key beside other ways to make 128 keyed bits of it: by itself, and with the
//! cache miss that follows.

use std::hash::BuildHasher;
use std::hint::black_box;
use std::time::Instant;

use siphasher::sip128::{Hasher128, SipHasher13};
use slidegate_store::Space;
use slidegate_store::fingerprint::Fingerprints;

const KEYS: usize = 1 << 16;
/// Far more than the caches hold.
const TABLE_WORDS: usize = 1 << 24;
const ROUNDS: usize = 15;

/// Hash function of 128 bits.
type Maker<'a> = (&'static str, Box<dyn Fn(&[String], &[u64]) -> u64 + 'a>);

fn main() {
    let table = vec![1; TABLE_WORDS];
    println!("ns per key, the median of {ROUNDS} rounds in turns: by itself, and with a look into 128 MiB");
    for length in [13, 36, 120] {
        let keys: Vec<String> = (0..KEYS).map(|n| format!("{n:0length$}")).collect();
        let mut makers = makers();
        println!("\nkeys of {length} bytes");
        let mut took = vec![[Vec::new(), Vec::new()]; makers.len()];
        for _ in 0..ROUNDS {
            for ((_, make), took) in makers.iter_mut().zip(&mut took) {
                for (table, took) in [&table[..1], &table[..]].into_iter().zip(took) {
                    let start = Instant::now();
                    black_box(make(black_box(&keys), table));
                    took.push(start.elapsed().as_nanos() as f64 / KEYS as f64);
                }
            }
        }
        for ((name, _), took) in makers.iter().zip(took) {
            let [alone, with_a_look] = took.map(median);
            println!("  {name:<22} {alone:6.1} {with_a_look:7.1}");
        }
    }
}

fn makers() -> Vec<Maker<'static>> {
    let ours = Fingerprints::new([7; 32]);
    let space = Space::named("bench");
    let ahash = [1, 2].map(|seed| ahash::RandomState::with_seeds(seed, 3, 4, 5));
    let rapid = [1, 2].map(rapidhash::fast::SeedableState::new);
    vec![
        maker("ours", move |key| {
            let made = ours.of(space, &key.into());
            (made.0, made.1)
        }),
        maker("SipHash-1-3, 128 bits", |key| {
            let mut hasher = SipHasher13::new_with_keys(7, 8);
            std::hash::Hasher::write(&mut hasher, key.as_bytes());
            let made = hasher.finish128();
            (made.h1, made.h2)
        }),
        maker("ahash, twice", move |key| (ahash[0].hash_one(key), ahash[1].hash_one(key))),
        maker("rapidhash, twice", move |key| (rapid[0].hash_one(key), rapid[1].hash_one(key))),
    ]
}

fn maker(name: &'static str, make: impl Fn(&str) -> (u64, u64) + 'static) -> Maker<'static> {
    let all = move |keys: &[String], table: &[u64]| {
        keys.iter().fold(0, |sum: u64, key| {
            let (one, two) = make(key);
            sum.wrapping_add(table[one as usize & (table.len() - 1)]).wrapping_add(two)
        })
    };
    (name, Box::new(all))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
