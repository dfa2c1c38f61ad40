// For tests: runs scripts given as strings; their findings and refusals.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "conformance/script/run.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::conformance::script {

/// A listener, a handshake, and descriptor 4; data in both directions begins at 1.
inline const std::string open_passively =
    "--profile=rfc\n"
    "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n"
    "+0 bind(3, ..., ...) = 0\n"
    "+0 listen(3, 1) = 0\n"
    "+0 < S 0:0(0) win 65535 <mss 1000>\n"
    "+0 > S. 0:0(0) ack 1 win 65535 <mss 1460>\n"
    "+.1 < . 1:1(0) ack 1 win 65535\n"
    "+0 accept(3, ..., ...) = 4\n";

inline Ran run_text(const std::string& text, const Overrides& overrides = {}) {
  Arena arena;
  return run(parse("x.pkt", text, {}), overrides, arena);
}

inline std::string refusal_of(const std::string& text) {
  try {
    run_text(text);
  } catch (const tools::Failure& failure) {
    EXPECT_EQ(failure.code(), tools::ExitCode::bad_input);
    return failure.what();
  }
  return "nothing was refused";
}

}  // namespace lockstep::conformance::script
