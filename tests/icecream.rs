//! Links through a stock icecream cluster: a scheduler and `iceccd`s in network namespaces of their own.

mod support;

#[allow(dead_code)] // written for the faults of distcc
#[path = "faults/bench.rs"]
mod bench;
#[path = "icecream/crowds.rs"]
mod crowds;
#[path = "icecream/damage.rs"]
mod damage;
#[path = "icecream/environments.rs"]
mod environments;
#[path = "icecream/ground.rs"]
mod ground;
#[path = "icecream/holder.rs"]
mod holder;
#[path = "icecream/lost.rs"]
mod lost;
#[path = "icecream/manners.rs"]
mod manners;
#[path = "icecream/nobody.rs"]
mod nobody;
#[path = "icecream/schedulers.rs"]
mod schedulers;
#[path = "icecream/servers.rs"]
mod servers;
#[path = "icecream/sharing.rs"]
mod sharing;
#[path = "icecream/through.rs"]
mod through;
#[path = "icecream/transfers.rs"]
mod transfers;
#[path = "icecream/trial.rs"]
mod trial;
#[path = "icecream/versions.rs"]
mod versions;
#[path = "icecream/ways.rs"]
mod ways;
