//! The report: its text to the letter, and the names of its files.

use std::path::Path;
use std::time::Duration;

use super::{Attempt, HostReport, JobReport, Outcome, Place, Report, Times, Totals, path, to_json};

fn sample() -> Report {
    let attempt = |host: &str, outcome, reason: Option<&str>| Attempt {
        host: host.into(),
        outcome,
        reason: reason.map(String::from),
    };
    Report {
        totals: Totals {
            jobs: 2,
            remote: 1,
            local: 1,
            fallbacks: 1,
            bytes_sent: 12,
            bytes_received: 34,
            seconds: Duration::from_nanos(1_500_000_999),
            client_cpu_seconds: Duration::ZERO,
        },
        hosts: vec![HostReport { host: "a:3632".into(), jobs: 1, failures: 1, reasons: vec!["it \"broke\"".into()] }],
        icecream: None,
        jobs: vec![
            JobReport {
                module: "a b.o".into(),
                output: "x.1.o".into(),
                place: Some(Place::Remote("a:3632".into())),
                attempts: vec![attempt("a:3632", Outcome::Ok, None)],
                bytes_sent: 12,
                bytes_received: 34,
                times: Times { waiting: Duration::from_millis(250), ..Times::default() },
            },
            JobReport {
                module: "b.o".into(),
                output: "x.2.o".into(),
                place: Some(Place::Local),
                attempts: vec![attempt("a:3632", Outcome::Refused, Some("closed\nat once"))],
                bytes_sent: 0,
                bytes_received: 0,
                times: Times::default(),
            },
        ],
    }
}

#[test]
fn the_text_of_a_report() {
    let expected = r#"{
  "schema": "thinbridge-report/1",
  "totals": {
    "jobs": 2,
    "remote": 1,
    "local": 1,
    "fallbacks": 1,
    "bytes_sent": 12,
    "bytes_received": 34,
    "seconds": 1.5,
    "client_cpu_seconds": 0.0
  },
  "hosts": [
    {
      "host": "a:3632",
      "jobs": 1,
      "failures": 1,
      "reasons": [
        "it \"broke\""
      ]
    }
  ],
  "jobs": [
    {
      "module": "a b.o",
      "output": "x.1.o",
      "place": "remote",
      "host": "a:3632",
      "attempts": [
        {
          "host": "a:3632",
          "outcome": "ok",
          "reason": null
        }
      ],
      "bytes_sent": 12,
      "bytes_received": 34,
      "seconds": {
        "queued": 0.0,
        "sending": 0.0,
        "waiting": 0.25,
        "receiving": 0.0
      }
    },
    {
      "module": "b.o",
      "output": "x.2.o",
      "place": "local",
      "host": null,
      "attempts": [
        {
          "host": "a:3632",
          "outcome": "refused",
          "reason": "closed\nat once"
        }
      ],
      "bytes_sent": 0,
      "bytes_received": 0,
      "seconds": {
        "queued": 0.0,
        "sending": 0.0,
        "waiting": 0.0,
        "receiving": 0.0
      }
    }
  ]
}
"#;
    assert_eq!(to_json(&sample()), expected);
}

#[test]
fn the_longest_times_are_numbers_too() {
    let mut report = sample();
    report.totals.seconds = Duration::MAX;
    let value: serde_json::Value = serde_json::from_str(&to_json(&report)).unwrap();
    assert!(value["totals"]["seconds"].as_f64().is_some_and(f64::is_finite));
}

#[test]
fn a_job_without_object_has_no_place() {
    let mut report = sample();
    report.jobs.iter_mut().for_each(|job| job.place = None);
    let value: serde_json::Value = serde_json::from_str(&to_json(&report)).unwrap();
    assert_eq!(value["jobs"][0]["place"], serde_json::Value::Null);
    assert_eq!(value["jobs"][0]["host"], serde_json::Value::Null);
}

#[test]
fn an_empty_report_has_all_its_fields() {
    let value: serde_json::Value = serde_json::from_str(&to_json(&Report::default())).unwrap();
    assert_eq!(value["hosts"], serde_json::json!([]));
    assert_eq!(value["jobs"], serde_json::json!([]));
    assert_eq!(value["totals"]["jobs"], 0);
}

#[test]
fn names_of_reports() {
    let long = "é".repeat(150);
    let cut = "é".repeat(100);
    let long_name = format!("r/{cut}.7.json");
    let cases = [
        ("r.json", "bin/prog", "r.json"),
        ("r-{output}-{pid}.json", "bin/prog", "r-prog-7.json"),
        ("{pid}{pid}/{output}{output}", "prog", "77/progprog"),
        ("{output}.json", "../../etc/passwd", "passwd.json"),
        ("{output}.json", "a/..", "output.json"),
        ("{output}.json", ".", "output.json"),
        ("{output}.json", "", "output.json"),
        ("{output}.json", "/", "output.json"),
        ("{output}.json", "a/b/", "b.json"),
        ("{output}.json", "new\nline", "new_line.json"),
        ("{output}.json", "{pid}", "{pid}.json"),
        ("{unknown}{.json", "x", "{unknown}{.json"),
        ("r", "a/prog", "r/prog.7.json"),
        ("r/", "a/prog", "r/prog.7.json"),
        ("new/", "a/prog", "new/prog.7.json"),
        ("r", long.as_str(), long_name.as_str()),
        ("Büro {output}", "研究 (1)", "Büro 研究 (1)"),
    ];
    for (template, output, expected) in cases {
        let found = path(template, output, 7, |path| path == Path::new("r") || path == Path::new("r/"));
        assert_eq!(found, Path::new(expected), "{template} {output}");
    }
    // A folder that only the replaced name shows.
    assert_eq!(path("{output}", "d", 7, |path| path == Path::new("d")), Path::new("d/d.7.json"));
}
