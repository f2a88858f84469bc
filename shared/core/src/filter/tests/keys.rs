//! Which rows need not be read.

use super::*;

fn values(filters: &Value, column: Column) -> Result<Option<Vec<String>>, FilterError> {
    let filter = parse(&Schema::CONCLUSION, filters)?;
    let values = filter.values_of(column);
    Ok(values.map(|values| values.into_iter().map(str::to_owned).collect()))
}

#[test]
fn the_values_that_a_column_must_have_follow_from_the_whole_filter() {
    let of = |values: &[&str]| Some(values.iter().map(ToString::to_string).collect::<Vec<_>>());
    for (filters, observers) in [
        (json!({}), None),
        (json!({"observed": "b"}), None),
        (json!({"observer": "a"}), of(&["a"])),
        (json!({"observer_id": "a", "level": "explicit"}), of(&["a"])),
        (json!({"observer_id": ["b", "a"]}), of(&["a", "b"])),
        (json!({"observer_id": []}), of(&[])),
        (json!({"observer_id": "a", "observer": ["a", "b"]}), of(&["a"])),
        (json!({"observer_id": "a", "observer": "b"}), of(&[])),
        (json!({"AND": [{"level": "explicit"}, {"observer": "a"}]}), of(&["a"])),
        (json!({"OR": [{"observer": "a"}, {"observer": "b"}]}), of(&["a", "b"])),
        (
            json!({"OR": [{"observer": "a", "observed": "x"}, {"observer": "b"}]}),
            of(&["a", "b"]),
        ),
        (json!({"OR": [{"observer": "a"}, {"level": "explicit"}]}), None),
        (
            json!({"OR": [{"observer": "a"}, {"level": "explicit"}], "observer": "c"}),
            of(&["c"]),
        ),
        (json!({"NOT": [{"observer": "a"}]}), None),
        (json!({"NOT": [{"NOT": [{"observer": "a"}]}]}), of(&["a"])),
        (json!({"NOT": [{"observer": {"ne": "a"}}]}), of(&["a"])),
        (
            json!({"NOT": [{"OR": [{"observer": {"ne": "a"}}, {"level": "explicit"}]}]}),
            of(&["a"]),
        ),
        (
            json!({"NOT": [{"AND": [{"observer": {"ne": "a"}}, {"level": "explicit"}]}]}),
            None,
        ),
        (json!({"observer": {"ne": "a"}}), None),
        (json!({"observer": {"contains": "a"}}), None),
        (json!({"observer": {"gte": "a", "lte": "a"}}), None),
        (json!({"observer": null}), None),
        (json!({"observer": "*"}), None),
    ] {
        assert_eq!(values(&filters, Column::Observer), Ok(observers), "{filters}");
    }
}

#[test]
fn a_filter_says_what_it_looks_at() {
    let only = |filters: Value| {
        parse(&Schema::CONCLUSION, &filters).map(|filter| filter.tests_only(&[Column::Observer, Column::Observed]))
    };
    assert_eq!(only(json!({})), Ok(true));
    assert_eq!(only(json!({"observer": "a", "NOT": [{"observed": "b"}]})), Ok(true));
    assert_eq!(only(json!({"observer": "a", "level": "explicit"})), Ok(false));
    assert_eq!(
        only(json!({"OR": [{"observer": "a"}, {"NOT": [{"session_id": null}]}]})),
        Ok(false)
    );
}
