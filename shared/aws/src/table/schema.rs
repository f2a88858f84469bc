//! The table's definition: the same one that `infra/` deploys, for embedded engines and tests.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::create_table::CreateTableError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection, ProjectionType,
    ScalarAttributeType, TimeToLiveSpecification,
};

use super::error::{TableError, failure};

/// The due index: what the reconciler looks at, by kind and time; keys only.
pub(crate) const DUE_INDEX: &str = "due";
/// The second index: memberships by peer and representations by observed.
pub(crate) const BY_PEER_INDEX: &str = "by_peer";

/// Attributes of the two indexes' keys.
pub(crate) mod key {
    pub(crate) const PK: &str = "PK";
    pub(crate) const SK: &str = "SK";
    pub(crate) const DUE_PK: &str = "due_pk";
    pub(crate) const DUE_SK: &str = "due_sk";
    pub(crate) const DUE_LOOKS: &str = "due_looks";
    pub(crate) const PEER_PK: &str = "peer_pk";
    pub(crate) const PEER_SK: &str = "peer_sk";
    pub(crate) const TTL: &str = "ttl";
}

fn schema(hash: &str, range: &str) -> Result<Vec<KeySchemaElement>, TableError> {
    [(hash, KeyType::Hash), (range, KeyType::Range)]
        .into_iter()
        .map(|(name, kind)| {
            KeySchemaElement::builder()
                .attribute_name(name)
                .key_type(kind)
                .build()
                .map_err(TableError::from)
        })
        .collect()
}

fn index(name: &str, hash: &str, range: &str) -> Result<GlobalSecondaryIndex, TableError> {
    Ok(GlobalSecondaryIndex::builder()
        .index_name(name)
        .set_key_schema(Some(schema(hash, range)?))
        .projection(Projection::builder().projection_type(ProjectionType::KeysOnly).build())
        .build()?)
}

/// Creates the table unless it is there, and turns its time to live on.
///
/// For embedded engines and tests; in AWS the template does this.
pub async fn create(client: &Client, name: &str) -> Result<(), TableError> {
    let attributes = [key::PK, key::SK, key::DUE_PK, key::DUE_SK, key::PEER_PK, key::PEER_SK];
    let definitions = attributes
        .into_iter()
        .map(|name| {
            AttributeDefinition::builder()
                .attribute_name(name)
                .attribute_type(ScalarAttributeType::S)
                .build()
                .map_err(TableError::from)
        })
        .collect::<Result<Vec<_>, _>>()?;
    let created = client
        .create_table()
        .table_name(name)
        .billing_mode(BillingMode::PayPerRequest)
        .set_attribute_definitions(Some(definitions))
        .set_key_schema(Some(schema(key::PK, key::SK)?))
        .global_secondary_indexes(index(DUE_INDEX, key::DUE_PK, key::DUE_SK)?)
        .global_secondary_indexes(index(BY_PEER_INDEX, key::PEER_PK, key::PEER_SK)?)
        .send()
        .await;
    match created {
        Ok(_) => {}
        Err(SdkError::ServiceError(error)) if matches!(error.err(), CreateTableError::ResourceInUseException(_)) => {
            return Ok(());
        }
        Err(error) => return Err(failure("create table", error)),
    }
    let ttl = TimeToLiveSpecification::builder()
        .attribute_name(key::TTL)
        .enabled(true)
        .build()?;
    client
        .update_time_to_live()
        .table_name(name)
        .time_to_live_specification(ttl)
        .send()
        .await
        .map_err(|error| failure("turn on time to live", error))?;
    Ok(())
}
