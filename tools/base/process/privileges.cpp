// setresuid(2) through the C library, which changes all threads; capset(2), which changes one; and
// seccomp(2), which changes all if asked to.
#include "tools/base/process/privileges.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pwd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tools/base/process/failure.hpp"

namespace lockstep::tools {
namespace {

[[noreturn]] void bad_user(const std::string& text, const std::string& why) {
  throw Failure(ExitCode::bad_input, "--user " + text + ": " + why);
}

[[noreturn]] void fail(const std::string& what) {
  throw Failure(ExitCode::environment,
                what + ": " + std::strerror(errno) + ": run it as root, or leave out --user");
}

constexpr sock_filter statement(unsigned code, unsigned value) {
  return {static_cast<std::uint16_t>(code), 0, 0, value};
}

/// Jumps over `yes` or `no` statements.
constexpr sock_filter test(unsigned kind, unsigned value, unsigned yes, unsigned no) {
  return {static_cast<std::uint16_t>(BPF_JMP | kind | BPF_K), static_cast<std::uint8_t>(yes),
          static_cast<std::uint8_t>(no), value};
}

constexpr sock_filter load(std::size_t offset) {
  return statement(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offset));
}

/// The lower half of an argument of the system call.
constexpr sock_filter load_argument(std::size_t which) {
  constexpr bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
  return load(offsetof(seccomp_data, args) + 8 * which + (big ? 4 : 0));
}

#if defined(__x86_64__)
constexpr unsigned machine = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr unsigned machine = AUDIT_ARCH_AARCH64;
#elif defined(__s390x__)
constexpr unsigned machine = AUDIT_ARCH_S390X;
#else
constexpr unsigned machine = 0;  // not confined
#endif

constexpr unsigned allow = SECCOMP_RET_ALLOW;
constexpr unsigned refuse_call = SECCOMP_RET_ERRNO | EPERM;

/// Refuses memory that is executable, and sockets besides those that ask for MTU and routes. On
/// s390x mmap(2) has one argument, the address of all others, which no filter can read: there only
/// mprotect(2) is checked.
void add_argument_rules(std::vector<sock_filter>& program) {
  constexpr auto number = offsetof(seccomp_data, nr);
#if defined(__s390x__)
  std::vector<unsigned> const checked{__NR_mprotect};
#else
  std::vector<unsigned> const checked{__NR_mmap, __NR_mprotect};
#endif
  for (unsigned const call : checked) {
    program.push_back(load(number));
    program.push_back(test(BPF_JEQ, call, 0, 3));
    program.push_back(load_argument(2));
    program.push_back(test(BPF_JSET, PROT_EXEC, 0, 1));
    program.push_back(statement(BPF_RET | BPF_K, refuse_call));
  }
  program.push_back(load(number));
  program.push_back(test(BPF_JEQ, __NR_socket, 0, 4));
  program.push_back(load_argument(0));
  program.push_back(test(BPF_JEQ, AF_NETLINK, 2, 0));
  program.push_back(test(BPF_JEQ, AF_INET, 1, 0));
  program.push_back(statement(BPF_RET | BPF_K, refuse_call));
}

std::vector<sock_filter> filter_program() {
  std::vector<sock_filter> program;
  program.push_back(load(offsetof(seccomp_data, arch)));
  program.push_back(test(BPF_JEQ, machine, 1, 0));
  program.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
  add_argument_rules(program);
  program.push_back(load(offsetof(seccomp_data, nr)));
  for (const NamedCall& each : served_calls()) {
    program.push_back(test(BPF_JEQ, static_cast<unsigned>(each.number), 0, 1));
    program.push_back(statement(BPF_RET | BPF_K, allow));
  }
  program.push_back(statement(BPF_RET | BPF_K, refuse_call));
  return program;
}

}  // namespace

RunAs run_as(const std::string& text) {
  std::string const name = text.substr(0, text.find(':'));
  const passwd* const user = getpwnam(name.c_str());
  if (user == nullptr) {
    bad_user(text, "there is no such user: create it, like `useradd --system " + name + "`");
  }
  RunAs out{user->pw_uid, user->pw_gid};
  if (name.size() < text.size()) {
    const group* const found = getgrnam(text.c_str() + name.size() + 1);
    if (found == nullptr) {
      bad_user(text, "there is no such group: correct it, or leave it out");
    }
    out.group = found->gr_gid;
  }
  if (geteuid() != 0) {
    bad_user(text, "only root may change to another user: leave it out");
  }
  if (out.user == 0) {
    bad_user(text, "it is root: name a user without rights, like nobody");
  }
  return out;
}

void change_user(const RunAs& to) {
  if (setgroups(0, nullptr) != 0 || setresgid(to.group, to.group, to.group) != 0 ||
      setresuid(to.user, to.user, to.user) != 0) {
    fail("--user");
  }
  if (setresuid(0, 0, 0) == 0) {
    throw Failure(ExitCode::environment,
                  "--user: root's rights could be had again: please report "
                  "it");
  }
  // The names of /proc/self/fd, by which output files get their names at the end, belong to root
  // otherwise.
  prctl(PR_SET_DUMPABLE, 1);
}

void drop_capabilities() {
  if (geteuid() == 0) {
    return;
  }
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> none{};
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  syscall(SYS_capset, &head, none.data());
}

bool can_confine() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
  return false;
#else
  return machine != 0;
#endif
#else
  return machine != 0;
#endif
}

void confine_calls() {
  std::vector<sock_filter> program = filter_program();
  sock_fprog const whole{static_cast<std::uint16_t>(program.size()), program.data()};
  long const refused =
      prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
          ? -1
          : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &whole);
  if (refused > 0) {
    throw Failure(
        ExitCode::environment,
        fmt::format("seccomp: thread {} has a filter of its own: give --seccomp off", refused));
  }
  if (refused != 0) {
    throw Failure(ExitCode::environment, std::string("seccomp: ") + std::strerror(errno) +
                                             ": the kernel has no filters of system calls: give "
                                             "--seccomp off");
  }
}

}  // namespace lockstep::tools
