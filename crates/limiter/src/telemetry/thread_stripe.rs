//! A number for every thread, so that threads can count without waiting for each other.

use std::cell::Cell;

use parking_lot::Mutex;

/// So many threads at a time have a place that nobody else writes to.
pub(super) const OWN: usize = 32;
/// So many places the others have together.
pub(super) const SHARED: usize = 8;

/// Where a thread counts: at one of its own, or at one that comes behind those and is shared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place(u32);

/// Before a thread has counted anything.
const NOWHERE: Place = Place(u32::MAX);
/// Of a thread that is about to end.
const LAST: Place = Place(OWN as u32);

static FREE: Mutex<Free> = Mutex::new(Free { next: 0, returned: Vec::new() });

/// Numbers that nobody has. Who takes one after another thread sees all that it wrote, because of the lock.
struct Free {
    next: u32,
    returned: Vec<u32>,
}

impl Free {
    fn take(&mut self) -> u32 {
        self.returned.pop().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        })
    }
}

/// A number that is given back when its thread ends.
struct Number(u32);

impl Drop for Number {
    fn drop(&mut self) {
        // What is counted after this must not be where another thread counts.
        PLACE.set(LAST);
        FREE.lock().returned.push(self.0);
    }
}

thread_local! {
    static PLACE: Cell<Place> = const { Cell::new(NOWHERE) };
    static NUMBER: Number = Number(FREE.lock().take());
}

impl Place {
    /// That of this thread.
    #[inline]
    pub(crate) fn here() -> Self {
        let place = PLACE.get();
        if place == NOWHERE { Self::first() } else { place }
    }

    #[cold]
    fn first() -> Self {
        let number = NUMBER.try_with(|number| number.0 as usize);
        let place = match number {
            Ok(number) if number < OWN => Self(number as u32),
            Ok(number) => Self((OWN + number % SHARED) as u32),
            Err(_) => LAST,
        };
        PLACE.set(place);
        place
    }

    #[inline]
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Barrier;
    use std::thread;

    use super::*;

    #[test]
    fn no_two_threads_have_one_place_for_themselves() {
        let most = OWN + 2 * SHARED;
        for _ in 0..20 {
            let all_there = Barrier::new(most);
            let places = thread::scope(|scope| {
                let one = || {
                    let place = Place::here();
                    all_there.wait();
                    assert_eq!(Place::here(), place);
                    place
                };
                let threads: Vec<_> = (0..most).map(|_| scope.spawn(one)).collect();
                threads.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Vec<_>>()
            });
            let own: Vec<usize> =
                places.iter().map(|place| place.index()).filter(|index| *index < OWN).collect();
            assert_eq!(own.iter().collect::<HashSet<_>>().len(), own.len());
            assert!(places.iter().all(|place| place.index() < OWN + SHARED));
        }
        // Numbers of threads that ended are given again.
        assert!((FREE.lock().next as usize) < 20 * most);
    }
}
