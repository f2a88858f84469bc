//! Every rule of the contract, with what it lets through and what it does not.

use super::*;

/// Filters of messages that the default row matches, and others that it does not.
#[track_caller]
fn decides(schema: &Schema, row: &Fixture, yes: &[Value], no: &[Value]) {
    for filters in yes {
        assert_eq!(matches(schema, filters, row), Ok(true), "{filters}");
    }
    for filters in no {
        assert_eq!(matches(schema, filters, row), Ok(false), "{filters}");
    }
}

#[test]
fn columns_of_one_filter_must_all_match() {
    decides(
        &Schema::MESSAGE,
        &Fixture::default(),
        &[
            json!({}),
            json!({"peer_id": "Maya"}),
            json!({"peer_id": "Maya", "session_id": "s", "workspace_id": "w"}),
        ],
        &[
            json!({"peer_id": "maya"}),
            json!({"peer_id": "Maya", "session_id": "t"}),
            json!({"workspace_id": "v"}),
        ],
    );
}

#[test]
fn both_spellings_of_observer_and_observed_name_one_column() {
    decides(
        &Schema::CONCLUSION,
        &Fixture::default(),
        &[
            json!({"observer": "Maya", "observed": "bob"}),
            json!({"observer_id": "Maya", "observed_id": "bob"}),
            json!({"observer_id": "Maya", "observer": "Maya"}),
        ],
        &[
            json!({"observer_id": "Maya", "observer": "bob"}),
            json!({"observed": "Maya"}),
        ],
    );
}

#[test]
fn and_or_and_not_hold_lists_of_filters_and_go_together_with_columns() {
    decides(
        &Schema::MESSAGE,
        &Fixture::default(),
        &[
            json!({"AND": [{"peer_id": "Maya"}, {"session_id": "s"}]}),
            json!({"OR": [{"peer_id": "bob"}, {"session_id": "s"}]}),
            json!({"NOT": [{"peer_id": "bob"}]}),
            json!({"NOT": [{"peer_id": "bob"}, {"session_id": "t"}]}),
            json!({"NOT": [{"peer_id": "Maya", "session_id": "t"}]}),
            json!({"peer_id": "Maya", "OR": [{"session_id": "s"}], "NOT": [{"session_id": "t"}]}),
            json!({"AND": [{"OR": [{"peer_id": "bob"}, {"NOT": [{"session_id": "t"}]}]}]}),
        ],
        &[
            json!({"AND": [{"peer_id": "Maya"}, {"session_id": "t"}]}),
            json!({"OR": [{"peer_id": "bob"}, {"session_id": "t"}]}),
            json!({"NOT": [{"peer_id": "Maya"}]}),
            // Each is negated by itself.
            json!({"NOT": [{"peer_id": "bob"}, {"session_id": "s"}]}),
            json!({"peer_id": "bob", "OR": [{"session_id": "s"}]}),
        ],
    );
}

#[test]
fn no_condition_is_left_out_wherever_it_stands() {
    let everything = [
        json!({"AND": []}),
        json!({"OR": []}),
        json!({"NOT": []}),
        json!({"AND": [{}], "OR": [{"AND": []}], "NOT": [{}]}),
        json!({"peer_id": "*"}),
        json!({"NOT": [{"peer_id": "*"}]}),
        json!({"token_count": {"gt": "*"}}),
        json!({"peer_id": {"in": ["bob", "*"]}}),
        json!({"peer_id": ["*"]}),
        json!({"metadata": {}}),
        json!({"metadata": "*"}),
        json!({"metadata": {"role": "*", "level": {"gte": "*"}, "a": {"b": {"in": [1, "*"]}}}}),
    ];
    for filters in &everything {
        assert_eq!(parse(&Schema::MESSAGE, filters), Ok(Filter::default()), "{filters}");
    }
    // It is not true: what stands next to it decides.
    decides(
        &Schema::MESSAGE,
        &Fixture::default(),
        &[json!({"OR": [{"peer_id": "*"}, {"peer_id": "Maya"}]})],
        &[
            json!({"OR": [{"peer_id": "*"}, {"peer_id": "bob"}]}),
            json!({"AND": [{"peer_id": "*"}, {"peer_id": "bob"}]}),
        ],
    );
}

#[test]
fn a_list_is_its_members_and_an_empty_one_matches_nothing() {
    decides(
        &Schema::MESSAGE,
        &Fixture::default(),
        &[
            json!({"peer_id": ["bob", "Maya"]}),
            json!({"peer_id": {"in": ["zoe", "Maya", "bob"]}}),
            json!({"token_count": {"in": [1, "5", 7]}}),
            json!({"created_at": {"in": ["2026-01-01T13:00:00+01:00"]}}),
            json!({"NOT": [{"peer_id": []}]}),
        ],
        &[
            json!({"peer_id": []}),
            json!({"peer_id": {"in": []}}),
            json!({"peer_id": {"in": ["maya"]}}),
            json!({"metadata": {"role": {"in": []}}}),
            json!({"metadata": {"in": []}}),
        ],
    );
}

#[test]
fn text_is_compared_by_its_characters_and_looked_into_whatever_the_case() {
    let row = Fixture {
        peer: "Wörld 100% 🌍",
        ..Fixture::default()
    };
    decides(
        &Schema::CONCLUSION,
        &row,
        &[
            json!({"content": {"contains": "wÖRLD"}}),
            json!({"content": {"icontains": "100% 🌍"}}),
            json!({"content": {"contains": 100}}),
            json!({"content": {"contains": ""}}),
            json!({"content": {"gt": "Wa", "lt": "X"}}),
            json!({"content": {"ne": "W"}}),
        ],
        &[
            // A pattern is text like any other.
            json!({"content": {"contains": "W%d"}}),
            json!({"content": {"icontains": "w_rld"}}),
            json!({"content": {"gte": "X"}}),
            json!({"content": "wörld 100% 🌍"}),
        ],
    );
}

#[test]
fn several_operators_must_all_hold() {
    decides(
        &Schema::MESSAGE,
        &Fixture::default(),
        &[json!({"token_count": {"gte": 5, "lte": 5, "ne": 4, "in": [5]}})],
        &[
            json!({"token_count": {"gt": 5}}),
            json!({"token_count": {"gte": 1, "lt": 5}}),
        ],
    );
}

#[test]
fn numbers_are_numbers_and_text_that_is_one() {
    decides(
        &Schema::MESSAGE,
        &Fixture::default(),
        &[
            json!({"token_count": 5}),
            json!({"token_count": "5"}),
            json!({"token_count": 5.0}),
            json!({"token_count": {"gt": 4.9, "lt": 5.1}}),
            json!({"token_count": {"lt": 18_446_744_073_709_551_615_u64}}),
            json!({"token_count": {"lt": 1e300}}),
            json!({"token_count": {"gt": -1}}),
        ],
        &[json!({"token_count": 5.5}), json!({"token_count": {"ne": "5.0"}})],
    );
}

#[test]
fn times_are_dates_and_times_in_any_zone() {
    decides(
        &Schema::MESSAGE,
        &Fixture::default(),
        &[
            json!({"created_at": "2026-01-01T12:00:00Z"}),
            json!({"created_at": {"gte": "2026-01-01"}}),
            json!({"created_at": {"gte": "2026-01-01 12:00:00", "lt": "2026-01-01T12:00:00.000001"}}),
            json!({"created_at": {"lte": "2026-01-01T07:00:00-05:00"}}),
        ],
        &[
            json!({"created_at": {"gt": "2026-01-01T12:00:00Z"}}),
            json!({"created_at": "2026-01-01"}),
        ],
    );
}

#[test]
fn flags_are_true_or_false() {
    decides(
        &Schema::SESSION,
        &Fixture::default(),
        &[
            json!({"is_active": true}),
            json!({"is_active": {"ne": false}}),
            json!({"is_active": {"in": [true, false]}}),
        ],
        &[json!({"is_active": false}), json!({"is_active": null})],
    );
}

#[test]
fn null_is_unset_and_ne_and_not_include_what_is_unset() {
    let unset = Fixture {
        session: None,
        ..Fixture::default()
    };
    let schema = &Schema::CONCLUSION;
    for (filters, of_set, of_unset) in [
        (json!({"session_id": null}), false, true),
        (json!({"session_id": {"ne": null}}), true, false),
        (json!({"NOT": [{"session_id": null}]}), true, false),
        (json!({"session_id": {"ne": "t"}}), true, true),
        (json!({"session_id": {"ne": "s"}}), false, true),
        (json!({"NOT": [{"session_id": "s"}]}), false, true),
        (json!({"NOT": [{"session_id": {"contains": "s"}}]}), false, true),
        (
            json!({"NOT": [{"session_id": {"gt": "a"}, "level": "explicit"}]}),
            false,
            true,
        ),
        (json!({"NOT": [{"NOT": [{"session_id": "s"}]}]}), true, false),
        (json!({"session_id": "s"}), true, false),
        (json!({"session_id": {"contains": ""}}), true, false),
        (json!({"session_id": {"gte": ""}}), true, false),
        (json!({"session_id": ["s", "t"]}), true, false),
        (
            json!({"AND": [{"session_id": {"ne": "s"}}, {"session_id": {"ne": null}}]}),
            false,
            false,
        ),
        (json!({"session_id": "*"}), true, true),
        (json!({"created_at": null}), false, false),
        (json!({"metadata": null}), false, false),
    ] {
        assert_eq!(matches(schema, &filters, &Fixture::default()), Ok(of_set), "{filters}");
        assert_eq!(matches(schema, &filters, &unset), Ok(of_unset), "{filters}");
    }
}

#[test]
fn levels_are_words_of_a_closed_set() {
    decides(
        &Schema::CONCLUSION,
        &Fixture::default(),
        &[
            json!({"level": "explicit"}),
            json!({"level": ["deductive", "explicit"]}),
            json!({"level": {"ne": "contradiction"}}),
            json!({"level": {"contains": "PLI"}}),
        ],
        &[json!({"level": {"in": ["deductive", "inductive"]}})],
    );
}

#[test]
fn sources_contain_ids_and_are_null_when_there_are_none() {
    let derived = Fixture {
        sources: vec!["a", "b"],
        ..Fixture::default()
    };
    let schema = &Schema::CONCLUSION;
    decides(
        schema,
        &derived,
        &[
            json!({"source_ids": {"contains": "a"}}),
            json!({"source_ids": {"contains": ["b", "a"]}}),
            json!({"source_ids": {"contains": []}}),
            json!({"source_ids": {"ne": null}}),
        ],
        &[
            json!({"source_ids": {"contains": ["a", "c"]}}),
            json!({"source_ids": null}),
        ],
    );
    decides(
        schema,
        &Fixture::default(),
        &[
            json!({"source_ids": null}),
            json!({"NOT": [{"source_ids": {"contains": "a"}}]}),
        ],
        &[
            json!({"source_ids": {"contains": []}}),
            json!({"source_ids": {"contains": "a"}}),
        ],
    );
}

#[test]
fn metadata_is_contained_exact_in_case_and_type() {
    let row = with(json!({
        "Role": "Admin", "level": 5, "ratio": 5.0, "on": true, "none": null, "tags": ["important", "urgent"],
        "user": {"profile": {"premium": true, "level": 5}, "tags": []},
    }));
    decides(
        &Schema::PEER,
        &row,
        &[
            json!({"metadata": {"Role": "Admin"}}),
            json!({"metadata": {"level": 5, "ratio": 5, "on": true}}),
            json!({"metadata": {"none": null}}),
            json!({"metadata": {"tags": ["urgent"]}}),
            json!({"metadata": {"tags": ["urgent", "important"]}}),
            json!({"metadata": {"tags": []}}),
            json!({"metadata": {"user": {}}}),
            json!({"metadata": {"user": {"profile": {"premium": true}}}}),
            json!({"metadata": {"contains": {"user": {"tags": []}, "level": 5}}}),
        ],
        &[
            json!({"metadata": {"role": "Admin"}}),
            json!({"metadata": {"Role": "admin"}}),
            json!({"metadata": {"level": "5"}}),
            json!({"metadata": {"on": "true"}}),
            json!({"metadata": {"missing": null}}),
            json!({"metadata": {"tags": "urgent"}}),
            json!({"metadata": {"tags": ["urgent", "missing"]}}),
            json!({"metadata": {"Role": {}}}),
            json!({"metadata": {"user": {"profile": {"premium": true, "age": 1}}}}),
            json!({"metadata": {"contains": {"level": 6}}}),
            json!({"metadata": ["Role"]}),
        ],
    );
}

#[test]
fn operators_within_metadata_compare_a_values_text_or_number() {
    let row = with(json!({
        "score": 10.5, "text": "15", "date": "2024-02-20", "version": "2.0", "on": false, "none": null,
        "tags": ["important", "urgent"], "big": 9_007_199_254_740_993_i64,
        "user": {"profile": {"level": 5}},
    }));
    decides(
        &Schema::PEER,
        &row,
        &[
            json!({"metadata": {"score": {"gte": 10.5, "lt": 11}}}),
            json!({"metadata": {"score": {"gt": "10"}}}),
            json!({"metadata": {"text": {"gt": 5}}}),
            json!({"metadata": {"text": {"in": [1, 15]}}}),
            json!({"metadata": {"score": {"in": ["x", "10.5"]}}}),
            json!({"metadata": {"date": {"gte": "2024-02-01", "lte": "2024-02-28"}}}),
            json!({"metadata": {"version": {"gte": "2"}}}),
            json!({"metadata": {"on": {"ne": true}}}),
            json!({"metadata": {"on": {"in": [false]}}}),
            json!({"metadata": {"date": {"icontains": "02-2"}}}),
            json!({"metadata": {"tags": {"contains": "IMPORTANT"}}}),
            json!({"metadata": {"score": {"contains": 0.5}}}),
            json!({"metadata": {"big": {"gt": 9_007_199_254_740_992_i64}}}),
            json!({"metadata": {"score": {"ne": null}}}),
            // What is unset, or is no number, is different from every one.
            json!({"metadata": {"missing": {"ne": "x"}}}),
            json!({"metadata": {"none": {"ne": 1}}}),
            json!({"metadata": {"date": {"ne": 2024}}}),
            // At any depth, also beside what must be contained.
            json!({"metadata": {"user": {"profile": {"level": {"gte": 5}}}, "version": "2.0"}}),
        ],
        &[
            json!({"metadata": {"date": {"gt": 1}}}),
            json!({"metadata": {"on": {"lt": 1}}}),
            json!({"metadata": {"missing": {"gte": 0}}}),
            json!({"metadata": {"missing": {"ne": null}}}),
            json!({"metadata": {"none": {"ne": null}}}),
            json!({"metadata": {"none": {"contains": "null"}}}),
            json!({"metadata": {"version": {"ne": "2.00"}}}),
            json!({"metadata": {"version": {"in": ["2.00"]}}}),
            json!({"metadata": {"tags": {"contains": "late"}}}),
            json!({"metadata": {"user": {"profile": {"level": {"gt": 5}}}}}),
            json!({"metadata": {"user": {"profile": {"level": {"gte": 5}, "missing": 1}}}}),
            json!({"metadata": {"text": {"profile": {"gte": 5}}}}),
        ],
    );
}

#[test]
fn nul_is_left_out_as_in_what_is_stored() {
    decides(
        &Schema::MESSAGE,
        &with(json!({"key": ["value"]})),
        &[
            json!({"peer_id": "Ma\0ya"}),
            json!({"metadata": {"k\0ey": ["val\0ue"]}}),
            json!({"peer\0_id": {"contains": "\0MAY"}}),
        ],
        &[],
    );
}
