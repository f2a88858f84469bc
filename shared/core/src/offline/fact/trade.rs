//! Occupations with their fields, and companies that many people name.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::offline::lexicon::word_set;
use crate::offline::token::tokens;

/// Fields with the occupations that surely belong to them.
const FIELDS: &[(&str, &str)] = &[
    (
        "health care",
        "nurse doctor physician surgeon dentist pharmacist paramedic midwife pediatrician paediatrician
        radiologist physiotherapist psychiatrist cardiologist anesthesiologist oncologist dermatologist",
    ),
    (
        "education",
        "teacher professor lecturer tutor kindergartener schoolteacher",
    ),
    ("software", "programmer devops"),
    ("law", "lawyer attorney solicitor barrister paralegal judge"),
    ("hospitality", "waiter waitress bartender barista chef sous-chef"),
    ("finance", "accountant auditor banker actuary bookkeeper"),
    ("journalism", "journalist reporter"),
    ("construction", "carpenter bricklayer plumber electrician roofer"),
    ("agriculture", "farmer rancher"),
];

word_set! {
    /// Further occupations, by their last word.
    OTHERS = "engineer developer designer architect manager director analyst consultant scientist researcher student
        writer author novelist poet editor translator interpreter librarian artist painter sculptor illustrator musician
        singer composer photographer filmmaker actor actress dancer choreographer mechanic welder machinist driver pilot
        firefighter soldier sailor officer detective guard secretary receptionist assistant administrator recruiter
        salesperson salesman saleswoman cashier clerk tailor baker butcher cook gardener florist hairdresser barber
        therapist psychologist counselor counsellor veterinarian vet biologist chemist physicist mathematician
        statistician economist historian philosopher archaeologist geologist astronomer technician coach trainer
        instructor entrepreneur founder freelancer contractor intern apprentice supervisor coordinator strategist
        marketer copywriter planner realtor broker trader investor programmer postdoc streamer blogger curator janitor
        cleaner nanny caregiver carer operator inspector surveyor lifeguard courier cto ceo cfo coo owner scrum-master
        sre sysadmin lead principal professor bookseller shopkeeper councillor plumber"
}

word_set! {
    /// Companies that are no places, for "moved to".
    COMPANIES = "adobe airbnb airbus alibaba amazon amd anthropic apple arm asml atlassian aws baidu bbc bloomberg boeing
        bosch bytedance cisco citi cloudflare coinbase databricks datadog dell deloitte disney docker dropbox ebay
        ericsson expedia facebook figma ford github gitlab google hashicorp honeywell hp huawei ibm ikea infosys intel
        intuit jpmorgan kpmg linkedin lockheed lyft mastercard mckinsey meta microsoft mongodb mozilla nasa netflix nike
        nokia nvidia openai oracle palantir paypal philips pinterest pixar pwc qualcomm reddit redhat roche salesforce
        samsung sap shell shopify siemens slack snap snowflake sony spacex spotify square starbucks stripe tesla tiktok
        toyota twilio twitter uber unilever vercel visa vmware volkswagen walmart wayfair wipro xerox yahoo zalando zoom"
}

word_set! {
    /// Last words of names that only organisations have.
    ORGANISATION = "ag bank capital co corp corporation consulting department gmbh group hospital inc industries labs
        laboratories llc ltd media motors partners pharma plc robotics software solutions studio studios systems tech
        technologies ventures clinic agency startup therapeutics analytics energy airlines"
}

static FIELD: LazyLock<HashMap<&'static str, &'static str>> = LazyLock::new(|| {
    FIELDS
        .iter()
        .flat_map(|(field, jobs)| jobs.split_whitespace().map(|job| (job, *field)))
        .collect()
});

/// Whether the phrase ends in an occupation: "senior software engineer".
pub(in crate::offline) fn is_occupation(phrase: &str) -> bool {
    let found = tokens(phrase);
    found
        .last()
        .is_some_and(|t| OTHERS.contains(t.lower.as_str()) || FIELD.contains_key(t.lower.as_str()))
        && !found.first().is_some_and(|t| {
            matches!(
                t.lower.as_str(),
                "good"
                    | "great"
                    | "bad"
                    | "terrible"
                    | "former"
                    | "retired"
                    | "aspiring"
                    | "huge"
                    | "big"
                    | "slow"
                    | "fast"
                    | "better"
                    | "future"
                    | "hobby"
                    | "amateur"
                    | "lifelong"
                    | "dog"
                    | "car"
                    | "pet"
                    | "proud"
                    | "frequent"
            )
        })
}

/// The field in which somebody of that occupation surely works.
pub(in crate::offline) fn field_of(phrase: &str) -> Option<&'static str> {
    let found = tokens(phrase);
    let last = found.last()?.lower.as_str();
    let software = matches!(last, "engineer" | "developer")
        && found.iter().any(|t| {
            matches!(
                t.lower.as_str(),
                "software" | "backend" | "frontend" | "web" | "full-stack"
            )
        });
    if software {
        Some("software")
    } else {
        FIELD.get(last).copied()
    }
}

/// Whether the name is a company's: one that is known, or by its last word.
pub(in crate::offline) fn is_company(name: &str) -> bool {
    let found = tokens(name);
    let first = found.first().map_or("", |t| t.lower.as_str());
    let last = found.last().map_or("", |t| t.lower.as_str());
    (found.len() == 1 && COMPANIES.contains(first))
        || (found.len() > 1 && ORGANISATION.contains(last))
        || (found.len() <= 2 && COMPANIES.contains(first))
}
