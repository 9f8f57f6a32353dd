use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::sync::mpsc;

use super::*;

fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn locked(folder: &Path, name: &str) -> File {
    let file = open(&folder.join(name)).unwrap();
    file.try_lock().unwrap();
    file
}

#[test]
fn a_slot_is_held_by_one_and_free_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let slots = Slots::new(Some(folder.path().to_owned()), 1);
    let held = slots.take();
    let (sender, taken) = mpsc::channel();
    let waiter = slots.clone();
    let thread = thread::spawn(move || {
        let slot = waiter.take();
        sender.send(()).unwrap();
        slot
    });
    let lock = open(&folder.path().join("0")).unwrap();
    assert!(matches!(lock.try_lock(), Err(TryLockError::WouldBlock)));
    assert!(taken.try_recv().is_err());
    drop(held);
    taken.recv().unwrap();
    drop(thread.join().unwrap());
    lock.try_lock().unwrap();
}

#[test]
fn a_stopped_holder_of_the_turn_stops_nobody() {
    let folder = tempfile::tempdir().unwrap();
    // A stopped process keeps its lock and gives no sign of life.
    let _turn = locked(folder.path(), "turn-2");
    let slots = Slots::new(Some(folder.path().to_owned()), 2);
    let held = [slots.take(), slots.take()];
    for name in ["0", "1"] {
        let lock = open(&folder.path().join(name)).unwrap();
        assert!(matches!(lock.try_lock(), Err(TryLockError::WouldBlock)), "slot {name} was granted unlocked");
    }
    drop(held);
}

#[test]
fn a_link_with_fewer_slots_keeps_none_from_one_with_more() {
    let folder = tempfile::tempdir().unwrap();
    let slots = |count| Slots::new(Some(folder.path().to_owned()), count);
    // The larger link leaves the slot that the smaller one can use.
    let larger = slots(2).take();
    let smaller = slots(1).take();
    drop(larger);
    // The smaller link waits, and holds its turn.
    let _turn = locked(folder.path(), "turn-1");
    drop(slots(2).take());
    drop(smaller);
}

#[test]
fn no_number_of_slots_is_none_or_beyond_the_cap() {
    assert_eq!(Slots::new(None, 0).count, 1);
    assert_eq!(Slots::new(None, 65_535).count, MAX_COUNT);
}

#[test]
fn a_folder_of_somebody_else_is_refused() {
    let base = tempfile::tempdir().unwrap();
    let folder = base.path().join("slots");
    assert!(own_folder(&folder, user()).is_ok());
    assert!(own_folder(&folder, user() + 1).is_err());
}

#[test]
fn a_link_in_place_of_the_folder_is_refused() {
    let base = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(base.path(), base.path().join("slots")).unwrap();
    assert!(own_folder(&base.path().join("slots"), user()).is_err());
}

#[test]
fn nothing_is_made_in_a_runtime_folder_that_others_can_write_or_own() {
    let base = tempfile::tempdir().unwrap();
    assert_eq!(folder(Some(base.path())).unwrap(), base.path().join("thinbridge/slots"));
    let open_to_all = tempfile::tempdir().unwrap();
    fs::set_permissions(open_to_all.path(), Permissions::from_mode(0o777)).unwrap();
    let foreign = tempfile::tempdir().unwrap();
    let bases = match std::os::unix::fs::chown(foreign.path(), Some(user() + 1), None) {
        Ok(()) => vec![&open_to_all, &foreign],
        Err(_) => vec![&open_to_all],
    };
    for base in bases {
        assert!(!folder(Some(base.path())).unwrap().starts_with(base.path()));
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
    }
}
