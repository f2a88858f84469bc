//! The offline reasoner (stub).
