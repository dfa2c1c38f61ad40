// The names that tools of Linux and FreeBSD give to the states of a connection.
#include "conformance/script/states.hpp"

#include <array>
#include <cctype>
#include <string>

namespace lockstep::conformance::script {
namespace {

struct StateName {
  std::string_view name;  ///< in capitals, without '-' and '_'
  tcp::State state;
};
constexpr std::array<StateName, 17> state_names{{{"CLOSED", tcp::State::closed},
                                                 {"CLOSE", tcp::State::closed},
                                                 {"UNCONN", tcp::State::closed},
                                                 {"LISTEN", tcp::State::listen},
                                                 {"LISTENING", tcp::State::listen},
                                                 {"SYNSENT", tcp::State::syn_sent},
                                                 {"SYNRECV", tcp::State::syn_received},
                                                 {"SYNRCVD", tcp::State::syn_received},
                                                 {"SYNRECEIVED", tcp::State::syn_received},
                                                 {"ESTABLISHED", tcp::State::established},
                                                 {"ESTAB", tcp::State::established},
                                                 {"FINWAIT1", tcp::State::fin_wait_1},
                                                 {"FINWAIT2", tcp::State::fin_wait_2},
                                                 {"CLOSEWAIT", tcp::State::close_wait},
                                                 {"CLOSING", tcp::State::closing},
                                                 {"LASTACK", tcp::State::last_ack},
                                                 {"TIMEWAIT", tcp::State::time_wait}}};

}  // namespace

std::vector<tcp::State> states_named(std::string_view name) {
  std::string plain;
  for (char const c : name) {
    if (c != '-' && c != '_') {
      plain += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
  }
  for (StateName const& one : state_names) {
    if (one.name == plain) {
      return {one.state};
    }
  }
  return {};
}

}  // namespace lockstep::conformance::script
