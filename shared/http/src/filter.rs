//! `filters` of list and query bodies: read from the body, parsed for a resource, and turned into what the table is
//! asked for. The language itself is [`reverie_core::filter`].

use std::collections::BTreeSet;

use reverie_aws::table::lists::Choice;
use reverie_core::filter::{Column, Filter, FilterError, Schema};
use reverie_core::id::WorkspaceName;
use serde_json::{Map, Value};

use crate::error::Error;
use crate::validate::{Node, Problems};

pub(crate) mod rows;

/// Reads `filters` of a body; missing and null are none.
pub(crate) fn read<'a>(body: &Node<'a>, problems: &mut Problems) -> Option<&'a Map<String, Value>> {
    body.at("filters").given()?.object(problems)
}

/// Parses filters for a resource.
pub(crate) fn parse(filters: Option<&Map<String, Value>>, schema: &Schema) -> Result<Filter, Error> {
    match filters {
        Some(filters) => Ok(Filter::parse(filters, schema)?),
        None => Ok(Filter::default()),
    }
}

/// What a list of a workspace, or of all workspaces, is asked for; nothing when everything is wanted.
pub(crate) fn choice<'a, T>(
    filter: &'a Filter,
    workspace: Option<&WorkspaceName>,
    wanted: &'a (dyn Fn(&T) -> bool + Send + Sync),
) -> Option<Choice<'a, T>> {
    if *filter == Filter::default() {
        return None;
    }
    let elsewhere = workspace.is_some_and(|name| !filter.allows(Column::Workspace, name.as_str()));
    let names = if elsewhere {
        Some(BTreeSet::new())
    } else {
        filter.values_of(Column::Id)
    };
    Some(Choice { names, wanted })
}

impl From<FilterError> for Error {
    fn from(error: FilterError) -> Self {
        Self::unprocessable(&error.to_string())
    }
}
