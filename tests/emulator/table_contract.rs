//! DynamoDB on the wire, and our operations on it, under the contract of the table.

use aws_config::SdkConfig;
use aws_sdk_dynamodb::Client;
use reverie_aws::table::create_table;
use reverie_tests::contract::table::{TABLE, entities, service};

use crate::cases;
use crate::emulator::{Emulator, account};

/// Cases that fail on the emulator because it does otherwise than AWS, with how.
const OTHERWISE: cases::Otherwise = &[(
    "a_batch_read_past_sixteen_megabytes_names_what_it_left_out",
    "the emulator answers with however many megabytes; DynamoDB stops at sixteen and names the keys that are left",
)];

/// A table in an account of the case's own: all have the same name.
async fn table(config: &SdkConfig, case: usize) -> Client {
    let client = Client::from_conf(
        aws_sdk_dynamodb::config::Builder::from(config)
            .credentials_provider(account(case))
            .build(),
    );
    create_table(&client, TABLE).await.unwrap();
    client
}

/// Every case, on a table of its own.
fn every_case(config: &SdkConfig) -> Vec<cases::Case> {
    let mut numbers = 0..;
    macro_rules! all {
        ($($module:ident::{$($case:ident),+ $(,)?})+) => {
            vec![$($((stringify!($case), {
                let (config, number) = (config.clone(), numbers.next().unwrap());
                Box::pin(async move { $module::$case(&table(&config, number).await).await }) as _
            })),+),+]
        };
    }
    reverie_tests::table_cases!(all)
}

#[tokio::test(flavor = "multi_thread")]
async fn k2_every_case_holds_on_dynamodb() {
    let emulator = Emulator::start();
    let config = emulator.config().await;
    cases::hold(every_case(&config), OTHERWISE, &emulator).await;
}
