//! The table of slots: which phrases fill which.

use std::sync::LazyLock;

use super::pattern::{Captures, Pattern};
use super::{Kind, Slot, Who};
use crate::offline::token::Token;

/// One row of the table.
pub(super) struct Rule {
    who: Who,
    name: &'static str,
    /// The value where the phrase itself says it: "started seeing someone" is dating.
    pub(super) constant: Option<&'static str>,
    /// What the phrase does to the slot.
    pub(super) kind: Kind,
    /// Whether it is "moved to", which may mean a home or a job.
    pub(super) moves: bool,
    pattern: Pattern,
    stop: &'static [&'static str],
}

impl Rule {
    /// The slot, with what it is about.
    pub(super) fn slot(&self, about: Option<String>) -> Option<Slot> {
        Some(match self.name {
            "home" => Slot::Home,
            "address" => Slot::Address,
            "employer" => Slot::Employer,
            "job" => Slot::Job,
            "status" => Slot::Status,
            "partner" => Slot::Partner,
            "age" => Slot::Age,
            "name" => Slot::Name,
            "school" => Slot::School,
            "major" => Slot::Major,
            "diet" => Slot::Diet,
            "manager" => Slot::Manager,
            "phone" => Slot::Phone(about.unwrap_or_default()),
            "email" => Slot::Email(about.unwrap_or_default()),
            "favourite" => Slot::Favourite(about?),
            "due" => Slot::Due(about?),
            "meeting" => Slot::Meeting(about?),
            "lead" => Slot::Lead(about?),
            "kinage" => Slot::KinAge(about?),
            _ => return None,
        })
    }
}

/// Words at which a name of a company, a school or a place ends.
const NAME_STOP: &[&str] = &[
    "as",
    "in",
    "on",
    "since",
    "for",
    "with",
    "and",
    "but",
    "because",
    "where",
    "which",
    "who",
    "when",
    "while",
    "to",
    "from",
    "near",
    "at",
    "so",
    "after",
    "before",
    "last",
    "this",
    "next",
    "a",
    "an",
    "until",
    "though",
    "again",
    "anymore",
    "now",
    "too",
    "yesterday",
    "today",
    "about",
    "is",
    "was",
    "that",
    "these",
    "over",
    "by",
    "full-time",
    "part-time",
    "currently",
    "recently",
    "nowadays",
    "if",
    "or",
    "during",
    "instead",
    "right",
    "my",
    "their",
];
/// Words at which an occupation ends.
const JOB_STOP: &[&str] = &[
    "at",
    "for",
    "in",
    "with",
    "and",
    "but",
    "who",
    "which",
    "since",
    "on",
    "because",
    "from",
    "by",
    "so",
    "to",
    "that",
    "when",
    "where",
    "now",
    "too",
    "or",
    "of",
    "while",
    "as",
    "until",
    "after",
    "before",
    "last",
    "again",
    "anymore",
    "these",
    "this",
    "nowadays",
    "yesterday",
    "today",
];
/// Words at which a day, a time or another value ends.
const VALUE_STOP: &[&str] = &[
    "and", "but", "because", "so", "since", "which", "with", "after", "before", "when", "as", "now", "instead", "who",
    "anymore", "though", "that", "if", "or", "for", "from", "due", "these", "this", "nowadays", "until",
];

/// Words at which an address or a town ends.
const LINE_STOP: &[&str] = &["and", "but", "since", "with", "near"];

/// The rows: whose the subject is, the slot, what the phrase does, where its value ends, and the phrase.
const TABLE: &str = "
    peer home state name: lives|live|resides|reside in|near? the? <v>
    peer home state name: is|are living in the? <v>
    peer home state name: is|are based in <v>
    peer home state name: has lived|been living in <v>
    peer home change name: has? relocated to <v>
    peer home change name: has? moved back? from <f> to <v>
    peer home change name: has? moved back? to <v>
    peer home change name: has? moved into|in <v>
    peer home change name: has? settled in <v>
    peer home change name: calls|call <v> home
    peer home state name: lives|live in a|an|the <k> in <v>
    peer home end name: no longer lives|live in <v>
    peer home end name: does not live in <v>
    peer home end name: moved out of <v>
    owned home state name: home is in <v>
    owned home state name: home is <v>
    owned home change name: new home is in <v>
    owned home state line: home town|city? is <v>
    peer address state line: lives|live at <v>
    owned address state line: home|postal? address is <v>
    owned address change line: new address is <v>
    peer employer state name: works|work full-time? at|for <v>
    peer employer state name: works|work as a|an|the <k> at|for <v>
    peer employer state name: is|are working at|for <v>
    peer employer state name: works|work for|at a|an <k> called|named <v>
    peer employer state name: has a|an|the job at|with <v>
    peer employer state name: is|are working as a|an <k> at|for <v>
    peer employer state name: is|are employed at|by|with <v>
    peer employer state name: has been working|employed at|for|by <v>
    peer employer state name: has worked at|for <v>
    peer employer state name: is a|an <j> at|with <v>
    peer employer change name: has? started working|work at|for|with <v>
    peer employer change name: has? started as a|an <k> at|with <v>
    peer employer change name: has? started a|an|my|their new? job|position|role at|with <v>
    peer employer change name: has? started at|with <v>
    peer employer change job: has? joined <v> as a|an|the|their <k>
    peer employer change name: has? got|gotten|took|taken|accepted|landed|found a|an|the new? job|position|role|offer at|with|from <v>
    peer employer change name: has a new job at|with <v>
    peer employer change name: was|got hired by|at <v>
    peer employer change name: has? changed|switched jobs|companies to|from? <v>
    peer employer end name: no longer works|work at|for <v>
    peer employer end name: does not work at|for <v> anymore
    peer employer end name: has? stopped working at|for <v>
    peer employer end name: has? left my|their job at <v>
    peer employer end name: has? quit my|their job at <v>
    peer employer end name: has? resigned from <v>
    peer employer end name: has? left|quit <v>
    peer employer end name: was|got fired|laid off? from|by <v>
    owned employer state name: employer|company|workplace is <v>
    owned employer change name: new employer|company|workplace is <v>
    owned employer change name: new job is at|with <v>
    owned employer state name: job is at|with <v>
    peer job state job: works|work at|for|with <k> as a|an|the <v>
    peer job state job: is working at|for|with <k> as a|an|the <v>
    peer job change job: has? joined <k> as a|an|the|their <v>
    peer job change job: has? started at|with <k> as a|an|the <v>
    peer job state job: works|work as a|an|the <v>
    peer job state job: is|are working as a|an <v>
    peer job state job: is a|an <v>
    peer job change job: has? became|become a|an <v>
    peer job change job: has? started working|work? as a|an <v>
    peer job change job: was|got promoted to <v>
    peer job change job: has a new job as a|an <v>
    peer job end job: no longer works as a|an <v>
    owned job state job: job|occupation|profession is a|an? <v>
    peer school state name: studies|study at <v>
    peer school state name: is studying at <v>
    peer school state name: is studying <k> at <v>
    peer school state name: studies <k> at <v>
    peer school state name: goes|go to <v>
    peer school state name: attends|attend <v>
    peer school state name: is a student at <v>
    peer school change name: has? transferred to <v>
    peer school change name: has? enrolled at|in <v>
    peer school end name: dropped out of <v>
    peer school end name: graduated from <v>
    peer major state name: is majoring in <v>
    peer major state name: majors in <v>
    owned major state name: major is <v>
    peer major change name: has? switched|changed my|their? major to <v>
    owned manager state name: boss|manager|supervisor is <v>
    owned manager state name: team lead|leader is <v>
    owned manager change name: new boss|manager|supervisor is <v>
    peer manager state name: reports to <v>
    owned name state name: full? name is <v>
    peer name state name: is called|named <v>
    peer age state value: is <v> years old
    peer age change value: has? turned <v>
    peer age state value: is <v>
    owned age state value: age is <v>
    owned kinage state value: <k> is <v>
    owned kinage change value: <k> has? turned <v>
    owned phone state value: phone|telephone|cell|mobile number? is <v>
    owned phone state value: number is <v>
    owned phone change value: new number is <v>
    owned phone change value: new phone|telephone|cell|mobile number? is <v>
    owned phone state value: <k> phone|telephone number is <v>
    owned email state value: email|e-mail address? is <v>
    owned email change value: new email|e-mail address? is <v>
    owned email state value: <k> email|e-mail address? is <v>
    owned favourite state value: favourite|favorite <k> is|are <v>
    owned favourite change value: new favourite|favorite <k> is|are <v>
    world due state value: <k> is due on|by|at? <v>
    world due state value: the deadline for|of <k> is <v>
    world due state value: <k> deadline is on? <v>
    world due state value: <k> due date is <v>
    world due change value: <k> deadline|date has|was|got? been? moved|changed|pushed|extended|postponed|brought back|forward? to <v>
    owned due state value: <k> is due on|by|at? <v>
    owned due state value: deadline for <k> is <v>
    owned due state value: <k> deadline is on? <v>
    owned due change value: <k> deadline has|was|got? been? moved|changed|pushed|extended|postponed|brought back|forward? to <v>
    owned due change value: deadline for <k> has|was|got? been? moved|changed|pushed|extended|postponed|brought back|forward? to <v>
    world meeting state value: <k> is|starts at|on? <v>
    world meeting change value: <k> has|was|got|is? been? moved|rescheduled|pushed|changed|postponed back|forward? to <v>
    owned meeting state value: meeting|standup|interview|appointment|call with <k> is at|on <v>
    owned meeting state value: <k> is|meets|starts at|on? <v>
    owned meeting change value: meeting|standup|interview|appointment|call with <k> has|was|got? been? moved|rescheduled|pushed|changed|postponed back|forward? to <v>
    owned meeting change value: <k> has|was|got|is? been? moved|rescheduled|pushed|changed|postponed back|forward? to <v>
    world lead state value: <v> is the lead|leader|head on|of|for the? <k> team
    world lead state value: <v> leads the <k> team
    world lead state value: the? <k> team is led by <v>
    peer status state name: is <v>
    peer status change name: has? got|gotten|became|become <v>
    peer status=dating state name: is dating|seeing someone|somebody
    peer status=dating state name: is dating <k>
    peer status=single change name: has? broke|broken|split up
    peer status=married change name: has? tied the knot
    owned status=divorced change name: divorce is|was|came final|finalised|finalized|through
    peer status=dating change name: has? started dating|seeing someone|somebody
    peer status=single state name: is not dating|seeing anyone|anybody
    peer status end name: is no longer <v>
    peer status end name: is not <v> anymore
    peer status state name: is happily|newly|recently <v>
    owned status state name: marital|relationship status is <v>
    peer diet state name: is a|an? <v>
    peer diet change name: has? went|gone|became|become|turned a|an|fully|completely|all? <v>
    peer diet end name: is no longer a|an? <v>
    peer diet end name: is not a|an? <v> anymore
    peer partner state name: is married|engaged to <v>
    peer partner change name: has? got|gotten married|engaged to <v>
    peer partner change name: has? married <v>
    peer partner state name: is dating <v>
    owned partner state name: <k> is called|named? <v>
    owned partner change name: new <k> is called|named? <v>
    owned partner state name: <k> is called|named <v>
    owned partner state name: <k> <v>
";

static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| TABLE.lines().filter_map(row).collect());

fn row(line: &'static str) -> Option<Rule> {
    let (head, pattern) = line.trim().split_once(": ")?;
    let mut head = head.split(' ');
    let who = match head.next()? {
        "peer" => Who::Peer,
        "owned" => Who::Owned,
        _ => Who::World,
    };
    let name = head.next()?;
    let (name, constant) = name
        .split_once('=')
        .map_or((name, None), |(name, value)| (name, Some(value)));
    let kind = match head.next()? {
        "change" => Kind::Change,
        "end" => Kind::End,
        _ => Kind::State,
    };
    let stop = match head.next()? {
        "name" => NAME_STOP,
        "job" => JOB_STOP,
        "value" => VALUE_STOP,
        _ => LINE_STOP,
    };
    Some(Rule {
        who,
        name,
        constant,
        kind,
        // "moved to" decides between home and job by its value.
        moves: name == "home" && pattern.contains("moved") && pattern.ends_with("to <v>"),
        pattern: Pattern::new(pattern),
        stop,
    })
}

/// The rules that match the words, with what they took.
pub(super) fn matching(who: Who, found: &[Token<'_>]) -> Vec<(&'static Rule, Captures)> {
    RULES
        .iter()
        .filter(|rule| rule.who == who)
        .filter_map(|rule| rule.pattern.matches(found, rule.stop).map(|captures| (rule, captures)))
        .collect()
}
