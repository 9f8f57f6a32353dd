//! What a user relies on besides the objects: the job description and its faults, settings, words, signals, the report,
//! local slots, side files, the installed program.

#[path = "contract/dropped.rs"]
mod dropped;
#[path = "contract/finding.rs"]
mod finding;
#[path = "contract/gate.rs"]
mod gate;
#[path = "contract/hosts.rs"]
mod hosts;
#[path = "contract/inputs.rs"]
mod inputs;
#[path = "contract/install.rs"]
mod install;
#[path = "contract/job_description.rs"]
mod job_description;
#[path = "contract/jobs.rs"]
mod jobs;
#[path = "contract/outputs.rs"]
mod outputs;
#[path = "contract/report.rs"]
mod report;
#[path = "contract/settings.rs"]
mod settings;
#[path = "contract/side_files.rs"]
mod side_files;
#[path = "contract/signals.rs"]
mod signals;
#[path = "contract/slots.rs"]
mod slots;
#[path = "contract/ssh.rs"]
mod ssh;
mod support;
#[path = "contract/words.rs"]
mod words;
