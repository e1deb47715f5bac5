//! Tests of the client: the golden vectors of advice.

mod vectors;
