//! The dreaming machine (stub).
