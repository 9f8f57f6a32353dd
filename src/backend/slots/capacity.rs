//! How many compilers this machine bears.

use std::fs;
use std::path::Path;
use std::thread;

/// Memory that a backend compile may need. rocksdb's take 95 to 141 MB; debug information and templates take more.
const MEMORY_PER_JOB: u64 = 512 << 20;

/// Where the kernel's control groups are mounted, by convention of all distributions.
const CGROUPS: &str = "/sys/fs/cgroup";

/// How many compilers this machine bears: the processors this process may use (affinity and cgroup quota counted), fewer
/// when memory (the cgroup's too) is short. At least 1.
pub fn default_count() -> usize {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let by_memory = available_memory().map_or(usize::MAX, |bytes| (bytes / MEMORY_PER_JOB) as usize);
    processors.min(by_memory).max(1)
}

fn available_memory() -> Option<u64> {
    let system = fs::read_to_string("/proc/meminfo").ok().and_then(|text| meminfo_available(&text));
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let groups = Path::new(CGROUPS);
    let second = own.lines().find_map(|line| line.strip_prefix("0::/")).and_then(|path| VERSION_2.room(groups, path));
    let first = own.lines().find_map(memory_group).and_then(|path| VERSION_1.room(&groups.join("memory"), path));
    [system, first, second].into_iter().flatten().min()
}

fn meminfo_available(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The path, without the first `/`, in the version 1 hierarchy of the memory controller: of `4:cpu,memory:/a/b`, `a/b`.
fn memory_group(line: &str) -> Option<&str> {
    let mut fields = line.splitn(3, ':').skip(1);
    let controllers = fields.next()?;
    let path = fields.next()?.strip_prefix('/')?;
    controllers.split(',').any(|controller| controller == "memory").then_some(path)
}

/// The names that a version of the kernel's control groups has for a group's memory.
struct Names {
    limit: &'static str,
    used: &'static str,
    /// In `memory.stat`: the file cache that can go at any time, of the group and those below it.
    cache: &'static str,
}

const VERSION_1: Names =
    Names { limit: "memory.limit_in_bytes", used: "memory.usage_in_bytes", cache: "total_inactive_file" };

const VERSION_2: Names = Names { limit: "memory.max", used: "memory.current", cache: "inactive_file" };

impl Names {
    /// What the tightest group on the way from `path` up to the root leaves, file cache counted as free. In a container
    /// the lower ones may not be there, and the root is the container's own.
    fn room(&self, root: &Path, path: &str) -> Option<u64> {
        Path::new(path).ancestors().filter_map(|group| self.room_of(&root.join(group))).min()
    }

    fn room_of(&self, group: &Path) -> Option<u64> {
        let number = |name| fs::read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
        let limit = number(self.limit)?;
        let used = number(self.used)?;
        let cache = fs::read_to_string(group.join("memory.stat")).ok().and_then(|stat| self.cache(&stat));
        Some(limit.saturating_sub(used.saturating_sub(cache.unwrap_or(0))))
    }

    fn cache(&self, stat: &str) -> Option<u64> {
        let line = stat.lines().find_map(|line| line.strip_prefix(self.cache)?.strip_prefix(' '))?;
        line.trim().parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(folder: &Path, names: &Names, limit: &str, used: u64, cache: u64) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join(names.limit), format!("{limit}\n")).unwrap();
        fs::write(folder.join(names.used), format!("{used}\n")).unwrap();
        fs::write(folder.join("memory.stat"), format!("inactive_file {cache}\ntotal_inactive_file {cache}\n")).unwrap();
    }

    #[test]
    fn memory_is_read_from_the_kernel_s_words() {
        assert_eq!(meminfo_available("MemTotal: 9 kB\nMemAvailable:   2048 kB\n"), Some(2 << 20));
        assert_eq!(meminfo_available("MemTotal: 9 kB\n"), None);
        assert!(default_count() >= 1);
    }

    #[test]
    fn the_tightest_group_counts_in_both_versions() {
        for (names, unlimited) in [(VERSION_1, "9223372036854771712"), (VERSION_2, "max")] {
            let root = tempfile::tempdir().unwrap();
            group(&root.path().join("a/b"), &names, unlimited, 10, 0);
            group(&root.path().join("a"), &names, "1000", 700, 200);
            assert_eq!(names.room(root.path(), "a/b"), Some(500));
            // Inside a container its own path is not there.
            group(root.path(), &names, "90", 40, 0);
            assert_eq!(names.room(root.path(), "docker/1234"), Some(50));
            assert_eq!(names.room(&root.path().join("nowhere"), ""), None);
        }
    }

    #[test]
    fn the_group_of_version_1_is_that_of_the_memory_controller() {
        assert_eq!(memory_group("4:cpu,memory:/a:x/b"), Some("a:x/b"));
        assert_eq!(memory_group("4:memory:/"), Some(""));
        assert_eq!(memory_group("9:name=memory:/a"), None);
        assert_eq!(memory_group("0::/a"), None);
    }
}
