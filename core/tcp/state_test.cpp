// The table of transitions, compared with a reviewed graph.
#include "core/tcp/state.hpp"

#include <gtest/gtest.h>
#include <test_paths.hpp>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace lockstep::tcp {
namespace {

std::string graph() {
  std::string out = "digraph tcp {\n";
  for (Transition const& edge : transitions) {
    out += "  \"" + std::string(name_of(edge.from)) + "\" -> \"" + std::string(name_of(edge.to)) +
           "\" [label=\"" + std::string(edge.why) + "\"];\n";
  }
  return out + "}\n";
}

//= rfc9293#3.3.2
//= type=test
//# 9293:P-STATES, 9293:P-FIG5-NOTE1 figure 5 with its notes, edge by edge
TEST(State, TheGraphIsWhatWasReviewed) {
  std::ifstream file(LOCKSTEP_SOURCE_DIR "/core/tcp/transitions.dot");
  std::stringstream pinned;
  pinned << file.rdbuf();
  EXPECT_EQ(graph(), pinned.str()) << "if the change is meant, put this graph into the file";
}

TEST(State, EachEdgeIsListedOnceAndFoundInConstantTime) {
  std::set<std::pair<State, State>> seen;
  for (std::uint32_t i = 0; i < transitions.size(); ++i) {
    auto const [from, to, why] = transitions[i];
    EXPECT_TRUE(seen.insert({from, to}).second);
    EXPECT_FALSE(why.empty());
    EXPECT_EQ(transition_index(from, to), i);
    EXPECT_EQ(legal_edge[static_cast<std::uint32_t>(from)][static_cast<std::uint32_t>(to)], i);
  }
  EXPECT_EQ(transition_index(State::established, State::listen), transitions.size());
  EXPECT_EQ(legal_edge[static_cast<std::uint32_t>(State::syn_sent)]
                      [static_cast<std::uint32_t>(State::fin_wait_1)],
            illegal_edge);
}

// Every state but LISTEN, which belongs to listeners, can be entered and left; all lead to CLOSED.
TEST(State, NoStateIsADeadEnd) {
  for (std::uint32_t i = 0; i < state_count; ++i) {
    auto const state = static_cast<State>(i);
    bool entered = false;
    bool left = false;
    for (Transition const& edge : transitions) {
      entered = entered || edge.to == state;
      left = left || edge.from == state;
    }
    EXPECT_EQ(entered, state != State::listen) << name_of(state);
    EXPECT_EQ(left, state != State::listen) << name_of(state);
    bool const ends = transition_index(state, State::closed) < transitions.size();
    EXPECT_EQ(ends, state != State::closed && state != State::listen) << name_of(state);
  }
}

TEST(State, WhoMayStillSend) {
  std::string peers;
  std::string ours;
  std::string joined;
  for (std::uint32_t i = 0; i < state_count; ++i) {
    auto const state = static_cast<State>(i);
    peers += peer_may_send(state) ? std::string(name_of(state)) + " " : "";
    ours += we_may_send(state) ? std::string(name_of(state)) + " " : "";
    joined += synchronized(state) ? std::string(name_of(state)) + " " : "";
  }
  EXPECT_EQ(peers, "ESTABLISHED FIN-WAIT-1 FIN-WAIT-2 ");
  EXPECT_EQ(ours, "SYN-SENT SYN-RECEIVED ESTABLISHED CLOSE-WAIT ");
  EXPECT_EQ(joined, "ESTABLISHED FIN-WAIT-1 FIN-WAIT-2 CLOSE-WAIT CLOSING LAST-ACK TIME-WAIT ");
}

}  // namespace
}  // namespace lockstep::tcp
