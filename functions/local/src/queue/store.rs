//! The SQLite file. Every method is one transaction.

use std::path::Path;

use reverie_core::ports::{Letter, QueueName, Schedule};
use reverie_core::time::Time;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};
use sha2::{Digest, Sha256};

use super::{Counts, DEAD_LETTER_RETENTION, DEDUPLICATION, DeadLetter, Delivery, MAX_RECEIVES, QueueError};

type Result<T, E = QueueError> = std::result::Result<T, E>;

const QUEUES: [QueueName; 2] = [QueueName::Ingest, QueueName::Dreams];

/// Times are microseconds. `seq` is never used twice, so a receipt never names another message.
const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS messages (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        queue TEXT NOT NULL,
        message_group TEXT NOT NULL,
        body TEXT NOT NULL,
        sent_at INTEGER NOT NULL,
        visible_at INTEGER NOT NULL,
        receives INTEGER NOT NULL
    );
    CREATE INDEX IF NOT EXISTS messages_by_group ON messages (queue, message_group, seq);
    DROP TABLE IF EXISTS taken;
    CREATE TABLE IF NOT EXISTS taken_in_group (
        queue TEXT NOT NULL,
        message_group TEXT NOT NULL,
        id TEXT NOT NULL,
        until INTEGER NOT NULL,
        PRIMARY KEY (queue, message_group, id)
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS taken_in_group_by_until ON taken_in_group (until);
    CREATE TABLE IF NOT EXISTS schedules (
        name TEXT PRIMARY KEY,
        due_at INTEGER NOT NULL,
        queue TEXT NOT NULL,
        message_group TEXT NOT NULL,
        body TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS schedules_by_due ON schedules (due_at);
    CREATE TABLE IF NOT EXISTS dead (
        seq INTEGER PRIMARY KEY,
        queue TEXT NOT NULL,
        message_group TEXT NOT NULL,
        body TEXT NOT NULL,
        sent_at INTEGER NOT NULL,
        died_at INTEGER NOT NULL
    );
    CREATE INDEX IF NOT EXISTS dead_by_queue ON dead (queue, seq);
    PRAGMA user_version = 1;
";

/// The first message of each group that may be handed out: visible, and nothing of its group before it.
const FIRST_RECEIVABLE: &str = "
    SELECT seq, message_group, body, receives FROM messages AS m
    WHERE queue = ?1 AND visible_at <= ?2 AND NOT EXISTS (
        SELECT 1 FROM messages AS e
        WHERE e.queue = m.queue AND e.message_group = m.message_group AND e.seq < m.seq
    )
    ORDER BY seq LIMIT 1";

pub(super) struct Store {
    connection: Connection,
}

impl Store {
    pub(super) fn open(path: &Path) -> Result<Self> {
        Self::prepare(Connection::open(path)?)
    }

    pub(super) fn memory() -> Result<Self> {
        Self::prepare(Connection::open_in_memory()?)
    }

    fn prepare(connection: Connection) -> Result<Self> {
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.execute_batch(SCHEMA)?;
        Ok(Self { connection })
    }

    fn begin(&mut self) -> Result<Transaction<'_>> {
        Ok(self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?)
    }

    pub(super) fn send(&mut self, queue: QueueName, letter: &Letter, now: Time) -> Result<()> {
        let transaction = self.begin()?;
        enqueue(&transaction, queue, letter, now)?;
        Ok(transaction.commit()?)
    }

    pub(super) fn receive(&mut self, queue: QueueName, now: Time, until: Time) -> Result<Option<Delivery>> {
        // Looks before it takes the write lock: an idle worker writes nothing.
        if first_receivable(&self.connection, queue, now)?.is_none() {
            return Ok(None);
        }
        let transaction = self.begin()?;
        let delivery = loop {
            let Some(found) = first_receivable(&transaction, queue, now)? else {
                break None;
            };
            if found.receives >= MAX_RECEIVES {
                bury(&transaction, found.seq, now)?;
                continue;
            }
            let receive_count = found.receives + 1;
            transaction
                .prepare_cached("UPDATE messages SET receives = ?2, visible_at = ?3 WHERE seq = ?1")?
                .execute(params![found.seq, receive_count, until.micros()])?;
            break Some(Delivery {
                id: found.seq,
                receipt: receipt(found.seq, receive_count),
                group: found.group,
                body: found.body,
                receive_count,
            });
        };
        transaction.commit()?;
        Ok(delivery)
    }

    pub(super) fn delete(&mut self, queue: QueueName, receipt: &str, now: Time) -> Result<()> {
        let (seq, receives) = read_receipt(receipt)?;
        let deleted = self
            .connection
            .prepare_cached("DELETE FROM messages WHERE seq = ?1 AND queue = ?2 AND receives = ?3 AND visible_at > ?4")?
            .execute(params![seq, queue.as_str(), receives, now.micros()])?;
        current(deleted, receipt)
    }

    pub(super) fn change_visibility(&mut self, queue: QueueName, receipt: &str, now: Time, until: Time) -> Result<()> {
        let (seq, receives) = read_receipt(receipt)?;
        let changed = self
            .connection
            .prepare_cached(
                "UPDATE messages SET visible_at = ?5
                 WHERE seq = ?1 AND queue = ?2 AND receives = ?3 AND visible_at > ?4",
            )?
            .execute(params![seq, queue.as_str(), receives, now.micros(), until.micros()])?;
        current(changed, receipt)
    }

    pub(super) fn create_schedule(&mut self, schedule: &Schedule) -> Result<()> {
        self.connection
            .prepare_cached(
                "INSERT OR IGNORE INTO schedules (name, due_at, queue, message_group, body) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![
                schedule.name,
                schedule.at.micros(),
                schedule.queue.as_str(),
                schedule.group,
                schedule.body
            ])?;
        Ok(())
    }

    pub(super) fn delete_schedule(&mut self, name: &str) -> Result<()> {
        self.connection
            .prepare_cached("DELETE FROM schedules WHERE name = ?1")?
            .execute([name])?;
        Ok(())
    }

    /// The letter goes in and the schedule out in one transaction, so that no fire is lost or done twice.
    pub(super) fn fire_due(&mut self, now: Time) -> Result<usize> {
        if !exists(
            &self.connection,
            "SELECT 1 FROM schedules WHERE due_at <= ?1 LIMIT 1",
            now,
        )? {
            return Ok(0);
        }
        let transaction = self.begin()?;
        let due = transaction
            .prepare_cached(
                "SELECT name, queue, message_group, body FROM schedules WHERE due_at <= ?1 ORDER BY due_at, name",
            )?
            .query_map([now.micros()], |row| {
                let letter = |body: String, group| Letter {
                    group,
                    deduplication: content_digest(&body),
                    body,
                };
                Ok((
                    row.get::<_, String>(0)?,
                    queue_of(row, 1)?,
                    letter(row.get(3)?, row.get(2)?),
                ))
            })?
            .collect::<Result<Vec<_>, _>>()?;
        for (name, queue, letter) in &due {
            enqueue(&transaction, *queue, letter, now)?;
            transaction
                .prepare_cached("DELETE FROM schedules WHERE name = ?1")?
                .execute([name])?;
        }
        transaction.commit()?;
        Ok(due.len())
    }

    /// The queues in which something can be received.
    pub(super) fn receivable(&self, now: Time) -> Result<Vec<QueueName>> {
        let mut queues = Vec::new();
        for queue in QUEUES {
            if first_receivable(&self.connection, queue, now)?.is_some() {
                queues.push(queue);
            }
        }
        Ok(queues)
    }

    pub(super) fn release_in_flight(&mut self, now: Time) -> Result<usize> {
        Ok(self.connection.execute(
            "UPDATE messages SET visible_at = ?1 WHERE visible_at > ?1",
            [now.micros()],
        )?)
    }

    pub(super) fn prune_dead(&mut self, now: Time) -> Result<()> {
        let limit = now - DEAD_LETTER_RETENTION;
        if exists(
            &self.connection,
            "SELECT 1 FROM dead WHERE sent_at <= ?1 LIMIT 1",
            limit,
        )? {
            self.connection
                .execute("DELETE FROM dead WHERE sent_at <= ?1", [limit.micros()])?;
        }
        Ok(())
    }

    pub(super) fn dead_letters(&self, queue: QueueName) -> Result<Vec<DeadLetter>> {
        let letters = self
            .connection
            .prepare_cached(
                "SELECT seq, message_group, body, sent_at, died_at FROM dead WHERE queue = ?1 ORDER BY seq",
            )?
            .query_map([queue.as_str()], |row| {
                Ok(DeadLetter {
                    id: row.get(0)?,
                    group: row.get(1)?,
                    body: row.get(2)?,
                    sent_at: Time::from_micros(row.get(3)?),
                    died_at: Time::from_micros(row.get(4)?),
                })
            })?
            .collect::<Result<_, _>>()?;
        Ok(letters)
    }

    pub(super) fn counts(&self, queue: QueueName, now: Time) -> Result<Counts> {
        let counts = self.connection.query_row(
            "SELECT (SELECT count(*) FROM messages WHERE queue = ?1 AND visible_at <= ?2),
                    (SELECT count(*) FROM messages WHERE queue = ?1 AND visible_at > ?2),
                    (SELECT count(*) FROM dead WHERE queue = ?1),
                    (SELECT count(*) FROM schedules WHERE queue = ?1)",
            params![queue.as_str(), now.micros()],
            |row| {
                Ok(Counts {
                    waiting: row.get(0)?,
                    in_flight: row.get(1)?,
                    dead: row.get(2)?,
                    scheduled: row.get(3)?,
                })
            },
        )?;
        Ok(counts)
    }
}

struct Found {
    seq: i64,
    group: String,
    body: String,
    receives: u32,
}

fn first_receivable(connection: &Connection, queue: QueueName, now: Time) -> Result<Option<Found>> {
    Ok(connection
        .prepare_cached(FIRST_RECEIVABLE)?
        .query_row(params![queue.as_str(), now.micros()], |row| {
            Ok(Found {
                seq: row.get(0)?,
                group: row.get(1)?,
                body: row.get(2)?,
                receives: row.get(3)?,
            })
        })
        .optional()?)
}

/// Puts a letter in, unless its deduplication id is taken. The id is taken in its group, as the template has SQS
/// do it (`DeduplicationScope: messageGroup`), and from the first letter on: the refused ones do not prolong it.
fn enqueue(transaction: &Transaction<'_>, queue: QueueName, letter: &Letter, now: Time) -> Result<()> {
    transaction
        .prepare_cached("DELETE FROM taken_in_group WHERE until <= ?1")?
        .execute([now.micros()])?;
    let fresh = transaction
        .prepare_cached(
            "INSERT OR IGNORE INTO taken_in_group (queue, message_group, id, until) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![
            queue.as_str(),
            letter.group,
            letter.deduplication,
            (now + DEDUPLICATION).micros()
        ])?;
    if fresh == 1 {
        transaction
            .prepare_cached(
                "INSERT INTO messages (queue, message_group, body, sent_at, visible_at, receives)
                 VALUES (?1, ?2, ?3, ?4, ?4, 0)",
            )?
            .execute(params![queue.as_str(), letter.group, letter.body, now.micros()])?;
    }
    Ok(())
}

/// Moves a message to the dead letters.
fn bury(transaction: &Transaction<'_>, seq: i64, now: Time) -> Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO dead (seq, queue, message_group, body, sent_at, died_at)
             SELECT seq, queue, message_group, body, sent_at, ?2 FROM messages WHERE seq = ?1",
        )?
        .execute(params![seq, now.micros()])?;
    transaction
        .prepare_cached("DELETE FROM messages WHERE seq = ?1")?
        .execute([seq])?;
    Ok(())
}

fn exists(connection: &Connection, query: &str, at: Time) -> Result<bool> {
    Ok(connection.prepare_cached(query)?.exists([at.micros()])?)
}

fn queue_of(row: &Row<'_>, column: usize) -> rusqlite::Result<QueueName> {
    let name: String = row.get(column)?;
    QUEUES
        .into_iter()
        .find(|queue| queue.as_str() == name)
        .ok_or_else(|| rusqlite::Error::InvalidColumnType(column, name, rusqlite::types::Type::Text))
}

/// What SQS takes as the deduplication id when content-based deduplication is on: SHA-256 of the body.
fn content_digest(body: &str) -> String {
    use std::fmt::Write as _;
    Sha256::digest(body.as_bytes())
        .iter()
        .fold(String::with_capacity(64), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
}

fn receipt(seq: i64, receives: u32) -> String {
    format!("{seq}.{receives}")
}

fn read_receipt(receipt: &str) -> Result<(i64, u32)> {
    receipt
        .split_once('.')
        .and_then(|(seq, receives)| Some((seq.parse().ok()?, receives.parse().ok()?)))
        .ok_or_else(|| QueueError::Stale(receipt.to_owned()))
}

fn current(changed: usize, receipt: &str) -> Result<()> {
    if changed == 0 {
        return Err(QueueError::Stale(receipt.to_owned()));
    }
    Ok(())
}
