//! One contract for the table, whoever keeps it: what our code relies on of DynamoDB, and our own operations on it. The
//! embedded engine and the emulator of AWS run the very same cases, each on a table of its own.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;

pub mod entities;
pub mod service;

/// The name of every case's table. It holds nothing at the start.
pub const TABLE: &str = "reverie";

/// An item's attributes.
pub type Item = HashMap<String, AttributeValue>;

/// A string attribute.
pub fn s(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

/// An item with more attributes than its key.
pub fn item(pk: &str, sk: &str, more: &[(&str, AttributeValue)]) -> Item {
    let mut item = Item::from([("PK".to_owned(), s(pk)), ("SK".to_owned(), s(sk))]);
    item.extend(more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    item
}

/// Puts an item.
pub async fn put(client: &Client, item: Item) {
    client
        .put_item()
        .table_name(TABLE)
        .set_item(Some(item))
        .send()
        .await
        .unwrap();
}

/// Reads an item, consistently.
pub async fn get(client: &Client, pk: &str, sk: &str) -> Option<Item> {
    client
        .get_item()
        .table_name(TABLE)
        .set_key(Some(item(pk, sk, &[])))
        .consistent_read(true)
        .send()
        .await
        .unwrap()
        .item
}

/// Everything that the table holds.
pub async fn scan(client: &Client) -> Vec<Item> {
    let pages = client.scan().table_name(TABLE).consistent_read(true).into_paginator();
    pages.items().send().collect::<Result<_, _>>().await.unwrap()
}

/// Hands the places of all cases to a macro, once for all engines.
#[macro_export]
macro_rules! table_cases {
    ($then:ident) => {
        $then! {
            service::{
                creating_the_table_twice_is_success,
                a_failed_condition_is_the_sdks_own_error_and_changes_nothing,
                a_cancelled_transaction_names_the_reason_of_each_write_and_changes_nothing,
                a_repeated_transaction_token_is_applied_once_and_refused_for_other_writes,
                a_transaction_takes_a_hundred_writes_and_no_more,
                batches_are_processed_whole,
                an_index_is_sparse_ordered_and_holds_keys_only,
                an_item_past_400_kb_is_refused_and_one_below_comes_back_byte_for_byte,
                a_query_pages_at_one_megabyte,
                unicode_and_control_characters_survive,
                concurrent_counters_lose_nothing,
                a_batch_read_past_sixteen_megabytes_names_what_it_left_out,
                a_transaction_past_four_megabytes_is_refused,
            }
            entities::{
                many_who_create_one_workspace_at_once_get_the_same,
                many_who_append_to_one_session_lose_nothing,
                a_session_of_megabytes_is_read_whole_and_in_part,
                a_message_that_no_item_can_hold_is_refused_before_anything_is_written,
                hundreds_of_peers_are_found_and_counted,
                a_session_is_due_a_minute_after_it_lags_and_when_it_is_put_off_later,
                a_due_item_is_taken_by_one_of_many,
                a_used_key_refuses_the_whole_post_until_it_expires,
                an_erased_session_leaves_nothing,
            }
        }
    };
}
