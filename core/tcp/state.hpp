// The states of a connection and the transitions that are legal between them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/units/listed_enum.hpp"

namespace lockstep::tcp {

// X(name, how RFC 9293 writes it), in the order of the RFC's figure 5.
#define LOCKSTEP_STATES(X)        \
  X(closed, "CLOSED")             \
  X(listen, "LISTEN")             \
  X(syn_sent, "SYN-SENT")         \
  X(syn_received, "SYN-RECEIVED") \
  X(established, "ESTABLISHED")   \
  X(fin_wait_1, "FIN-WAIT-1")     \
  X(fin_wait_2, "FIN-WAIT-2")     \
  X(close_wait, "CLOSE-WAIT")     \
  X(closing, "CLOSING")           \
  X(last_ack, "LAST-ACK")         \
  X(time_wait, "TIME-WAIT")

//= rfc9293#3.3.2
//# 9293:P-STATES ten states and the fictional CLOSED
enum class State : std::uint8_t { LOCKSTEP_STATES(LOCKSTEP_ENUMERATOR) };

inline constexpr std::uint32_t state_count = 0 LOCKSTEP_STATES(LOCKSTEP_ONE_MORE);

constexpr std::string_view name_of(State state) {
  constexpr std::array<std::string_view, state_count> names{LOCKSTEP_STATES(LOCKSTEP_TEXT)};
  return names[static_cast<std::uint32_t>(state)];
}

struct Transition {
  State from;
  State to;
  std::string_view why;
};

// Every edge of figure 5 and its notes, as implemented. Listeners are not connections, so the edges
// of LISTEN begin at CLOSED here: a SYN to a listener makes a connection in SYN-RECEIVED, and "back
// to LISTEN" ends that connection.
//= rfc9293#3.3.2
//# 9293:P-FIG5-NOTE1 only a passive SYN-RECEIVED goes back to the listener
//# 9293:P-FIG5-NOTE3-RCV an accepted RST takes any state to CLOSED
inline constexpr std::array transitions{
    Transition{State::closed, State::syn_sent, "active open"},
    Transition{State::closed, State::syn_received, "SYN to a listener"},
    Transition{State::syn_sent, State::syn_received, "SYN: simultaneous open"},
    Transition{State::syn_sent, State::established, "SYN and ACK of our SYN"},
    Transition{State::syn_sent, State::closed, "refused, closed, aborted or timed out"},
    Transition{State::syn_received, State::established, "ACK of our SYN"},
    Transition{State::syn_received, State::closed, "reset, SYN, aborted or timed out"},
    Transition{State::established, State::fin_wait_1, "close"},
    Transition{State::established, State::close_wait, "FIN"},
    Transition{State::established, State::closed, "reset, aborted or timed out"},
    Transition{State::fin_wait_1, State::fin_wait_2, "ACK of our FIN"},
    Transition{State::fin_wait_1, State::closing, "FIN"},
    Transition{State::fin_wait_1, State::closed, "reset, aborted or timed out"},
    Transition{State::fin_wait_2, State::time_wait, "FIN"},
    Transition{State::fin_wait_2, State::closed, "reset, aborted or timed out"},
    Transition{State::close_wait, State::last_ack, "close"},
    Transition{State::close_wait, State::closed, "reset, aborted or timed out"},
    Transition{State::closing, State::time_wait, "ACK of our FIN"},
    Transition{State::closing, State::closed, "reset, aborted or timed out"},
    Transition{State::last_ack, State::closed, "ACK of our FIN, reset, aborted or timed out"},
    Transition{State::time_wait, State::closed, "2 MSL over, reset, or a new SYN"},
};

// The position in `transitions`, or its size if the edge is illegal.
constexpr std::uint32_t transition_index(State from, State to) {
  for (std::uint32_t i = 0; i < transitions.size(); ++i) {
    if (transitions[i].from == from && transitions[i].to == to) {
      return i;
    }
  }
  return transitions.size();
}

// legal_edge[from][to]: the index of the transition, looked up in constant time.
inline constexpr std::uint8_t illegal_edge = 0xff;
inline constexpr auto legal_edge = [] {
  std::array<std::array<std::uint8_t, state_count>, state_count> table{};
  for (auto& row : table) {
    row.fill(illegal_edge);
  }
  for (std::uint32_t i = 0; i < transitions.size(); ++i) {
    table[static_cast<std::uint32_t>(transitions[i].from)]
         [static_cast<std::uint32_t>(transitions[i].to)] = static_cast<std::uint8_t>(i);
  }
  return table;
}();

// ESTABLISHED and every state after it.
constexpr bool synchronized(State state) { return state >= State::established; }

// The peer may still send data: its FIN has not been accepted.
constexpr bool peer_may_send(State state) {
  return state == State::established || state == State::fin_wait_1 || state == State::fin_wait_2;
}

// The application may still SEND.
constexpr bool we_may_send(State state) {
  return state == State::syn_sent || state == State::syn_received || state == State::established ||
         state == State::close_wait;
}

}  // namespace lockstep::tcp
