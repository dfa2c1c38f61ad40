// For tests: a machine, a wire that records frames sent, and frames to receive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/wire/checksum.hpp"
#include "core/wire/octets.hpp"
#include "hw/mpipe/model/machine.hpp"
#include "hw/mpipe/setup.hpp"

namespace lockstep::hw::mpipe {

using Frame = std::vector<std::byte>;

class NotedWire final : public Wire {
 public:
  void leave(std::span<const std::byte> frame) override {
    frames.emplace_back(frame.begin(), frame.end());
  }
  std::uint32_t waiting() override { return slow; }
  Instant first_departure() const override { return Instant::never(); }

  std::vector<Frame> frames;
  std::uint32_t slow = 0;  // frames reported as not completely sent
};

// An Ethernet frame of IPv4 with a TCP header of 20 octets and correct checksums.
struct Flow {
  std::uint32_t source = 0x0a000001;
  std::uint32_t destination = 0x0a000002;
  std::uint16_t source_port = 1'000;
  std::uint16_t destination_port = 80;
  constexpr Flow back() const { return {destination, source, destination_port, source_port}; }
};

inline Frame tcp_frame(const Flow& flow, std::size_t payload_bytes) {
  Frame frame(54 + payload_bytes, std::byte{0x42});
  std::byte* const ip = frame.data() + 14;
  std::byte* const tcp = ip + 20;
  std::memset(frame.data(), 2, 12);
  wire::store16(frame.data() + 12, 0x0800);
  std::memset(ip, 0, 40);
  ip[0] = std::byte{0x45};
  wire::store16(ip + 2, static_cast<std::uint16_t>(40 + payload_bytes));
  ip[8] = std::byte{64};
  ip[9] = std::byte{6};
  wire::store32(ip + 12, flow.source);
  wire::store32(ip + 16, flow.destination);
  wire::store16(ip + 10, wire::sum({ip, 20}).checksum());
  wire::store16(tcp, flow.source_port);
  wire::store16(tcp + 2, flow.destination_port);
  tcp[12] = std::byte{0x50};
  Frame pseudo(ip + 12, ip + 20);
  pseudo.push_back(std::byte{0});
  pseudo.push_back(std::byte{6});
  pseudo.push_back(static_cast<std::byte>((20 + payload_bytes) >> 8));
  pseudo.push_back(static_cast<std::byte>((20 + payload_bytes) & 0xff));
  wire::store16(tcp + 16,
                wire::combine(wire::sum(pseudo), wire::sum({tcp, 20 + payload_bytes})).checksum());
  return frame;
}

// A machine with our engine open on it.
class Rig {
 public:
  explicit Rig(const MpipeShape& shape = {}, const Errors& errors = {})
      : machine({static_cast<std::uint32_t>(Mpipe::memory_bytes(shape)) + (1u << 20), Random(7),
                 errors, Mac{}}) {
    machine.be_current();
    machine.attach(wire);
    trouble = engine.open(shape);
  }
  // Closing calls the system, which must be that of this machine.
  ~Rig() { machine.be_current(); }
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;
  Arrived arrive(const Frame& frame, MpipeLink link = {}) {
    return machine.arrive(frame, engine.channel(link));
  }
  void at(std::uint64_t nanoseconds) { machine.step({Instant{nanoseconds}, Instant{nanoseconds}}); }
  std::uint64_t in(Place place) const { return machine.memory().count(place); }

  Machine machine;
  NotedWire wire;
  Mpipe engine;
  MpipeTrouble trouble;
};

}  // namespace lockstep::hw::mpipe
