// The filter of system calls: what stands in its way. test_confined.py has servers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <latch>
#include <thread>

#include "tools/base/process/failure.hpp"
#include "tools/base/process/privileges.hpp"

namespace lockstep::tools {
namespace {

/// A filter of this thread alone, which allows everything.
bool filter_this_thread() {
  sock_filter everything = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  sock_fprog const whole{1, &everything};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &whole) == 0;
}

[[noreturn]] void confine_beside_another_filter() {
  std::latch is_on{1};
  std::thread([&is_on] {
    if (!filter_this_thread()) {
      std::fputs("no filter of one thread\n", stderr);
      std::_Exit(1);
    }
    is_on.count_down();
    pause();
  }).detach();
  is_on.wait();
  try {
    confine_calls();
  } catch (const Failure& failure) {
    std::fputs(failure.what(), stderr);
  }
  std::_Exit(0);
}

// The kernel then returns the thread's number, and no errno.
TEST(Confined, AThreadWithAFilterOfItsOwnIsNamed) {
  EXPECT_EXIT(confine_beside_another_filter(), ::testing::ExitedWithCode(0),
              "seccomp: thread [0-9]+ has a filter of its own: give --seccomp off");
}

}  // namespace
}  // namespace lockstep::tools
