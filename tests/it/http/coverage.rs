//! Every route has a success and a refusal among the snapshots, and a line in `docs/wire.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

/// Every route below `/v3/workspaces`.
pub(super) const ROUTES: &[(&str, &str)] = &[
    ("POST", ""),
    ("POST", "/list"),
    ("PUT", "/{w}"),
    ("DELETE", "/{w}"),
    ("POST", "/{w}/peers"),
    ("POST", "/{w}/peers/list"),
    ("PUT", "/{w}/peers/{p}"),
    ("POST", "/{w}/peers/{p}/sessions"),
    ("GET", "/{w}/peers/{p}/card"),
    ("PUT", "/{w}/peers/{p}/card"),
    ("POST", "/{w}/peers/{p}/representation"),
    ("GET", "/{w}/peers/{p}/context"),
    ("POST", "/{w}/sessions"),
    ("POST", "/{w}/sessions/list"),
    ("PUT", "/{w}/sessions/{s}"),
    ("DELETE", "/{w}/sessions/{s}"),
    ("GET", "/{w}/sessions/{s}/peers"),
    ("POST", "/{w}/sessions/{s}/peers"),
    ("PUT", "/{w}/sessions/{s}/peers"),
    ("DELETE", "/{w}/sessions/{s}/peers"),
    ("GET", "/{w}/sessions/{s}/peers/{p}/config"),
    ("PUT", "/{w}/sessions/{s}/peers/{p}/config"),
    ("GET", "/{w}/sessions/{s}/summaries"),
    ("GET", "/{w}/sessions/{s}/context"),
    ("POST", "/{w}/sessions/{s}/messages"),
    ("POST", "/{w}/sessions/{s}/messages/list"),
    ("GET", "/{w}/sessions/{s}/messages/{id}"),
    ("PUT", "/{w}/sessions/{s}/messages/{id}"),
    ("POST", "/{w}/sessions/{s}/messages/{id}/retry"),
    ("POST", "/{w}/conclusions"),
    ("POST", "/{w}/conclusions/list"),
    ("POST", "/{w}/conclusions/query"),
    ("GET", "/{w}/conclusions/{id}"),
    ("DELETE", "/{w}/conclusions/{id}"),
    ("GET", "/{w}/queue/status"),
    ("GET", "/{w}/queue/failed"),
    ("POST", "/{w}/schedule_dream"),
    ("GET", "/{w}/dreams"),
    ("POST", "/{w}/dreams/list"),
    ("GET", "/{w}/dreams/status"),
    ("GET", "/{w}/dreams/{id}"),
    ("POST", "/{w}/dreams/{id}/cancel"),
    ("POST", "/{w}/dreams/{id}/undo"),
];

/// The route that a path belongs to: the one with the fewest parameters, as the router has it.
fn route(method: &str, path: &str) -> Option<(&'static str, &'static str)> {
    let path = path.split('?').next().unwrap().trim_end_matches('/');
    let steps: Vec<_> = path.split('/').collect();
    let fits = |template: &str| {
        let wanted: Vec<_> = template.split('/').collect();
        wanted.len() == steps.len()
            && wanted
                .iter()
                .zip(&steps)
                .all(|(want, step)| want.starts_with('{') || want == step)
    };
    let of_method = ROUTES.iter().filter(|(of, template)| *of == method && fits(template));
    of_method
        .min_by_key(|(_, template)| template.matches('{').count())
        .copied()
}

/// The classes of statuses of each route in the snapshots.
fn said() -> BTreeMap<(&'static str, &'static str), BTreeSet<u64>> {
    let mut said: BTreeMap<_, BTreeSet<u64>> = BTreeMap::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("it/http/snapshots");
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "snap") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let json = text.splitn(3, "---\n").nth(2).unwrap();
        for exchange in serde_json::from_str::<Vec<Value>>(json).unwrap() {
            let (method, path) = exchange["request"]["call"].as_str().unwrap().split_once(' ').unwrap();
            let found = route(method, path.strip_prefix("/v3/workspaces").unwrap());
            let found = found.unwrap_or_else(|| panic!("{method} {path} is no route"));
            said.entry(found)
                .or_default()
                .insert(exchange["response"]["status"].as_u64().unwrap() / 100);
        }
    }
    said
}

#[test]
fn every_route_has_a_success_and_a_refusal_among_the_snapshots() {
    let said = said();
    let lacking: Vec<_> = ROUTES
        .iter()
        .filter(|route| said.get(route).is_none_or(|classes| *classes != [2, 4].into()))
        .collect();
    assert!(lacking.is_empty(), "{lacking:?}");
}

#[test]
fn every_route_is_documented() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/wire.md")).unwrap();
    for (method, template) in ROUTES {
        assert!(
            text.contains(&format!("`{method} /v3/workspaces{template}`")),
            "docs/wire.md lacks {method} /v3/workspaces{template}"
        );
    }
}
