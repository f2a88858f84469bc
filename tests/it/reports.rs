//! What broke for people who run memory systems, one test per report: the whole kind of each fault, not the one input.
//! Reports 12 and 24 are with the timing and the verdicts they are about.
