//! The process that started this one: the linker. Without it nobody wants the objects, and nobody would remove them.

use std::os::unix::process::parent_id;
use std::time::Duration;

use tokio::time::sleep;

/// Pause between two looks. The kernel's own ways to tell are worse: a signal at the parent's death comes when the thread
/// that started us ends, which need not be the linker's end.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// Waits until `parent`, the process that started this one, has ended, when another process becomes the parent.
pub(super) async fn ended(parent: u32) {
    while parent_id() == parent {
        sleep(LOOK_AGAIN).await;
    }
}
