//! The cases. Their names say what holds.
#![allow(missing_docs, reason = "the names say it")]

use std::time::Duration;

use super::{Driver, MINUTE, QUEUE, letter, schedule};

const SECOND: Duration = Duration::from_secs(1);
const WINDOW: Duration = Duration::from_mins(5);

pub async fn an_empty_queue_gives_nothing(driver: &dyn Driver) {
    assert_eq!(driver.receive(MINUTE).await, None);
    assert!(driver.dead().await.is_empty());
}

pub async fn a_group_is_received_in_order_and_one_at_a_time(driver: &dyn Driver) {
    for n in 0..4 {
        driver.send("g", &format!("d{n}"), &format!("body {n}")).await;
    }
    for n in 0..4 {
        let received = driver.receive(MINUTE).await.unwrap();
        assert_eq!(received.body, format!("body {n}"));
        assert_eq!(received.group, "g");
        assert_eq!(received.receive_count, 1);
        assert_eq!(driver.receive(MINUTE).await, None, "the group has one in flight");
        driver.delete(&received.receipt).await.unwrap();
    }
    assert_eq!(driver.receive(MINUTE).await, None);
}

pub async fn groups_do_not_wait_for_each_other(driver: &dyn Driver) {
    driver.send("one", "d1", "one first").await;
    driver.send("one", "d2", "one second").await;
    driver.send("two", "d3", "two first").await;
    let mut bodies = vec![driver.take().await.unwrap(), driver.take().await.unwrap()];
    bodies.sort();
    assert_eq!(bodies, ["one first", "two first"]);
    assert_eq!(driver.take().await, None);
}

pub async fn a_deduplication_id_is_taken_for_five_minutes_and_then_free(driver: &dyn Driver) {
    driver.send("g", "state-7", "one").await;
    driver.send("g", "state-7", "one").await;
    assert_eq!(driver.drain().await, ["one"]);
    driver.pass(29 * WINDOW / 30).await;
    driver.send("g", "state-7", "one").await;
    assert!(driver.drain().await.is_empty());
    driver.pass(20 * SECOND).await;
    driver.send("g", "state-7", "one").await;
    assert_eq!(driver.drain().await, ["one"]);
}

pub async fn a_deduplication_id_stays_taken_after_the_message_was_deleted(driver: &dyn Driver) {
    driver.send("g", "state-7", "one").await;
    assert_eq!(driver.drain().await, ["one"]);
    driver.send("g", "state-7", "one").await;
    assert_eq!(driver.take().await, None);
}

pub async fn a_refused_duplicate_does_not_prolong_the_five_minutes(driver: &dyn Driver) {
    driver.send("g", "state-7", "one").await;
    driver.pass(WINDOW / 2).await;
    driver.send("g", "state-7", "one").await;
    driver.pass(WINDOW / 2 + 5 * SECOND).await;
    assert_eq!(driver.drain().await, ["one"]);
    driver.send("g", "state-7", "one").await;
    assert_eq!(driver.drain().await, ["one"]);
}

pub async fn the_first_of_two_bodies_with_one_id_is_the_one_received(driver: &dyn Driver) {
    driver.send("g", "same", "first").await;
    driver.send("g", "same", "second").await;
    assert_eq!(driver.drain().await, ["first"]);
}

pub async fn another_state_of_the_same_entity_is_another_message(driver: &dyn Driver) {
    driver.send("session", "session-7", "wake up").await;
    driver.send("session", "session-8", "wake up").await;
    assert_eq!(driver.drain().await, ["wake up", "wake up"]);
}

pub async fn one_id_in_two_groups_is_two_messages(driver: &dyn Driver) {
    driver.send("one", "same", "first").await;
    driver.send("two", "same", "second").await;
    assert_eq!(driver.drain().await, ["first", "second"]);
}

pub async fn a_message_comes_back_when_its_visibility_runs_out_during_work(driver: &dyn Driver) {
    driver.send("g", "d", "work").await;
    let first = driver.receive(2 * SECOND).await.unwrap();
    driver.pass(3 * SECOND).await;
    let second = driver.receive(MINUTE).await.unwrap();
    assert_eq!((second.body.as_str(), second.receive_count), ("work", 2));
    assert_ne!(first.receipt, second.receipt);
}

pub async fn a_stale_receipt_neither_deletes_nor_prolongs(driver: &dyn Driver) {
    driver.send("g", "d", "work").await;
    let first = driver.receive(2 * SECOND).await.unwrap();
    driver.pass(3 * SECOND).await;
    let second = driver.receive(2 * SECOND).await.unwrap();
    assert!(driver.delete(&first.receipt).await.is_err());
    assert!(driver.change_visibility(&first.receipt, MINUTE).await.is_err());
    driver.pass(3 * SECOND).await;
    let third = driver.receive(MINUTE).await.unwrap();
    assert_eq!(third.receive_count, 3);
    assert!(driver.delete(&second.receipt).await.is_err());
    driver.delete(&third.receipt).await.unwrap();
}

pub async fn a_receipt_that_ran_out_is_refused(driver: &dyn Driver) {
    driver.send("g", "d", "work").await;
    let first = driver.receive(2 * SECOND).await.unwrap();
    driver.pass(3 * SECOND).await;
    // Nobody has it yet.
    assert!(driver.delete(&first.receipt).await.is_err());
    assert!(driver.change_visibility(&first.receipt, MINUTE).await.is_err());
    assert_eq!(driver.receive(MINUTE).await.unwrap().receive_count, 2);
}

pub async fn a_heartbeat_keeps_a_message_and_its_group_locked(driver: &dyn Driver) {
    driver.send("g", "d1", "long").await;
    driver.send("g", "d2", "next").await;
    let received = driver.receive(4 * SECOND).await.unwrap();
    for _ in 0..3 {
        driver.pass(3 * SECOND).await;
        driver.change_visibility(&received.receipt, 4 * SECOND).await.unwrap();
        assert_eq!(driver.take().await, None);
    }
    driver.delete(&received.receipt).await.unwrap();
    assert_eq!(driver.take().await.as_deref(), Some("next"));
}

pub async fn a_back_off_hides_a_message_and_holds_its_group(driver: &dyn Driver) {
    driver.send("g", "d1", "fails").await;
    driver.send("g", "d2", "next").await;
    let received = driver.receive(MINUTE).await.unwrap();
    driver.change_visibility(&received.receipt, 4 * SECOND).await.unwrap();
    assert_eq!(driver.take().await, None);
    driver.pass(5 * SECOND).await;
    let again = driver.receive(MINUTE).await.unwrap();
    assert_eq!((again.body.as_str(), again.receive_count), ("fails", 2));
    driver.change_visibility(&again.receipt, Duration::ZERO).await.unwrap();
    let third = driver.receive(MINUTE).await.unwrap();
    assert_eq!((third.body.as_str(), third.receive_count), ("fails", 3));
}

pub async fn a_message_received_five_times_in_vain_goes_to_the_dead_letters(driver: &dyn Driver) {
    driver.send("g", "d", "poison").await;
    for count in 1..=5 {
        let received = driver.receive(MINUTE).await.unwrap();
        assert_eq!(received.receive_count, count);
        assert!(driver.dead().await.is_empty());
        driver
            .change_visibility(&received.receipt, Duration::ZERO)
            .await
            .unwrap();
    }
    assert_eq!(driver.receive(MINUTE).await, None);
    assert_eq!(driver.dead().await, ["poison"]);
}

pub async fn a_dead_letter_no_longer_holds_its_group(driver: &dyn Driver) {
    driver.send("g", "d1", "poison").await;
    driver.send("g", "d2", "healthy").await;
    for _ in 0..5 {
        let received = driver.receive(MINUTE).await.unwrap();
        assert_eq!(received.body, "poison");
        driver
            .change_visibility(&received.receipt, Duration::ZERO)
            .await
            .unwrap();
    }
    assert_eq!(driver.take().await.as_deref(), Some("healthy"));
}

pub async fn a_schedule_fires_once_at_its_time_and_not_before(driver: &dyn Driver) {
    let at = driver.now() + 2 * MINUTE;
    driver.schedule("rep-1", at, r#"{"generation":1}"#).await;
    driver.pass(MINUTE).await;
    assert_eq!(driver.take().await, None);
    driver.pass_fire(at).await;
    let received = driver.receive(MINUTE).await.unwrap();
    assert_eq!(received.body, r#"{"generation":1}"#);
    assert_eq!(received.group, "scheduled");
    driver.delete(&received.receipt).await.unwrap();
    driver.pass(2 * MINUTE).await;
    assert_eq!(driver.take().await, None);
}

pub async fn a_schedule_created_twice_fires_once_and_keeps_its_first_time(driver: &dyn Driver) {
    let at = driver.now() + 2 * MINUTE;
    driver.schedule("rep-1", at, "one").await;
    driver.schedule("rep-1", at + 100 * MINUTE, "two").await;
    driver.pass_fire(at).await;
    assert_eq!(driver.drain().await, ["one"]);
}

pub async fn a_deleted_schedule_does_not_fire(driver: &dyn Driver) {
    let at = driver.now() + 2 * MINUTE;
    driver.schedule("rep-1", at, "one").await;
    driver.schedules().delete("rep-1").await.unwrap();
    driver.pass_fire(at).await;
    assert_eq!(driver.take().await, None);
}

pub async fn deleting_a_schedule_that_is_gone_is_success(driver: &dyn Driver) {
    driver.schedules().delete("never-was").await.unwrap();
    let at = driver.now() + 2 * MINUTE;
    driver.schedule("rep-1", at, "one").await;
    driver.pass_fire(at).await;
    driver.schedules().delete("rep-1").await.unwrap();
    assert_eq!(driver.drain().await, ["one"]);
}

pub async fn replacing_a_schedule_fires_the_new_one_only(driver: &dyn Driver) {
    let at = driver.now() + 2 * MINUTE;
    driver.schedule("rep-1", at, r#"{"generation":1}"#).await;
    driver.schedule("rep-2", at + MINUTE, r#"{"generation":2}"#).await;
    driver.schedules().delete("rep-1").await.unwrap();
    driver.pass_fire(at + MINUTE).await;
    assert_eq!(driver.drain().await, [r#"{"generation":2}"#]);
}

pub async fn a_schedule_of_the_past_still_fires(driver: &dyn Driver) {
    let late = driver.now() - 10 * MINUTE;
    driver.schedule("rep-1", late, "late").await;
    driver.pass_fire(driver.now() + MINUTE).await;
    assert_eq!(driver.drain().await, ["late"]);
}

pub async fn a_fire_is_deduplicated_by_its_body_also_after_delete(driver: &dyn Driver) {
    let at = driver.now() + 2 * MINUTE;
    driver.schedule("rep-1", at, "same body").await;
    driver.pass_fire(at).await;
    assert_eq!(driver.drain().await, ["same body"]);
    let again = driver.now() + MINUTE;
    driver.schedule("rep-2", again, "same body").await;
    driver.schedule("rep-3", again, "other body").await;
    driver.pass_fire(again).await;
    assert_eq!(driver.drain().await, ["other body"]);
}

pub async fn a_fire_and_a_letter_with_its_digest_are_one_message(driver: &dyn Driver) {
    // SHA-256 of "hello".
    let digest = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    let at = driver.now() + MINUTE;
    driver.schedule("rep-1", at, "hello").await;
    driver.pass_fire(at).await;
    driver.send("scheduled", digest, "hello").await;
    assert_eq!(driver.drain().await, ["hello"]);
}

pub async fn a_fired_name_can_be_used_again(driver: &dyn Driver) {
    let at = driver.now() + MINUTE;
    driver.schedule("rep-1", at, "one").await;
    driver.pass_fire(at).await;
    let again = driver.now() + MINUTE;
    driver.schedule("rep-1", again, "two").await;
    driver.pass_fire(again).await;
    let mut bodies = driver.drain().await;
    bodies.sort();
    assert_eq!(bodies, ["one", "two"]);
}

pub async fn everything_accepted_survives_a_kill(driver: &dyn Driver) {
    let at = driver.now() + 2 * MINUTE;
    driver.send("a", "d1", "deleted").await;
    let done = driver.receive(MINUTE).await.unwrap();
    driver.delete(&done.receipt).await.unwrap();
    driver.send("a", "d2", "one").await;
    driver.send("a", "d3", "two").await;
    driver.schedule("rep-1", at, "three").await;
    driver.schedule("rep-2", at, "deleted too").await;
    driver.schedules().delete("rep-2").await.unwrap();
    driver.kill_and_restart().await;
    // The ids are still taken.
    driver.send("a", "d1", "deleted").await;
    driver.send("a", "d3", "two").await;
    assert_eq!(driver.drain().await, ["one", "two"]);
    driver.pass_fire(at).await;
    assert_eq!(driver.drain().await, ["three"]);
}

pub async fn what_the_wire_would_refuse_is_refused(driver: &dyn Driver) {
    let queues = driver.queues();
    let long = "x".repeat(129);
    for bad in [
        letter("", "d", "body"),
        letter("g", "", "body"),
        letter("g", "d", ""),
        letter(&long, "d", "body"),
        letter("g", &long, "body"),
        letter("with space", "d", "body"),
        letter("g", "é", "body"),
        letter("g", "d", "nul \u{0}"),
        letter("g", "d", &"x".repeat(1024 * 1024 + 1)),
    ] {
        assert!(
            queues.send(QUEUE, bad.clone()).await.is_err(),
            "{:?} {:?}",
            bad.group,
            bad.deduplication
        );
    }
    let at = driver.now() + MINUTE;
    for name in ["", "with space", "slash/ed", &"x".repeat(65)] {
        assert!(
            driver.schedules().create(schedule(name, at, "body")).await.is_err(),
            "{name:?}"
        );
    }
    let longest = "x".repeat(128);
    driver.send(&longest, &longest, "fits").await;
    driver.schedule(&"x".repeat(64), at, "fits too").await;
    assert_eq!(driver.drain().await, ["fits"]);
}
