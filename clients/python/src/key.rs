//! Keys of subjects from Python values.

use std::borrow::Cow;
use std::net::IpAddr;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyInt, PyString, PyTuple};
use slidegate::Key;

/// Key of a subject: `str`, `bytes`, `int`, an IP address, or a tuple of these.
#[inline]
pub(crate) fn key<'a>(value: &'a Bound<'_, PyAny>) -> PyResult<Key<'a>> {
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(match text.to_cow()? {
            Cow::Borrowed(text) => Key::from(text),
            Cow::Owned(text) => Key::from(text),
        });
    }
    if let Ok(parts) = value.cast::<PyTuple>() {
        return parts_key(parts);
    }
    Ok(match part(value)? {
        Cow::Borrowed(bytes) => Key::from(bytes),
        Cow::Owned(bytes) => Key::from(bytes),
    })
}

/// [`key`] for a call that outlives its arguments.
pub(crate) fn owned_key(value: &Bound<'_, PyAny>) -> PyResult<Key<'static>> {
    key(value).map(Key::into_owned)
}

fn parts_key(parts: &Bound<'_, PyTuple>) -> PyResult<Key<'static>> {
    if parts.is_empty() {
        return Err(PyValueError::new_err("a key needs at least one part"));
    }
    let parts: Vec<Bound<'_, PyAny>> = parts.iter().collect();
    let bytes = parts.iter().map(part).collect::<PyResult<Vec<_>>>()?;
    Ok(Key::from_parts(bytes.iter().map(|bytes| &**bytes)))
}

fn part<'a>(value: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, [u8]>> {
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(match text.to_cow()? {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        });
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(Cow::Borrowed(bytes.as_bytes()));
    }
    // A bool is an int, but hardly meant as a key.
    if value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>() {
        return Ok(Cow::Owned(value.extract::<i128>()?.to_string().into_bytes()));
    }
    match value.extract::<IpAddr>() {
        Ok(address) => Ok(Cow::Owned(address.to_string().into_bytes())),
        Err(_) => Err(PyTypeError::new_err(format!(
            "expected a key of type str, bytes, int, IPv4Address or IPv6Address, or a tuple of these, not {}",
            value.get_type().name()?
        ))),
    }
}
