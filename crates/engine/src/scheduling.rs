//! How a loop's thread shares CPUs with a server on the same machine.

/// With this many connections on a loop there is always another answer to come, so the loop may wait its turn.
/// With few, waiting behind the server, or behind anything else that computes, would be measured as latency.
pub const MANY: usize = 16;

/// Asks the scheduler to run this thread in batches (SCHED_BATCH, sched(7)): when an answer wakes it, it does
/// not preempt the server's thread that sent the answer, but runs when that one waits. It then finds several
/// answers at once, which costs both sides fewer context switches. On a machine of its own it changes nothing.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
pub fn do_not_preempt() {
    // What the kernel calls sched_param. The system call itself, for musl has no sched_setscheduler.
    let priority: libc::c_int = 0;
    // SAFETY: the priority lives through the call, and 0 means the calling thread. Any thread may choose this policy;
    // where a sandbox forbids it, the loop runs as it would have.
    let _ = unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_BATCH, &raw const priority) };
}

#[cfg(not(target_os = "linux"))]
pub fn do_not_preempt() {}
