//! Shell scripts stand in for ssh.

use tokio::io::AsyncReadExt;
use tokio::sync::Semaphore;

use super::super::Transport;
use super::*;

/// Far above what a loaded machine needs: it only keeps a broken test from hanging.
const LONG: Duration = Duration::from_secs(60);

fn start(script: &str, endings: &Arc<Endings>) -> Ssh {
    let program = ["/bin/sh", "-c", script].map(str::to_owned);
    let address = SshAddress { user: None, host: "far".to_owned(), command: "distccd".to_owned() };
    let room = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
    Ssh::start(&program, &address, room, endings).unwrap()
}

/// What the script answers, and its last words.
async fn talk(script: &str) -> (String, Option<String>) {
    let mut transport = Transport::Ssh(Box::new(start(script, &Arc::default())));
    let mut answer = String::new();
    timeout(LONG, transport.read_to_string(&mut answer)).await.expect("it is not stuck").unwrap();
    (answer, transport.last_words(LONG).await)
}

#[tokio::test]
async fn more_words_than_a_pipe_holds_do_not_stop_it() {
    let (answer, _) = talk("head -c 200000 /dev/zero | tr '\\0' x >&2; echo the answer").await;
    assert_eq!(answer, "the answer\n");
}

#[tokio::test]
async fn the_last_words_of_a_failed_ssh_are_the_reason() {
    let script = "echo first >&2; head -c 200000 /dev/zero | tr '\\0' x >&2; echo >&2; echo 'No route.' >&2; exit 255";
    assert_eq!(talk(script).await, (String::new(), Some("No route.".to_owned())));
    assert_eq!(talk("kill -9 $$").await.1, None, "it said nothing");
}

#[tokio::test]
async fn a_warning_is_no_reason() {
    assert_eq!(talk("echo 'Warning: added far to the known hosts.' >&2").await.1, None);
}

#[tokio::test]
async fn after_the_answer_it_ends_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("ended");
    let endings = Arc::default();
    // It notices the end of its input, and says goodbye before it ends.
    let mut ssh = start(&format!("cat >/dev/null; echo goodbye >&2; : >'{}'", mark.display()), &endings);
    ssh.answered();
    drop(ssh);
    endings.wait().await;
    assert!(mark.exists());
}

#[tokio::test]
async fn one_that_does_not_end_is_killed_with_its_children() {
    let endings = Arc::default();
    let mut ssh = start("sleep 1000 & echo $!; wait", &endings);
    let mut number = [0; 16];
    let length = timeout(LONG, ssh.stream.read(&mut number)).await.unwrap().unwrap();
    let number = String::from_utf8_lossy(&number[..length]).trim().to_owned();
    drop(ssh);
    endings.wait().await;
    // It dies a moment after its parent, and may stay as a zombie, without a command line, until init takes note of it.
    let lives = || std::fs::read(format!("/proc/{number}/cmdline")).is_ok_and(|command| !command.is_empty());
    let gone = async {
        while lives() {
            tokio::task::yield_now().await;
        }
    };
    timeout(LONG, gone).await.expect("the child is killed too");
}
