//! The embedded DynamoDB under the table's contract, and what only it promises.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::types::AttributeValue;
use reverie_aws::table::create_table;
use reverie_local::embedded::Storage;
use reverie_tests::contract::table::{TABLE, entities, get, item, put, s, service};

async fn table() -> Client {
    let client = Storage::memory().unwrap().client();
    create_table(&client, TABLE).await.unwrap();
    client
}

/// Makes one test of every case.
macro_rules! tests {
    ($($module:ident::{$($case:ident),+ $(,)?})+) => {
        $($(
            #[tokio::test(flavor = "multi_thread")]
            async fn $case() {
                $module::$case(&table().await).await;
            }
        )+)+
    };
}

reverie_tests::table_cases!(tests);

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
