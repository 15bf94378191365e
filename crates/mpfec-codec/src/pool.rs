//! Memory that blocks leave to later blocks: after the first ones none is allocated.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};
use std::thread::LocalKey;

/// Something that goes back to its pool when dropped.
#[derive(Debug)]
pub(crate) struct Pooled<T: Poolable>(Option<Box<T>>);

/// What can be used again; what is in it means nothing to the next user.
pub(crate) trait Poolable: Default + 'static {
    /// Where those not in use are.
    fn pool() -> &'static Pool<Self>;

    /// Where a small one is that this thread left: no other is asked, so it needs no lock,
    /// which would take as long as coding a small block.
    fn own() -> &'static LocalKey<Own<Self>>;

    /// Bytes that it occupies, about.
    fn capacity(&self) -> usize;
}

/// One not in use, of one thread.
pub(crate) type Own<T> = Cell<Option<Box<T>>>;

/// Those not in use.
#[derive(Debug)]
pub(crate) struct Pool<T>(Mutex<Idle<T>>);

#[derive(Debug)]
struct Idle<T> {
    items: Vec<Box<T>>,
    bytes: usize,
}

impl<T> Pool<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Idle {
            items: Vec::new(),
            bytes: 0,
        }))
    }

    fn with<R>(&self, change: impl FnOnce(&mut Idle<T>) -> R) -> R {
        // A panic elsewhere cannot leave it half changed in a way that matters.
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<T: Poolable> Default for Pooled<T> {
    fn default() -> Self {
        // A thread that ends has none any more.
        if let Ok(Some(own)) = T::own().try_with(Cell::take) {
            return Self(Some(own));
        }
        let idle = T::pool().with(|idle| {
            let item = idle.items.pop()?;
            idle.bytes = idle.bytes.saturating_sub(item.capacity());
            Some(item)
        });
        Self(Some(idle.unwrap_or_default()))
    }
}

impl<T: Poolable> Drop for Pooled<T> {
    fn drop(&mut self) {
        let Some(item) = self.0.take() else { return };
        let bytes = item.capacity();
        let mut item = Some(item);
        if bytes <= MAX_OWN_BYTES {
            let keep = |own: &Own<T>| own.set(own.take().or_else(|| item.take()));
            // A thread that ends keeps none.
            let _ = T::own().try_with(keep);
        }
        let Some(item) = item else { return };
        let excess = T::pool().with(|idle| {
            if idle.items.len() >= MAX_ITEMS || idle.bytes + bytes > MAX_BYTES {
                return Some(item);
            }
            idle.bytes += bytes;
            idle.items.push(item);
            None
        });
        // Freed here, not under the lock.
        drop(excess);
    }
}

impl<T: Poolable> Deref for Pooled<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("it is there until it is dropped")
    }
}

impl<T: Poolable> DerefMut for Pooled<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect("it is there until it is dropped")
    }
}

/// Bytes at most of what a thread keeps for itself of each kind.
const MAX_OWN_BYTES: usize = 256 << 10;

/// Kept of each kind in a pool at most, and bytes that they occupy at most.
const MAX_ITEMS: usize = 16;
const MAX_BYTES: usize = 32 << 20;
