// A device as a station of a simulated world, with a program that exchanges a stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conformance/interop/device_node.hpp"

namespace lockstep::conformance {

/// What the program of one side does: it opens or accepts one connection, sends `send` octets,
/// reads `receive` octets and the end of the stream, and closes.
struct StreamPlan {
  bool opens = false;
  Port port{7'000};           ///< of the listener
  std::uint64_t pattern = 0;  ///< of what it sends; octet `at` is pattern_octet(pattern, at)
  std::uint64_t peers_pattern = 0;
  std::uint64_t send = 0, receive = 0;
  std::uint32_t write_most = 4'096;  ///< octets per write ...
  std::uint32_t read_most = 65'536;  ///< ... and per read
  Duration read_every{};             ///< zero: reads whenever there is something
  Duration start{};                  ///< when it opens
};

/// The octet of a stream at a position.
std::byte pattern_octet(std::uint64_t pattern, std::uint64_t at);

/// How far the program is.
struct StreamProgress {
  std::uint64_t sent = 0, received = 0;
  bool finished = false;  ///< all was sent, and the end of the stream after it
  bool peer_finished = false;
  std::string wrong;  ///< what must not happen, in one line; empty: nothing so far
  bool done() const { return finished && peer_finished; }
};

/// One side. The device must have been created; its packets travel in Ethernet frames to the other
/// side, whose link address is known, so that only a device's own packets are on the wire.
class DeviceStation final : public DeviceNode {
 public:
  struct Link {
    Mac own, peer;
    std::uint32_t mtu = 1'500;
    bool ipv6 = false;
  };

  DeviceStation(std::unique_ptr<DevicePeer> peer, const Link& link, const StreamPlan& plan);

  Instant deadline() const override;

  const StreamProgress& progress() const { return progress_; }

 private:
  void take(sim::StationDesk& desk, std::span<const std::byte> frame) override;
  void work_at_deadline(sim::StationDesk& desk) override;
  void put(sim::StationDesk& desk, const DeviceAnswer& answer) override;
  Instant program_due() const;
  void work(Instant now);
  void open(Instant now);
  bool is_open();
  void read(Instant now);
  void write();
  void wrong(const std::string& what);

  Link link_;
  StreamPlan plan_;
  StreamProgress progress_;
  std::optional<std::uint64_t> listener_, connection_;
  Instant read_at_{0}, worked_{0};
  bool open_ = false, closed_ = false;
};

}  // namespace lockstep::conformance
