//! Reverie's adapters to AWS: the single DynamoDB table.

pub mod table;
