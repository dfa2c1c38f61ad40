// Writes pcapng: nanoseconds, little-endian on every machine, identical bytes for identical
// packets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/units/time.hpp"

namespace lockstep::sim {

// A sink for bytes. The simulator has no file access: tools implement a sink that writes a file.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual void put(std::span<const std::byte> bytes) = 0;
};

// The link type of an interface, numbered as in the pcapng registry.
enum class CaptureLink : std::uint16_t {
  null = 0,
  ethernet = 1,
  ppp = 9,
  raw_ip = 101,
  loop = 108,
  linux_cooked = 113,
  pktap = 258,
  linux_cooked_2 = 276,
};

// The direction of a packet at its interface, numbered as in the flags option.
enum class CaptureWay : std::uint32_t { unknown = 0, inbound = 1, outbound = 2 };

class PcapngWriter {
 public:
  // Writes the section header.
  explicit PcapngWriter(ByteSink& sink);

  // Interfaces are numbered from 0 in the order of these calls.
  void interface(CaptureLink link, std::string_view name);

  struct Packet {
    std::uint32_t interface = 0;
    Instant at;
    CaptureWay way = CaptureWay::outbound;
    std::span<const std::byte> bytes;
    std::string_view comment;  // empty: none
    std::uint32_t cut = 0;     // octets on the wire beyond `bytes`
  };
  void packet(const Packet& packet);

  std::uint64_t packets() const { return packets_; }

 private:
  void begin(std::uint32_t type);
  void finish();
  void add16(std::uint32_t value);
  void add32(std::uint64_t value);
  void add_padded(std::span<const std::byte> bytes);
  void add_option(std::uint16_t code, std::span<const std::byte> bytes);

  ByteSink& sink_;
  std::vector<std::byte> block_;
  std::uint64_t packets_ = 0;
};

}  // namespace lockstep::sim
