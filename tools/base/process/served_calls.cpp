// The system calls of a running server. tools/verbs/serve/test_confined.py traces servers with each
// driver and option, and compares: calls that are missing here fail, and so do those that nobody
// makes and that have no reason.
#include <sys/syscall.h>

#include <array>

#include "tools/base/process/privileges.hpp"

namespace lockstep::tools {
namespace {

#define LOCKSTEP_CALL(name) \
  NamedCall { #name, __NR_##name }

constexpr auto calls = std::to_array<NamedCall>({
    // Frames and events.
    LOCKSTEP_CALL(ppoll),
    LOCKSTEP_CALL(read),
    LOCKSTEP_CALL(write),
    LOCKSTEP_CALL(writev),
    LOCKSTEP_CALL(sendto),
    LOCKSTEP_CALL(sendmsg),
    LOCKSTEP_CALL(sendmmsg),
    LOCKSTEP_CALL(recvfrom),
    LOCKSTEP_CALL(recvmsg),
    LOCKSTEP_CALL(recvmmsg),
    LOCKSTEP_CALL(getsockopt),
    LOCKSTEP_CALL(setsockopt),
    LOCKSTEP_CALL(ioctl),
    LOCKSTEP_CALL(eventfd2),
    // The control socket; netlink for the gateway and the MTU.
    LOCKSTEP_CALL(accept4),
    LOCKSTEP_CALL(socket),
    LOCKSTEP_CALL(bind),
    LOCKSTEP_CALL(getsockname),
    // Time, memory, threads.
    LOCKSTEP_CALL(clock_gettime),
    LOCKSTEP_CALL(clock_nanosleep),
    LOCKSTEP_CALL(getrandom),
    LOCKSTEP_CALL(mmap),
    LOCKSTEP_CALL(munmap),
    LOCKSTEP_CALL(mremap),
    LOCKSTEP_CALL(mprotect),
    LOCKSTEP_CALL(madvise),
    LOCKSTEP_CALL(brk),
    LOCKSTEP_CALL(futex),
    LOCKSTEP_CALL(clone),
    LOCKSTEP_CALL(clone3),
    LOCKSTEP_CALL(set_robust_list),
    LOCKSTEP_CALL(rseq),
    LOCKSTEP_CALL(sched_setaffinity),
    LOCKSTEP_CALL(sched_getaffinity),
    LOCKSTEP_CALL(sched_yield),
    LOCKSTEP_CALL(getpid),
    LOCKSTEP_CALL(gettid),
    LOCKSTEP_CALL(exit),
    LOCKSTEP_CALL(exit_group),
    LOCKSTEP_CALL(restart_syscall),
    // Signals, also those of a failed CHECK.
    LOCKSTEP_CALL(rt_sigaction),
    LOCKSTEP_CALL(rt_sigprocmask),
    LOCKSTEP_CALL(rt_sigreturn),
    LOCKSTEP_CALL(tgkill),
    // Logs, journals, captures, the summary; /proc for metrics.
    LOCKSTEP_CALL(openat),
    LOCKSTEP_CALL(close),
    LOCKSTEP_CALL(fstat),
    LOCKSTEP_CALL(newfstatat),
    LOCKSTEP_CALL(lseek),
    LOCKSTEP_CALL(ftruncate),
    LOCKSTEP_CALL(fcntl),
    LOCKSTEP_CALL(linkat),
    LOCKSTEP_CALL(unlinkat),
    LOCKSTEP_CALL(renameat),
    LOCKSTEP_CALL(renameat2),
    LOCKSTEP_CALL(getdents64),
    LOCKSTEP_CALL(prlimit64),
#if defined(__NR_poll)
    LOCKSTEP_CALL(poll),
    LOCKSTEP_CALL(unlink),
    LOCKSTEP_CALL(rename),
    LOCKSTEP_CALL(link),
#endif
});

#undef LOCKSTEP_CALL

}  // namespace

std::span<const NamedCall> served_calls() { return calls; }

}  // namespace lockstep::tools
