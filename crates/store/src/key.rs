//! Key of a subject: bytes, in unambiguous parts.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use sha2::{Digest, Sha256};

/// Subject of a limit: one part (`"alice"`, `42`), or several (`("acme", "alice")`).
///
/// Parts are prefixed with their length, so `("a", "bc")` and `("ab", "c")` are different keys. An
/// integer or an IP address is the same key as its text.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Key<'a> {
    form: KeyEncoding,
    bytes: Cow<'a, [u8]>,
}

/// Encoding of the bytes of a key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum KeyEncoding {
    /// The bytes are the one part.
    Single = 0,
    /// Each part is preceded by its length.
    Parts = 1,
}

impl<'a> Key<'a> {
    #[inline]
    const fn single(bytes: Cow<'a, [u8]>) -> Self {
        Self { form: KeyEncoding::Single, bytes }
    }

    /// Key of any number of parts.
    pub fn from_parts<P: KeySegment>(parts: impl IntoIterator<Item = P>) -> Self {
        // Enough for most keys, so that they are allocated once.
        let mut bytes = Vec::with_capacity(64);
        for part in parts {
            push_part(&mut bytes, &part);
        }
        Self { form: KeyEncoding::Parts, bytes: Cow::Owned(bytes) }
    }

    /// The same key, independent of what it was made from.
    pub fn into_owned(self) -> Key<'static> {
        Key { form: self.form, bytes: Cow::Owned(self.bytes.into_owned()) }
    }

    /// Encoding of its bytes.
    #[inline]
    pub fn form(&self) -> KeyEncoding {
        self.form
    }

    /// Its bytes, as [`Key::form`] encodes them.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Its parts, at least one.
    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = self.bytes();
        let mut single = (self.form() == KeyEncoding::Single).then_some(rest);
        std::iter::from_fn(move || {
            if self.form() == KeyEncoding::Single {
                return single.take();
            }
            let (length, after) = rest.split_first_chunk()?;
            let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
            let (part, after) = after.split_at_checked(length)?;
            rest = after;
            Some(part)
        })
    }

    /// Key from the results of [`Key::form`] and [`Key::bytes`].
    pub fn from_raw(form: u8, bytes: &'a [u8]) -> Option<Self> {
        let form = match form {
            0 => KeyEncoding::Single,
            1 => KeyEncoding::Parts,
            _ => return None,
        };
        Some(Self { form, bytes: Cow::Borrowed(bytes) })
    }
}

fn push_part(bytes: &mut Vec<u8>, part: &impl KeySegment) {
    part.with_bytes(|part| {
        bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
        bytes.extend_from_slice(part);
    });
}

/// Part of a key: text, bytes, an integer or an IP address.
pub trait KeySegment {
    /// Passes the part's bytes to `read`.
    fn with_bytes<R>(&self, read: impl FnOnce(&[u8]) -> R) -> R;
}

impl<const N: usize> KeySegment for [u8; N] {
    fn with_bytes<R>(&self, read: impl FnOnce(&[u8]) -> R) -> R {
        read(self)
    }
}

macro_rules! borrowed {
    ($([$($generics:tt)*] $value:ty),*) => {$(
        impl<$($generics)*> KeySegment for &$value {
            fn with_bytes<R>(&self, read: impl FnOnce(&[u8]) -> R) -> R {
                read((*self).as_ref())
            }
        }

        impl<'a, $($generics)*> From<&'a $value> for Key<'a> {
            #[inline]
            fn from(part: &'a $value) -> Self {
                Self::single(Cow::Borrowed(part.as_ref()))
            }
        }
    )*};
}
borrowed!([] str, [] String, [] [u8], [const N: usize] [u8; N]);

impl<const N: usize> From<[u8; N]> for Key<'_> {
    fn from(part: [u8; N]) -> Self {
        Self::single(Cow::Owned(part.to_vec()))
    }
}

impl From<String> for Key<'_> {
    fn from(part: String) -> Self {
        Self::single(Cow::Owned(part.into_bytes()))
    }
}

impl From<Vec<u8>> for Key<'_> {
    fn from(part: Vec<u8>) -> Self {
        Self::single(Cow::Owned(part))
    }
}

macro_rules! texts {
    ($($value:ty),*) => {$(
        impl KeySegment for $value {
            fn with_bytes<R>(&self, read: impl FnOnce(&[u8]) -> R) -> R {
                read(self.to_string().as_bytes())
            }
        }

        impl From<$value> for Key<'_> {
            fn from(part: $value) -> Self {
                Self::from(part.to_string())
            }
        }
    )*};
}
texts!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, IpAddr, Ipv4Addr, Ipv6Addr);

macro_rules! tuples {
    ($(($($part:ident),+))*) => {$(
        impl<$($part: KeySegment),+> From<($($part,)+)> for Key<'_> {
            #[expect(non_snake_case, reason = "a part is named as its type")]
            fn from(($($part,)+): ($($part,)+)) -> Self {
                let mut bytes = Vec::new();
                $(push_part(&mut bytes, &$part);)+
                Self { form: KeyEncoding::Parts, bytes: Cow::Owned(bytes) }
            }
        }
    )*};
}
tuples!((A)(A, B)(A, B, C)(A, B, C, D));

/// Space of keys: one rule's, or one limiter's. The same key in two spaces is two subjects.
///
/// A space is 128 bits of the SHA-256 of its name, the same on every node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Space(pub [u64; 2]);

impl Space {
    /// The space of this name.
    pub fn named(name: &str) -> Self {
        let digest = Sha256::digest(name.as_bytes());
        let (words, _) = digest.as_chunks::<8>();
        Self([u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1])])
    }
}
