// Parses the commands between backticks: what they set, what they assert, and what has no effect.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "conformance/script/parts.hpp"
#include "conformance/script/shell.hpp"
#include "conformance/script/states.hpp"
#include "conformance/script/sysctl.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::conformance::script {
namespace {

using Words = std::vector<std::string>;

/// Programs whose work this stack does not need: they load, address, trace or wait.
constexpr std::array<std::string_view, 26> preparing{
    "kldload", "kldunload", "modprobe", "tc",     "ethtool",   "sleep", "true",
    ":",       "sync",      "rm",       "mkdir",  "nstat",     "dmesg", "tcpdump",
    "killall", "ulimit",    "date",     "echo",   "ifconfig",  "route", "chmod",
    "logger",  "renice",    "exit",     "export", "setenforce"};

std::string base_of(const std::string& word) { return word.substr(word.rfind('/') + 1); }

/// net/ipv4/tcp_sack and /proc/sys/net/ipv4/tcp_sack are net.ipv4.tcp_sack.
std::string sysctl_name(std::string name) {
  constexpr std::string_view proc = "/proc/sys/";
  if (name.starts_with(proc)) {
    name.erase(0, proc.size());
  }
  if (name.find('.') == std::string::npos) {
    std::replace(name.begin(), name.end(), '/', '.');
  }
  return name;
}

class Interpreter {
 public:
  Interpreter(const Cursor& cursor, Shell& out, std::vector<Note>& notes)
      : cursor_(cursor), out_(out), notes_(notes) {}

  void take(const Pipeline& one) {
    now_ = &one;
    Words words = one.commands.front().words;
    while (words.size() > 1 && (words[0] == "sudo" || words[0] == "doas")) {
      words.erase(words.begin());
    }
    std::string const program = base_of(words[0]);
    if (one.spare) {
      note("it runs only if the command before it fails");
    } else if (one.commands.size() > 1 || program == "grep" || program == "ss" ||
               program == "sockstat" || program == "netstat") {
      assertion(words, program);
    } else if (one.negated) {
      refuse("'!' before a command is not supported, expected the command: remove it");
    } else if (program == "sysctl") {
      sysctl(words);
    } else if (program == "set_sysctls.py") {
      set_files(words);
    } else if (program == "defaults.sh") {
      defaults();
    } else if (program.starts_with("sysctl_restore_")) {
      note("the next script begins with a new stack");
    } else if (program == "echo" && !one.written.empty()) {
      echo(words);
    } else {
      prepare(words, program);
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { cursor_.fail(now_->place, what); }
  void note(const std::string& why) { notes_.push_back({now_->place, now_->text, why, false}); }
  void set(const std::string& name, const std::string& value) {
    out_.set.push_back({now_->place, name, value});
  }

  /// sysctl [-q] [-w] NAME=VALUE ..., where a value may have several numbers.
  void sysctl(const Words& words) {
    std::size_t const before = out_.set.size();
    for (std::size_t i = 1; i < words.size(); ++i) {
      std::string const& word = words[i];
      std::size_t const equals = word.find('=');
      if (word.starts_with('-')) {
        if (word.find_first_not_of("-qwnei") != std::string::npos) {
          refuse(fmt::format("'{}' was found in a sysctl command, expected NAME=VALUE: remove it",
                             word));
        }
        continue;
      }
      if (equals == std::string::npos || equals == 0) {
        refuse(
            fmt::format("'{}' was found in a sysctl command, expected NAME=VALUE: write it "
                        "without spaces",
                        word));
      }
      std::string value = word.substr(equals + 1);
      while (i + 1 < words.size() && words[i + 1].find('=') == std::string::npos &&
             !words[i + 1].starts_with("-")) {
        value += (value.empty() ? "" : " ") + words[++i];
      }
      set(sysctl_name(word.substr(0, equals)), value);
    }
    if (out_.set.size() == before) {
      refuse("this sysctl command sets nothing, expected NAME=VALUE: add one");
    }
  }

  void set_files(const Words& words) {
    for (std::size_t i = 1; i < words.size(); ++i) {
      std::size_t const equals = words[i].find('=');
      if (equals == std::string::npos || !words[i].starts_with("/proc/sys/")) {
        refuse(fmt::format("'{}' was found after {}, expected /proc/sys/NAME=VALUE: correct it",
                           words[i], words[0]));
      }
      set(sysctl_name(words[i].substr(0, equals)), words[i].substr(equals + 1));
    }
  }

  void echo(const Words& words) {
    if (!now_->written.starts_with("/proc/sys/")) {
      note("no file is written");
      return;
    }
    std::string value;
    for (std::size_t i = 1; i < words.size(); ++i) {
      value += words[i] == "-n" ? "" : (value.empty() ? "" : " ") + words[i];
    }
    set(sysctl_name(now_->written), value);
  }

  /// The settings with which the scripts of Linux begin.
  void defaults() {
    static constexpr std::array<std::array<std::string_view, 2>, 19> settings{
        {{"net.ipv4.tcp_rmem", "4096 540000 15728640"},
         {"net.ipv4.tcp_wmem", "4096 262144 4194304"},
         {"net.ipv4.tcp_timestamps", "1"},
         {"net.ipv4.tcp_sack", "1"},
         {"net.ipv4.tcp_dsack", "1"},
         {"net.ipv4.tcp_frto", "2"},
         {"net.ipv4.tcp_congestion_control", "cubic"},
         {"net.ipv4.tcp_slow_start_after_idle", "0"},
         {"net.ipv4.tcp_early_retrans", "4"},
         {"net.ipv4.tcp_recovery", "1"},
         {"net.ipv4.tcp_ecn", "0"},
         {"net.ipv4.tcp_pacing_ss_ratio", "200"},
         {"net.ipv4.tcp_pacing_ca_ratio", "120"},
         {"net.ipv4.tcp_notsent_lowat", "4294967295"},
         {"net.ipv4.tcp_fastopen", "3"},
         {"net.ipv4.tcp_fastopen_key", "a1a1a1a1-b2b2b2b2-c3c3c3c3-d4d4d4d4"},
         {"net.ipv4.tcp_syncookies", "1"},
         {"net.ipv4.tcp_syn_retries", "5"},
         {"net.ipv4.tcp_synack_retries", "5"}}};
    for (auto const& [name, value] : settings) {
      set(std::string(name), std::string(value));
    }
    note("read as the usual settings of Linux's scripts, not run");
  }

  /// The word after `key`; empty if there is none.
  static std::string after(const Words& words, std::string_view key) {
    auto const found = std::find(words.begin(), words.end(), key);
    return found == words.end() || found + 1 == words.end() ? "" : *(found + 1);
  }

  void prepare(const Words& words, const std::string& program) {
    if (program == "ip" || program == "ifconfig") {
      link(words, program);
    } else if (program == "iptables" || program == "ip6tables") {
      auto const flush = [](const std::string& word) {
        return word == "-F" || word == "-X" || word == "-Z" || word == "--flush";
      };
      if (std::none_of(words.begin(), words.end(), flush)) {
        refuse(
            fmt::format("the command {} changes which packets pass, expected none: there is no "
                        "filter here; remove it",
                        program));
      }
      note("there is no packet filter");
    } else if (std::find(preparing.begin(), preparing.end(), program) != preparing.end()) {
      note("it only prepares a machine");
    } else {
      refuse(
          fmt::format("the command {} is not supported, expected sysctl NAME=VALUE: remove it, "
                      "or use --config",
                      program));
    }
  }

  /// ip route change ... initcwnd N, ip link set ... mtu N, ifconfig IF mtu N.
  void link(const Words& words, const std::string& program) {
    bool used = false;
    for (std::string_view const key : {"initcwnd", "initrwnd", "mtu", "rto_min"}) {
      std::string value = after(words, key);
      value = value == "lock" ? after(words, "lock") : value;
      if (!value.empty()) {
        set("route." + std::string(key), value);
        used = true;
      }
    }
    bool const route = words.size() > 1 && program == "ip" &&
                       std::any_of(words.begin(), words.end(), [](std::string const& word) {
                         return word == "quickack" || word == "window" || word == "congctl" ||
                                word == "features" || word == "blackhole" ||
                                word == "unreachable" || word == "advmss" ||
                                word == "fastopen_no_cookie";
                       });
    if (route) {
      refuse(
          "this route sets what the stack has no setting for, expected initcwnd, mtu or "
          "rto_min: remove it");
    }
    if (!used) {
      note("it only prepares a machine");
    }
  }

  // ---- assertions ----

  [[noreturn]] void not_understood() const {
    refuse(
        fmt::format("the assertion '{}' is not understood, expected ss or sockstat, grep with a "
                    "state of TCP, and perhaps a count: remove it, or run with --lenient",
                    now_->text));
  }

  void assertion(const Words& words, const std::string& program) {
    StateCheck check;
    check.place = now_->place;
    check.text = now_->text;
    std::size_t at = 1;
    if (program == "grep" && words.size() > 2 && words[2].starts_with("/proc/net/tcp")) {
      take_proc(words, check);
    } else if (program == "ss" || program == "sockstat" || program == "netstat") {
      take_lister(words, check);
    } else {
      not_understood();
    }
    bool counts = false;
    for (; at < now_->commands.size(); ++at) {
      Words const& filter = now_->commands[at].words;
      if (base_of(filter[0]) == "wc" && filter.size() == 2 && filter[1] == "-l") {
        counts = true;
      } else if (base_of(filter[0]) == "grep") {
        take_grep(filter, check, counts);
      } else {
        not_understood();
      }
    }
    if (counts && !check.count) {
      not_understood();
    }
    if (now_->negated && check.count) {
      not_understood();
    }
    if (now_->negated) {
      check.count = 0;
    }
    if (check.states.empty() && program != "ss") {
      not_understood();
    }
    if (check.states.empty() && !check.count) {
      not_understood();
    }
    out_.checks.push_back(std::move(check));
  }

  /// The hexadecimal state of a line of /proc/net/tcp, between blanks.
  void take_proc(const Words& words, StateCheck& check) const {
    using tcp::State;
    static constexpr std::array<State, 12> numbers{
        State::closed,     State::established, State::syn_sent,  State::syn_received,
        State::fin_wait_1, State::fin_wait_2,  State::time_wait, State::closed,
        State::close_wait, State::last_ack,    State::listen,    State::closing};
    std::string state = words[1];
    std::erase(state, ' ');
    auto const number = parse_number("0x" + state);
    if (state.size() != 2 || !number || *number < 1 || *number > 11) {
      not_understood();
    }
    check.states.push_back(numbers[static_cast<std::size_t>(*number)]);
  }

  void take_lister(const Words& words, StateCheck& check) const {
    std::string const state = after(words, "state");
    if (!state.empty()) {
      check.states = states_named(state);
      if (check.states.empty()) {
        not_understood();
      }
    }
  }

  void take_grep(const Words& filter, StateCheck& check, bool& counts) const {
    std::string pattern;
    for (std::size_t i = 1; i < filter.size(); ++i) {
      std::string const& word = filter[i];
      if (word.size() > 1 && word.front() == '-') {
        if (word.find_first_not_of("-qciwEFe") != std::string::npos) {
          not_understood();
        }
        counts = counts || word.find('c') != std::string::npos;
      } else if (pattern.empty()) {
        pattern = word;
      } else {
        not_understood();
      }
    }
    bool const digits = !pattern.empty() && std::all_of(pattern.begin(), pattern.end(), [](char c) {
      return c >= '0' && c <= '9';
    });
    if (auto const states = states_named(pattern);
        !states.empty() && !counts_before(filter, counts)) {
      if (!check.states.empty()) {
        not_understood();
      }
      check.states = states;
    } else if (digits && counts && pattern.size() < 6) {
      check.count = static_cast<std::uint64_t>(*parse_number("0" == pattern ? "0" : pattern));
    } else if (!selects_our_sockets(pattern)) {
      not_understood();
    }
  }
  /// Whether a filter before this one counted, so that this one reads a number.
  static bool counts_before(const Words& filter, bool counts) {
    return counts && std::none_of(filter.begin(), filter.end(), [](const std::string& word) {
             return word.size() > 1 && word.front() == '-' && word.find('c') != std::string::npos;
           });
  }

  /// All sockets of a script are packetdrill's, and most have its port.
  static bool selects_our_sockets(const std::string& pattern) {
    std::string lower;
    for (char const c : pattern) {
      lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return lower.starts_with("packetdril") || lower == ":8080" || lower == "8080" ||
           lower == ":1f90" || lower == "tcp4" || lower == "tcp6" || lower == "tcp";
  }

  const Cursor& cursor_;
  Shell& out_;
  std::vector<Note>& notes_;
  const Pipeline* now_ = nullptr;
};

}  // namespace

Shell parse_command(Cursor& cursor, const Defines& defines, Strictness strictness,
                    std::vector<Note>& notes) {
  Place const at = cursor.place();
  std::string const ticks = cursor.rest().starts_with("```") ? "```" : "`";
  cursor.expect(ticks, "a command is between backticks");
  Place const begin = cursor.place();
  std::string const text = cursor.until(ticks, "a command");
  std::vector<Pipeline> const commands = split_shell(cursor, begin, text, defines);
  if (commands.empty()) {
    cursor.fail(
        at, "this command is empty, expected sysctl NAME=VALUE: add it, or remove the backticks");
  }
  Shell out;
  Interpreter interpreter(cursor, out, notes);
  for (Pipeline one : commands) {
    one.place = one.place.line == at.line ? at : one.place;
    try {
      interpreter.take(one);
    } catch (const tools::Failure& failure) {
      if (strictness == Strictness::strict) {
        throw;
      }
      notes.push_back({one.place, one.text, failure.what(), true});
    }
  }
  return out;
}

}  // namespace lockstep::conformance::script
