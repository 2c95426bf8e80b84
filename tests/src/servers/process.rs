//! A server as a process of this one, which ends with it.

use std::fmt;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// A process that is killed when this value is dropped, and when this process ends in any way.
///
/// A shell stands between: it waits for the end of its input, which the operating system closes
/// with this process, and kills the server then. (Statics are never dropped, and a test may abort.)
pub(super) struct Guarded {
    shell: Child,
    pid: u32,
}

impl Guarded {
    /// Starts `command`, given as a program and its arguments.
    pub(super) fn start(command: &[String]) -> Self {
        let script = r#""$@" >/dev/null 2>&1 & pid=$!; echo $pid; cat >/dev/null; kill -CONT $pid 2>/dev/null; kill -KILL $pid 2>/dev/null; wait $pid"#;
        Self::shell(script, command)
    }

    /// Runs `command` when this process ends or the value is dropped.
    pub(super) fn at_the_end(command: &[String]) -> Self {
        Self::shell(r#"echo 0; cat >/dev/null; "$@" >/dev/null 2>&1"#, command)
    }

    fn shell(script: &str, command: &[String]) -> Self {
        let mut shell = Command::new("sh")
            .args(["-c", script, "sh"])
            .args(command)
            // What ends all processes of a test at once, such as Ctrl-C, leaves this one its work.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell");
        let mut line = String::new();
        let stdout = shell.stdout.take().expect("a pipe");
        let read = BufReader::new(stdout).read_line(&mut line);
        let pid = line.trim().parse();
        assert!(read.is_ok(), "the shell says nothing");
        Self { shell, pid: pid.expect("a process id") }
    }

    /// Sends the process a signal, such as `STOP`.
    pub(super) fn signal(&self, signal: &str) {
        let sent =
            Command::new("sh").args(["-c", &format!("kill -{signal} {}", self.pid)]).status();
        assert!(sent.is_ok_and(|status| status.success()), "kill -{signal}");
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        // It has no more to do than to kill one process.
        let _ = self.shell.wait();
    }
}

impl fmt::Debug for Guarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guarded").field("pid", &self.pid).finish()
    }
}
