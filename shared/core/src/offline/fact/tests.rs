use super::*;

fn one(content: &str) -> Option<(Slot, String, Kind)> {
    let facts = read("maya", content);
    assert!(facts.len() <= 3, "{content}: {facts:?}");
    facts.into_iter().next().map(|f| (f.slot, f.value, f.kind))
}

#[test]
fn statements_fill_their_slots() {
    for (content, slot, value, kind) in [
        (
            "maya works at Intel as an engineer.",
            Slot::Employer,
            "Intel",
            Kind::State,
        ),
        (
            "maya now works at Qualcomm (formerly Intel).",
            Slot::Employer,
            "Qualcomm",
            Kind::Change,
        ),
        ("maya moved to Qualcomm.", Slot::Home, "Qualcomm", Kind::Change),
        (
            "maya is a nurse at Mercy Hospital.",
            Slot::Employer,
            "Mercy Hospital",
            Kind::State,
        ),
        ("maya no longer works at Intel.", Slot::Employer, "Intel", Kind::End),
        (
            "maya lives in Lisbon with their cat.",
            Slot::Home,
            "Lisbon",
            Kind::State,
        ),
        (
            "Last week (week of 2024-01-01) maya moved to Oslo.",
            Slot::Home,
            "Oslo",
            Kind::Change,
        ),
        (
            "maya recently moved from Lima to Cusco.",
            Slot::Home,
            "Cusco",
            Kind::Change,
        ),
        (
            "maya lives at 42 Birch Street in Portland.",
            Slot::Address,
            "42 Birch Street in Portland",
            Kind::State,
        ),
        (
            "maya is a software engineer.",
            Slot::Job,
            "software engineer",
            Kind::State,
        ),
        ("maya became a teacher.", Slot::Job, "teacher", Kind::Change),
        ("maya is married.", Slot::Status, "married", Kind::State),
        (
            "maya got engaged last month (2024-01).",
            Slot::Status,
            "engaged",
            Kind::Change,
        ),
        ("maya's husband is called Tom.", Slot::Partner, "Tom", Kind::State),
        ("maya is 31 years old.", Slot::Age, "31", Kind::State),
        ("maya just turned 32.", Slot::Age, "32", Kind::Change),
        ("maya's name is Maya Lopez.", Slot::Name, "Maya Lopez", Kind::State),
        (
            "maya is studying biology at Stanford.",
            Slot::School,
            "Stanford",
            Kind::State,
        ),
        (
            "maya's favorite color is teal.",
            Slot::Favourite("colour".into()),
            "teal",
            Kind::State,
        ),
        ("maya is vegan.", Slot::Diet, "vegan", Kind::State),
        ("maya went vegan.", Slot::Diet, "vegan", Kind::Change),
        (
            "maya: The Q3 report is due on August 15th.",
            Slot::Due("q3 report".into()),
            "August 15th",
            Kind::State,
        ),
        (
            "maya: The Q3 report deadline was pushed back to September 1st.",
            Slot::Due("q3 report".into()),
            "September 1st",
            Kind::Change,
        ),
        (
            "maya's meeting with the design team is at 2pm on Friday.",
            Slot::Meeting("design".into()),
            "2pm on Friday",
            Kind::State,
        ),
        (
            "maya: The design team meeting moved to 3pm on Friday.",
            Slot::Meeting("design".into()),
            "3pm on Friday",
            Kind::Change,
        ),
        (
            "maya: Priya is the lead on the payments team.",
            Slot::Lead("payment".into()),
            "Priya",
            Kind::State,
        ),
        (
            "maya's phone number is 555-0123.",
            Slot::Phone(String::new()),
            "555-0123",
            Kind::State,
        ),
        (
            "maya's work email is m@x.org.",
            Slot::Email("work".into()),
            "m@x.org",
            Kind::State,
        ),
    ] {
        assert_eq!(one(content), Some((slot, value.into(), kind)), "{content}");
    }
}

#[test]
fn what_only_looks_like_a_fact_fills_no_slot() {
    for content in [
        "maya works at night.",
        "maya works at home.",
        "maya works for a bank.",
        "maya is a mess.",
        "maya is a good cook.",
        "maya is 5 minutes late.",
        "maya is engaged in a lawsuit.",
        "maya is single-minded.",
        "maya used to work at Intel.",
        "maya wants to live in Oslo.",
        "maya is moving to Oslo next month (2024-03).",
        "maya does not live with Tom.",
        "maya's sister lives in Rome.",
        "Alice works at Acme.",
        "maya's wife loves Rome.",
        "maya left Friday.",
        "When they were a kid maya lived in Rome.",
        "maya: It is due on Friday.",
        "maya has lived through a lot.",
        "maya's favourite is when it rains.",
    ] {
        assert_eq!(one(content), None, "{content}");
    }
}

#[test]
fn a_restated_fact_reads_back_to_itself() {
    for (old, new) in [
        ("maya works at Intel.", "maya joined Qualcomm as an engineer."),
        ("maya lives in Lisbon.", "maya moved to Oslo."),
        ("maya is a nurse.", "maya became a teacher."),
        ("maya is engaged.", "maya got married."),
        ("maya is 31 years old.", "maya turned 32."),
        ("maya's wife is Ana.", "maya is engaged to Bea."),
        ("maya's favourite food is sushi.", "maya's favourite food is ramen."),
        ("maya studies at MIT.", "maya transferred to Stanford."),
        ("maya's major is history.", "maya switched their major to physics."),
        ("maya is vegan.", "maya became vegetarian."),
        ("maya's manager is Ana.", "maya's new manager is Bo."),
        (
            "maya's phone number is 555-0123.",
            "maya's new phone number is 555-0199.",
        ),
        ("maya's work email is a@x.org.", "maya's work email is b@x.org."),
        (
            "maya lives at 42 Birch Street.",
            "maya's new address is 118 Cedar Avenue.",
        ),
        (
            "maya: The Q3 report is due on May 2.",
            "maya: The Q3 report deadline moved to May 9.",
        ),
        (
            "maya: The design meeting is at 2pm.",
            "maya: The design meeting moved to 3pm.",
        ),
        (
            "maya: Priya is the lead of the payments team.",
            "maya: Sam is now the lead of the payments team.",
        ),
        ("maya's name is Maya Lopez.", "maya's name is Ines Costa."),
    ] {
        let (old, new) = (read("maya", old), read("maya", new));
        let old = &old[0];
        let new = new
            .iter()
            .find(|f| f.slot == old.slot)
            .unwrap_or_else(|| panic!("{old:?} {new:?}"));
        let text = restate("maya", new, old);
        let again = read("maya", &text);
        let again = again
            .iter()
            .find(|f| f.slot == new.slot)
            .unwrap_or_else(|| panic!("{text}: {again:?}"));
        assert_eq!(
            (&again.norm, again.kind, again.whole),
            (&new.norm, Kind::Change, true),
            "{text}"
        );
        assert_eq!(clash(old, again), Clash::Yes, "{text}");
    }
}
