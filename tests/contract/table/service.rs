//! What the table's code relies on of DynamoDB, seen through the SDK's client.
#![allow(missing_docs, reason = "the names say it")]

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{
    AttributeValue, ConditionCheck, Delete, KeysAndAttributes, Put, PutRequest, TransactWriteItem, Update, WriteRequest,
};
use reverie_aws::table::create_table;

use super::{TABLE, get, item, put, s};

fn put_if_absent(pk: &str) -> TransactWriteItem {
    let put = Put::builder()
        .table_name(TABLE)
        .set_item(Some(item(pk, "x", &[])))
        .condition_expression("attribute_not_exists(PK)")
        .build()
        .unwrap();
    TransactWriteItem::builder().put(put).build()
}

pub async fn creating_the_table_twice_is_success(client: &Client) {
    create_table(client, TABLE).await.unwrap();
    let described = client.describe_table().table_name(TABLE).send().await.unwrap();
    let indexes = described
        .table
        .and_then(|t| t.global_secondary_indexes)
        .unwrap_or_default();
    assert_eq!(indexes.len(), 2);
}

pub async fn a_failed_condition_is_the_sdks_own_error_and_changes_nothing(client: &Client) {
    put(client, item("a", "x", &[("value", s("first"))])).await;
    let error = client
        .put_item()
        .table_name(TABLE)
        .set_item(Some(item("a", "x", &[("value", s("second"))])))
        .condition_expression("attribute_not_exists(PK)")
        .send()
        .await
        .unwrap_err()
        .into_service_error();
    assert!(matches!(error, PutItemError::ConditionalCheckFailedException(_)));
    assert_eq!(get(client, "a", "x").await.unwrap()["value"], s("first"));
}

pub async fn a_cancelled_transaction_names_the_reason_of_each_write_and_changes_nothing(client: &Client) {
    put(client, item("there", "x", &[("n", AttributeValue::N("1".to_owned()))])).await;
    let check = ConditionCheck::builder()
        .table_name(TABLE)
        .set_key(Some(item("missing", "x", &[])))
        .condition_expression("attribute_exists(PK)")
        .build()
        .unwrap();
    let update = Update::builder()
        .table_name(TABLE)
        .set_key(Some(item("there", "x", &[])))
        .update_expression("ADD n :one")
        .expression_attribute_values(":one", AttributeValue::N("1".to_owned()))
        .build()
        .unwrap();
    let error = client
        .transact_write_items()
        .transact_items(put_if_absent("new"))
        .transact_items(TransactWriteItem::builder().condition_check(check).build())
        .transact_items(TransactWriteItem::builder().update(update).build())
        .send()
        .await
        .unwrap_err()
        .into_service_error();
    let TransactWriteItemsError::TransactionCanceledException(cancelled) = error else {
        panic!("not cancelled: {error:?}");
    };
    let codes: Vec<_> = cancelled
        .cancellation_reasons()
        .iter()
        .map(|reason| reason.code().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(codes, ["None", "ConditionalCheckFailed", "None"]);
    assert_eq!(get(client, "new", "x").await, None);
    assert_eq!(
        get(client, "there", "x").await.unwrap()["n"],
        AttributeValue::N("1".to_owned())
    );
}

pub async fn a_repeated_transaction_token_is_applied_once_and_refused_for_other_writes(client: &Client) {
    let send = |pk: &'static str| {
        client
            .transact_write_items()
            .transact_items(put_if_absent(pk))
            .client_request_token("token-1")
            .send()
    };
    send("a").await.unwrap();
    // Without the token's memory the condition would fail now.
    send("a").await.unwrap();
    let error = send("b").await.unwrap_err().into_service_error();
    assert!(matches!(
        error,
        TransactWriteItemsError::IdempotentParameterMismatchException(_)
    ));
    assert_eq!(get(client, "b", "x").await, None);
}

pub async fn a_transaction_takes_a_hundred_writes_and_no_more(client: &Client) {
    let writes = |count: usize| {
        (0..count)
            .map(|n| put_if_absent(&format!("{count}-{n}")))
            .collect::<Vec<_>>()
    };
    let send = |count| {
        client
            .transact_write_items()
            .set_transact_items(Some(writes(count)))
            .send()
    };
    send(100).await.unwrap();
    let error = send(101).await.unwrap_err().into_service_error();
    assert_eq!(error.code(), Some("ValidationException"));
    assert_eq!(get(client, "101-0", "x").await, None);
}

pub async fn batches_are_processed_whole(client: &Client) {
    let requests: Vec<_> = (0..25)
        .map(|n| {
            let put = PutRequest::builder()
                .set_item(Some(item("batch", &format!("{n:02}"), &[])))
                .build()
                .unwrap();
            WriteRequest::builder().put_request(put).build()
        })
        .collect();
    let written = client
        .batch_write_item()
        .request_items(TABLE, requests)
        .send()
        .await
        .unwrap();
    assert!(written.unprocessed_items.unwrap_or_default().is_empty());

    let keys: Vec<_> = (0..26).map(|n| item("batch", &format!("{n:02}"), &[])).collect();
    let wanted = KeysAndAttributes::builder().set_keys(Some(keys)).build().unwrap();
    let read = client
        .batch_get_item()
        .request_items(TABLE, wanted)
        .send()
        .await
        .unwrap();
    assert!(read.unprocessed_keys.unwrap_or_default().is_empty());
    assert_eq!(read.responses.unwrap_or_default()[TABLE].len(), 25);
}

pub async fn an_index_is_sparse_ordered_and_holds_keys_only(client: &Client) {
    for (pk, due) in [("late", "2"), ("early", "1")] {
        let more = [("due_pk", s("timers")), ("due_sk", s(due)), ("secret", s("text"))];
        put(client, item(pk, "x", &more)).await;
    }
    put(client, item("never", "x", &[])).await;
    let query = || {
        client
            .query()
            .table_name(TABLE)
            .index_name("due")
            .key_condition_expression("due_pk = :kind AND due_sk <= :now")
            .expression_attribute_values(":kind", s("timers"))
            .expression_attribute_values(":now", s("9"))
    };
    let items = query().send().await.unwrap().items.unwrap_or_default();
    let keys: Vec<_> = items.iter().map(|item| item["PK"].clone()).collect();
    assert_eq!(keys, [s("early"), s("late")]);
    assert!(items.iter().all(|item| !item.contains_key("secret")));

    let page = query().limit(1).send().await.unwrap();
    let next = query()
        .set_exclusive_start_key(page.last_evaluated_key)
        .send()
        .await
        .unwrap();
    assert_eq!(next.items.unwrap_or_default()[0]["PK"], s("late"));

    let removed = Delete::builder()
        .table_name(TABLE)
        .set_key(Some(item("early", "x", &[])))
        .build()
        .unwrap();
    client
        .transact_write_items()
        .transact_items(TransactWriteItem::builder().delete(removed).build())
        .send()
        .await
        .unwrap();
    assert_eq!(query().send().await.unwrap().count, 1);
}

pub async fn an_item_past_400_kb_is_refused_and_one_below_comes_back_byte_for_byte(client: &Client) {
    let bytes = |kb: usize| AttributeValue::B(Blob::new(vec![0xfe_u8; kb * 1024]));
    put(client, item("big", "x", &[("data", bytes(399))])).await;
    assert_eq!(get(client, "big", "x").await.unwrap()["data"], bytes(399));
    let error = client
        .put_item()
        .table_name(TABLE)
        .set_item(Some(item("bigger", "x", &[("data", bytes(400))])))
        .send()
        .await
        .unwrap_err()
        .into_service_error();
    assert_eq!(error.code(), Some("ValidationException"));
    assert_eq!(get(client, "bigger", "x").await, None);
}

pub async fn a_query_pages_at_one_megabyte(client: &Client) {
    for n in 0..6 {
        let data = AttributeValue::B(Blob::new(vec![0_u8; 300 * 1024]));
        put(client, item("pages", &n.to_string(), &[("data", data)])).await;
    }
    let page = client
        .query()
        .table_name(TABLE)
        .key_condition_expression("PK = :pk")
        .expression_attribute_values(":pk", s("pages"))
        .send()
        .await
        .unwrap();
    assert!(page.count < 6);
    assert!(page.last_evaluated_key.is_some());
}

pub async fn unicode_and_control_characters_survive(client: &Client) {
    let text = "你好 \u{0} \u{1} \u{2028} 𝄞 \"\\ é";
    put(client, item("text", "x", &[("t", s(text))])).await;
    assert_eq!(get(client, "text", "x").await.unwrap()["t"], s(text));
}

pub async fn concurrent_counters_lose_nothing(client: &Client) {
    let writers: Vec<_> = (0..8)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move {
                for _ in 0..25 {
                    client
                        .update_item()
                        .table_name(TABLE)
                        .set_key(Some(item("counter", "x", &[])))
                        .update_expression("ADD n :one")
                        .expression_attribute_values(":one", AttributeValue::N("1".to_owned()))
                        .send()
                        .await
                        .unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(
        get(client, "counter", "x").await.unwrap()["n"],
        AttributeValue::N("200".to_owned())
    );
}

pub async fn a_batch_read_past_sixteen_megabytes_names_what_it_left_out(client: &Client) {
    const ITEMS: usize = 45;
    let data = AttributeValue::B(Blob::new(vec![7_u8; 390 * 1024]));
    let keys: Vec<_> = (0..ITEMS).map(|n| item("large", &format!("{n:02}"), &[])).collect();
    for key in &keys {
        let mut large = key.clone();
        large.insert("data".to_owned(), data.clone());
        put(client, large).await;
    }
    let mut pending = keys;
    let mut found = 0;
    let mut calls = 0;
    while !pending.is_empty() {
        let wanted = KeysAndAttributes::builder().set_keys(Some(pending)).build().unwrap();
        let read = client
            .batch_get_item()
            .request_items(TABLE, wanted)
            .send()
            .await
            .unwrap();
        found += read
            .responses
            .unwrap_or_default()
            .remove(TABLE)
            .map_or(0, |items| items.len());
        let left = read.unprocessed_keys.unwrap_or_default().remove(TABLE);
        pending = left.map(|left| left.keys).unwrap_or_default();
        calls += 1;
    }
    assert_eq!(found, ITEMS);
    assert!(calls > 1, "17 MB came at once");
}

pub async fn a_transaction_past_four_megabytes_is_refused(client: &Client) {
    let write = |n: usize| {
        let data = s("x".repeat(390 * 1024));
        let item = item("transaction", &n.to_string(), &[("data", data)]);
        let put = Put::builder().table_name(TABLE).set_item(Some(item)).build().unwrap();
        TransactWriteItem::builder().put(put).build()
    };
    let send = |count: usize| {
        let writes = (0..count).map(write).collect();
        client.transact_write_items().set_transact_items(Some(writes)).send()
    };
    let error = send(12).await.unwrap_err().into_service_error();
    assert_eq!(error.code(), Some("ValidationException"), "{error:?}");
    assert_eq!(get(client, "transaction", "0").await, None);
    send(9).await.unwrap();
}
