//! The log: one JSON object a line, with the whole chain of causes of an error.
//!
//! The subscriber's own JSON form writes an error without its causes, and "the table failed" alone helps nobody.

use std::error::Error;
use std::fmt;

use reverie_core::cause::chain;
use reverie_core::ports::Clock;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::{JsonFields, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields, MakeWriter};
use tracing_subscriber::registry::LookupSpan;

use crate::system::SystemClock;

/// Writes the log to `writer` from now on, as `filter` says (the syntax of `RUST_LOG`).
pub fn start(filter: &str, writer: impl for<'a> MakeWriter<'a> + Send + Sync + 'static) {
    tracing_subscriber::fmt()
        .fmt_fields(JsonFields::new())
        .event_format(Lines)
        .with_env_filter(EnvFilter::new(filter))
        .with_writer(writer)
        .init();
}

/// One event, one line.
struct Lines;

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut fields = Fields::default();
        // The invocation's id lies on the span around it.
        for span in context
            .event_scope()
            .into_iter()
            .flat_map(tracing_subscriber::registry::Scope::from_root)
        {
            if let Some(formatted) = span.extensions().get::<FormattedFields<N>>()
                && let Ok(Value::Object(of_span)) = serde_json::from_str(formatted.fields.as_str())
            {
                fields.0.extend(of_span);
            }
        }
        event.record(&mut fields);
        let metadata = event.metadata();
        fields.put("timestamp", SystemClock.now().to_string());
        fields.put("level", metadata.level().as_str());
        fields.put("target", metadata.target());
        writeln!(writer, "{}", Value::Object(fields.0))
    }
}

#[derive(Default)]
struct Fields(Map<String, Value>);

impl Fields {
    fn put(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }
}

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field.name(), value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field.name(), value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field.name(), value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field.name(), value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field.name(), value);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.put(field.name(), chain(value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field.name(), format!("{value:?}"));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Memory(Arc<Mutex<Vec<u8>>>);

    impl Write for Memory {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[derive(Debug, thiserror::Error)]
    #[error("the table failed")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn a_line_holds_the_message_the_fields_of_its_spans_and_every_cause() {
        let memory = Memory::default();
        let writer = memory.clone();
        let subscriber = tracing_subscriber::fmt()
            .fmt_fields(JsonFields::new())
            .event_format(Lines)
            .with_writer(move || writer.clone())
            .finish();
        tracing::subscriber::with_default(subscriber, || {
            let _span = tracing::info_span!("invocation", request.id = "r-1").entered();
            let error = Outer(std::io::Error::other("broken \"pipe\""));
            tracing::warn!(message.count = 3_u64, error = &error as &dyn Error, "a message failed");
        });
        let line = String::from_utf8(memory.0.lock().unwrap().clone()).unwrap();
        let mut line: Map<String, Value> = serde_json::from_str(line.trim_end()).unwrap();
        assert!(line.remove("timestamp").is_some());
        assert_eq!(
            Value::Object(line),
            serde_json::json!({
                "level": "WARN", "target": "reverie_aws::log::tests", "request.id": "r-1", "message.count": 3,
                "message": "a message failed", "error": "the table failed: broken \"pipe\"",
            })
        );
    }
}
