// Reads one response of memcached's text protocol, to get or to set.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "tools/lib/load/reply.hpp"

namespace lockstep::load {

/// Accepts VALUE with its data and END, END alone (a miss), or STORED (of a set). Anything else
/// fails.
class CacheReply {
 public:
  void begin(const Expected& expected);
  Progress read(std::span<const std::byte> octets, Bytes& used);
  Progress ended() { return fail(Fault::closed_early); }
  Fault fault() const { return fault_; }
  std::uint64_t body_octets() const { return body_.seen(); }
  bool keeps_alive() const { return true; }
  bool is_miss() const { return is_miss_; }
  bool is_update() const { return expected_.is_stored; }

 private:
  enum class Part : std::uint8_t { first_line, data, data_end, last_line };
  static constexpr std::uint32_t line_max = 300;

  Progress fail(Fault fault) {
    fault_ = fault;
    return Progress::failed;
  }
  Progress take_line(std::string_view line);

  Expected expected_;
  BodyCheck body_;
  Part part_ = Part::first_line;
  bool is_miss_ = false;
  Fault fault_ = Fault::none;
  std::uint64_t left_ = 0;  // octets of data still to come
  std::uint32_t line_length_ = 0;
  std::array<char, line_max> line_{};
};

}  // namespace lockstep::load
