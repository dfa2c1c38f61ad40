// Captures for the tests of the verb, and how an anonymised one is read again.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/replay/packet.hpp"
#include "sim/kernel/pcapng.hpp"
#include "tools/base/capture/octets.hpp"
#include "tools/base/output/atomic_file.hpp"
#include "tools/verbs/anonymise/run.hpp"

namespace lockstep::tools {

inline std::string anonymise_temporary(const std::string& name) {
  return testing::TempDir() + "anonymise_" + name;
}

/// A name of a file that does not exist.
inline std::string free_name(const std::string& name) {
  std::string const path = anonymise_temporary(name);
  std::filesystem::remove(path);
  return path;
}

inline std::string octets_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::vector<std::byte> octets_of(std::string_view text) {
  auto const all = std::as_bytes(std::span(text));
  return {all.begin(), all.end()};
}

/// A frame to write: octets, and how many more there were on the wire.
struct KitFrame {
  std::vector<std::byte> bytes;
  std::uint32_t cut = 0;
  std::uint32_t interface = 0;
};

inline std::string written(const std::string& name, const std::vector<KitFrame>& frames,
                           sim::CaptureLink link = sim::CaptureLink::raw_ip,
                           std::uint64_t at = 5'000'000'000) {
  std::string const path = anonymise_temporary(name);
  AtomicFile file(path);
  sim::PcapngWriter writer(file);
  writer.interface(link, "private-name");
  writer.interface(link, "private-name");
  for (const KitFrame& frame : frames) {
    writer.packet({frame.interface, Instant{at += 1'000'000}, sim::CaptureWay::unknown, frame.bytes,
                   "private comment", frame.cut});
  }
  file.keep();
  return path;
}

struct KitRead {
  CapturedFrame frame;
  LinkLayer link = LinkLayer::ethernet;
  Decoded decoded;
};

inline std::vector<KitRead> read_all(const std::string& path) {
  std::vector<KitRead> out;
  CaptureReader reader(path);
  CapturedFrame frame;
  while (reader.next(frame)) {
    out.push_back({frame, reader.link(), decode(frame, reader.link())});
  }
  return out;
}

inline const Endpoint kit_client{IpAddress::v4(10, 77, 88, 99), Port{50'321}};
inline const Endpoint kit_server{IpAddress::v4(172, 16, 55, 44), Port{443}};

inline Segment kit_segment(bool from_client, std::uint8_t flags, std::uint32_t sequence,
                           std::uint32_t acknowledgment, std::string_view data = {}) {
  Segment out;
  out.source = from_client ? kit_client : kit_server;
  out.destination = from_client ? kit_server : kit_client;
  out.flags = flags;
  out.sequence = sequence;
  out.acknowledgment = acknowledgment;
  out.window = 1'000;
  out.payload = octets_of(data);
  return out;
}

/// A handshake, and a line from the client.
inline std::vector<Segment> kit_exchange(std::string_view line = "user anna password hunter22") {
  using namespace tcp_flag;
  return {kit_segment(true, syn, 0x1122'3344, 0),
          kit_segment(false, syn | ack, 0x5566'7788, 0x1122'3345),
          kit_segment(true, ack, 0x1122'3345, 0x5566'7789),
          kit_segment(true, ack | psh, 0x1122'3345, 0x5566'7789, line)};
}

inline std::vector<KitFrame> frames_of(const std::vector<Segment>& segments) {
  std::vector<KitFrame> out;
  for (const Segment& segment : segments) {
    out.push_back({conformance::packet_of(segment)});
  }
  return out;
}

inline AnonymiseReport anonymised(const std::string& capture, const std::string& out,
                                  std::uint64_t seed = 0) {
  AnonymiseRequest request;
  request.options.capture = capture;
  request.options.seed = seed;
  request.out = out;
  return anonymise(request);
}

}  // namespace lockstep::tools
