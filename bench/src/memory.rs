//! Memory that the allocator really hands out.
//!
//! A request for 13 bytes takes 32: `malloc` rounds up and keeps 8 bytes of its own in front of
//! every block. That is what a process pays, so that is what is counted.
#![allow(unsafe_code, reason = "a global allocator cannot be written without")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};

static COUNTING: AtomicBool = AtomicBool::new(false);
static BYTES: AtomicI64 = AtomicI64::new(0);

/// Header of `malloc` in front of a block.
const HEADER: i64 = 8;

unsafe extern "C" {
    fn malloc_usable_size(block: *mut c_void) -> usize;
}

/// The system's allocator, which counts while it is asked to. At all other times the price is one
/// load of a flag that nobody writes, so that those who allocate are measured as they are.
#[derive(Debug)]
pub struct Counting;

/// Bytes that were allocated and not freed while `work` ran; `work` may ask in between.
pub fn counted<R>(work: impl FnOnce(&dyn Fn() -> i64) -> R) -> R {
    BYTES.store(0, Relaxed);
    COUNTING.store(true, Relaxed);
    let result = work(&|| BYTES.load(Relaxed));
    COUNTING.store(false, Relaxed);
    result
}

/// Adds a block's size with this sign.
///
/// # Safety
/// `block` is null, or a live block of the system's allocator.
unsafe fn count(block: *mut u8, sign: i64) {
    if COUNTING.load(Relaxed) && !block.is_null() {
        // SAFETY: as promised by the caller.
        let usable = unsafe { malloc_usable_size(block.cast()) };
        BYTES.fetch_add(sign * (usable as i64 + HEADER), Relaxed);
    }
}

// SAFETY: every call goes to the system's allocator unchanged; blocks are only looked at while they
// live.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise, handed on; `count` sees a live block or null.
        unsafe {
            let block = System.alloc(layout);
            count(block, 1);
            block
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise, handed on; the block lives until it is freed.
        unsafe {
            count(block, -1);
            System.dealloc(block, layout);
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`.
        unsafe {
            let block = System.alloc_zeroed(layout);
            count(block, 1);
            block
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as in `dealloc`, then as in `alloc`. Only a failed call would be counted wrongly.
        unsafe {
            count(block, -1);
            let block = System.realloc(block, layout, size);
            count(block, 1);
            block
        }
    }
}
