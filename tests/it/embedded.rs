//! The embedded DynamoDB behaves, through the SDK's client, as the table's code relies on.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{
    AttributeValue, ConditionCheck, Delete, KeysAndAttributes, Put, PutRequest, TransactWriteItem, Update, WriteRequest,
};
use reverie_aws::table::create_table;
use reverie_local::embedded::Storage;

const TABLE: &str = "reverie";

type Item = HashMap<String, AttributeValue>;

fn s(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

fn item(pk: &str, sk: &str, more: &[(&str, AttributeValue)]) -> Item {
    let mut item = Item::from([("PK".to_owned(), s(pk)), ("SK".to_owned(), s(sk))]);
    item.extend(more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    item
}

async fn table() -> Client {
    let client = Storage::memory().unwrap().client();
    create_table(&client, TABLE).await.unwrap();
    client
}

async fn put(client: &Client, item: Item) {
    client
        .put_item()
        .table_name(TABLE)
        .set_item(Some(item))
        .send()
        .await
        .unwrap();
}

async fn get(client: &Client, pk: &str, sk: &str) -> Option<Item> {
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

fn put_if_absent(pk: &str) -> TransactWriteItem {
    let put = Put::builder()
        .table_name(TABLE)
        .set_item(Some(item(pk, "x", &[])))
        .condition_expression("attribute_not_exists(PK)")
        .build()
        .unwrap();
    TransactWriteItem::builder().put(put).build()
}

#[tokio::test]
async fn creating_the_table_twice_is_success() {
    let client = table().await;
    create_table(&client, TABLE).await.unwrap();
    let described = client.describe_table().table_name(TABLE).send().await.unwrap();
    let indexes = described
        .table
        .and_then(|t| t.global_secondary_indexes)
        .unwrap_or_default();
    assert_eq!(indexes.len(), 2);
}

#[tokio::test]
async fn a_failed_condition_is_the_sdks_own_error_and_changes_nothing() {
    let client = table().await;
    put(&client, item("a", "x", &[("value", s("first"))])).await;
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
    assert_eq!(get(&client, "a", "x").await.unwrap()["value"], s("first"));
}

#[tokio::test]
async fn a_cancelled_transaction_names_the_reason_of_each_write_and_changes_nothing() {
    let client = table().await;
    put(&client, item("there", "x", &[("n", AttributeValue::N("1".to_owned()))])).await;
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
    assert_eq!(get(&client, "new", "x").await, None);
    assert_eq!(
        get(&client, "there", "x").await.unwrap()["n"],
        AttributeValue::N("1".to_owned())
    );
}

#[tokio::test]
async fn a_repeated_transaction_token_is_applied_once_and_refused_for_other_writes() {
    let client = table().await;
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
    assert_eq!(get(&client, "b", "x").await, None);
}

#[tokio::test]
async fn a_transaction_takes_a_hundred_writes_and_no_more() {
    let client = table().await;
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
    assert_eq!(get(&client, "101-0", "x").await, None);
}

#[tokio::test]
async fn batches_are_processed_whole() {
    let client = table().await;
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

#[tokio::test]
async fn an_index_is_sparse_ordered_and_holds_keys_only() {
    let client = table().await;
    for (pk, due) in [("late", "2"), ("early", "1")] {
        let more = [("due_pk", s("timers")), ("due_sk", s(due)), ("secret", s("text"))];
        put(&client, item(pk, "x", &more)).await;
    }
    put(&client, item("never", "x", &[])).await;
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

#[tokio::test]
async fn an_item_past_400_kb_is_refused_and_one_below_comes_back_byte_for_byte() {
    let client = table().await;
    let bytes = |kb: usize| AttributeValue::B(Blob::new(vec![0xfe_u8; kb * 1024]));
    put(&client, item("big", "x", &[("data", bytes(399))])).await;
    assert_eq!(get(&client, "big", "x").await.unwrap()["data"], bytes(399));
    let error = client
        .put_item()
        .table_name(TABLE)
        .set_item(Some(item("bigger", "x", &[("data", bytes(400))])))
        .send()
        .await
        .unwrap_err()
        .into_service_error();
    assert_eq!(error.code(), Some("ValidationException"));
    assert_eq!(get(&client, "bigger", "x").await, None);
}

#[tokio::test]
async fn a_query_pages_at_one_megabyte() {
    let client = table().await;
    for n in 0..6 {
        let data = AttributeValue::B(Blob::new(vec![0_u8; 300 * 1024]));
        put(&client, item("pages", &n.to_string(), &[("data", data)])).await;
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

#[tokio::test]
async fn unicode_and_control_characters_survive() {
    let client = table().await;
    let text = "你好 \u{0} \u{1} \u{2028} 𝄞 \"\\ é";
    put(&client, item("text", "x", &[("t", s(text))])).await;
    assert_eq!(get(&client, "text", "x").await.unwrap()["t"], s(text));
}

#[tokio::test]
async fn what_is_not_offered_is_refused_by_name() {
    let client = table().await;
    let error = client.list_tables().send().await.unwrap_err().into_service_error();
    assert_eq!(error.code(), Some("ValidationException"));
    assert!(error.message().unwrap_or_default().contains("ListTables"));
}

#[tokio::test]
async fn expired_items_go_with_a_sweep_and_others_stay() {
    let storage = Storage::memory().unwrap();
    let client = storage.client();
    create_table(&client, TABLE).await.unwrap();
    for (pk, ttl) in [("gone", "1000000000"), ("kept", "9000000000")] {
        put(&client, item(pk, "x", &[("ttl", AttributeValue::N(ttl.to_owned()))])).await;
    }
    put(&client, item("no-ttl", "x", &[])).await;
    assert_eq!(storage.sweep_ttl().unwrap(), 1);
    assert_eq!(get(&client, "gone", "x").await, None);
    assert!(get(&client, "kept", "x").await.is_some());
    assert!(get(&client, "no-ttl", "x").await.is_some());
}

#[tokio::test]
async fn data_survives_closing_and_opening_again() {
    let dir = tempfile::tempdir().unwrap();
    {
        let client = Storage::open(dir.path()).unwrap().client();
        create_table(&client, TABLE).await.unwrap();
        put(&client, item("a", "x", &[("value", s("kept"))])).await;
    }
    let client = Storage::open(dir.path()).unwrap().client();
    create_table(&client, TABLE).await.unwrap();
    assert_eq!(get(&client, "a", "x").await.unwrap()["value"], s("kept"));
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_counters_lose_nothing() {
    let client = table().await;
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
        get(&client, "counter", "x").await.unwrap()["n"],
        AttributeValue::N("200".to_owned())
    );
}
