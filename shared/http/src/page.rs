//! Pages: the query that asks for one, and the body that holds it.

use axum::Json;
use reverie_aws::table::lists::{Page, Paging};
use serde::Serialize;

use crate::validate::{Node, Problems};

/// The most items of a page.
const MAX_SIZE: usize = 100;
/// Items of a page unless asked otherwise.
const DEFAULT_SIZE: usize = 50;

/// Reads `page`, `size` and `reverse`.
pub(crate) fn paging(query: &Node, problems: &mut Problems) -> Paging {
    let page = query.at("page").given();
    let size = query.at("size").given();
    let reverse = query.at("reverse").given();
    Paging {
        page: page
            .map_or(Some(1), |node| node.count(problems, usize::MAX))
            .unwrap_or(1),
        size: size
            .map_or(Some(DEFAULT_SIZE), |node| node.count(problems, MAX_SIZE))
            .unwrap_or(DEFAULT_SIZE),
        reverse: reverse.and_then(|node| node.flag(problems)).unwrap_or(false),
    }
}

/// A page as the wire shows it.
#[derive(Debug, Serialize)]
pub(crate) struct Body<T> {
    items: Vec<T>,
    total: usize,
    page: usize,
    size: usize,
    pages: usize,
}

impl<T> Body<T> {
    pub(crate) fn of(page: Page<T>, paging: Paging) -> Json<Self> {
        Json(Self {
            items: page.items,
            total: page.total,
            page: paging.page,
            size: paging.size,
            pages: page.total.div_ceil(paging.size.max(1)),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(query: &Value) -> Result<Paging, crate::error::Error> {
        let mut problems = Problems::default();
        let read = paging(&Node::root("query", Some(query)), &mut problems);
        problems.finish(Some(read))
    }

    #[test]
    fn defaults_and_bounds_are_the_contracts() {
        let default = Paging {
            page: 1,
            size: 50,
            reverse: false,
        };
        assert_eq!(read(&json!({})).ok(), Some(default));
        let given = json!({"page": "3", "size": "100", "reverse": "true"});
        let expected = Paging {
            page: 3,
            size: 100,
            reverse: true,
        };
        assert_eq!(read(&given).ok(), Some(expected));
        for bad in [
            json!({"page": "0"}),
            json!({"size": "0"}),
            json!({"size": "101"}),
            json!({"page": "one"}),
            json!({"reverse": "backwards"}),
        ] {
            assert!(read(&bad).is_err(), "{bad}");
        }
        assert!(read(&json!({"page": "99999999999999999999999999"})).is_ok());
    }

    #[test]
    fn a_page_beyond_the_end_is_empty_and_keeps_the_total() {
        let paging = Paging {
            page: 9,
            size: 2,
            reverse: false,
        };
        let body = Body::of(paging.of(vec![1, 2, 3]), paging);
        assert_eq!(
            serde_json::to_value(body.0).unwrap_or_default(),
            json!({"items": [], "total": 3, "page": 9, "size": 2, "pages": 2})
        );
    }
}
