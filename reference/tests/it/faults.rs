//! Faults that no setting of the system can cause: system calls of one thread that fail.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Folder, Server, connect, head};

/// Makes calls fail while the file of that name exists: `fail-sync`, a disk that does not confirm a sync;
/// `fail-clock`, a clock that the thread `store-writer` cannot read, at which Rust panics.
const FAULTS: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static int wanted(const char *fault) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", getenv("FAULTS"), fault);
    return access(path, F_OK) == 0;
}
static int sync_with(long call, int fd) {
    if (wanted("fail-sync")) { errno = EIO; return -1; }
    return syscall(call, fd);
}
int fsync(int fd) { return sync_with(SYS_fsync, fd); }
int fdatasync(int fd) { return sync_with(SYS_fdatasync, fd); }
int clock_gettime(clockid_t clock, struct timespec *time) {
    char name[16] = "";
    if (clock == CLOCK_MONOTONIC && wanted("fail-clock")
        && pthread_getname_np(pthread_self(), name, sizeof name) == 0 && strcmp(name, "store-writer") == 0) {
        errno = EINVAL;
        return -1;
    }
    return syscall(SYS_clock_gettime, clock, time);
}
"#;

/// A folder whose files are the faults of a server that was started with it.
pub(crate) struct Faults {
    folder: PathBuf,
    library: PathBuf,
}

impl Faults {
    /// Compiles the library in a folder of its own inside this one.
    pub(crate) fn prepare(inside: &Path) -> Self {
        let folder = inside.join("faults");
        let (source, library) = (folder.join("faults.c"), folder.join("faults.so"));
        std::fs::create_dir(&folder).expect("a folder");
        std::fs::write(&source, FAULTS).expect("a file");
        // The compiler that has built SQLite.
        let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).status();
        assert!(built.expect("a C compiler").success());
        Self { folder, library }
    }

    /// Starts a server that has the faults that are wanted from now on.
    pub(crate) fn serve(&self, mut command: Command) -> Server {
        command.env("LD_PRELOAD", &self.library).env("FAULTS", &self.folder);
        Server::spawn(command)
    }

    pub(crate) fn begin(&self, fault: &str) {
        std::fs::write(self.folder.join(fault), "").expect("a file");
    }

    pub(crate) fn end(&self, fault: &str) {
        std::fs::remove_file(self.folder.join(fault)).expect("removed");
    }
}

#[test]
fn the_process_ends_with_a_message_when_the_thread_that_writes_does() {
    let folder = Folder::new();
    let key = folder.issue(&["enterprise"]);
    let faults = Faults::prepare(folder.path());
    let server = faults.serve(folder.command(&[]));
    let animal = server.post(&key, r#"{"name":"Rex","categoryId":1}"#);
    assert_eq!(animal.status, 201);
    faults.begin("fail-clock");
    faults.begin("fail-sync");
    // The thread ends when it waits after a commit that failed; the response to it may be cut off by the end of the process.
    let mut stream = connect(&server.address);
    let body = br#"{"name":"Bella","categoryId":1}"#;
    let request = head("POST", "/v1/pets", &key, Some(("application/json", body)));
    stream.write_all(&[request.as_bytes(), body].concat()).expect("sent");
    let (status, log) = server.wait();
    assert_eq!(status.code(), Some(1), "{log}");
    assert!(log.contains("panicked") && log.contains("the thread that writes the database ended"), "{log}");
    let animals = folder.serve(&[]).ask("GET", "/v1/pets", &key).body;
    assert!(animals.contains(&animal.body), "{animals}");
}
