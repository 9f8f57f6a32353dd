//! The beginning of a cluster's part in a link: its environment, and the search for a way in.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::task::spawn_blocking;

use super::drive::Icecream;
use crate::backend::icecream::{Archive, Cluster, Kit, LocalDaemon, Options, rating};
use crate::config::{Place, Settings};
use crate::environment::{self, Environment};
use crate::fleet::icecream::{Surroundings, local_daemon};
use crate::link::plan::Plan;
use crate::report::json::EnvironmentReport;
use crate::schedule::CostModel;

/// The environment's facts for the report, as soon as it is there.
pub(super) type Facts = Arc<OnceLock<EnvironmentReport>>;

/// A link of less work than this for each local slot does not make an environment: it would end before that is done, and
/// the next one would begin anew. Making one takes some two seconds beside the local jobs.
const LONG_ENOUGH: Duration = Duration::from_secs(5);

/// Why a cluster could do nothing for the link, if so: nothing may leave this machine, or the compiler has not been packed
/// for hosts yet and the link is too short for that. `local_slots`: how many jobs run here meanwhile.
pub(super) fn useless(plan: &Plan, local_slots: usize) -> Option<&'static str> {
    let jobs = plan.jobs.iter().filter(|job| job.stays.is_none());
    let (work, jobs) = (jobs.clone().map(|job| job.cost).sum(), jobs.count());
    let is_short = |slots| CostModel::first_guess(work, jobs) < LONG_ENOUGH * slots;
    let kept = || environment::kept(plan.description.compiler(), &environment::cache_folder());
    let too_short = || u32::try_from(local_slots).is_ok_and(is_short) && matches!(kept(), Ok(None));
    if jobs == 0 {
        return Some("no job may leave this machine");
    }
    too_short().then_some(
        "the compiler has not been packed for the cluster yet, and this link is too short for that (once: thinbridge \
         environment)",
    )
}

/// Begins to look for the cluster and, beside that, to make its environment. Needs a runtime; takes no time.
/// `turns`: where the links of this user take turns at a scheduler.
pub(super) fn start(settings: &Settings, plan: &Plan, turns: Option<PathBuf>, facts: &Facts) -> Icecream {
    let compiler = plan.description.compiler().to_vec();
    let facts = Arc::clone(facts);
    let environment = async move {
        let obtained = spawn_blocking(move || environment::obtain(&compiler, &environment::cache_folder()));
        let environment = obtained.await.map_err(|_| "the environment could not be made".to_owned())?;
        let environment = environment.map_err(|error| format!("there is no environment to send: {error}"))?;
        let _ = facts.set(report(&environment));
        kit(environment)
    };
    let cluster = Cluster::start(Options {
        settings: settings.icecream.clone(),
        around: Surroundings::of_process(),
        environment: Box::pin(environment),
        title: plan.description.linker_output.clone(),
        arg_flags: rating(plan),
        turns,
    });
    Icecream::new(cluster, daemon(&settings.icecream.place).map(LocalDaemon::new))
}

fn kit(environment: Environment) -> Result<Kit, String> {
    let archive = Arc::new(Archive::open(environment.archive)?);
    Ok(Kit { name: environment.name, archive, platform: environment.platform })
}

fn report(environment: &Environment) -> EnvironmentReport {
    EnvironmentReport {
        name: environment.name.clone(),
        packed_bytes: environment.packed,
        unpacked_bytes: environment.unpacked,
    }
}

/// The `iceccd` of this machine: other people's jobs run here through it, beside our local ones.
fn daemon(place: &Place) -> Option<PathBuf> {
    match place {
        Place::Daemon(socket) => Some(socket.clone()),
        _ => local_daemon(),
    }
}
