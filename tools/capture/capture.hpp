// Reads pcap and pcapng files as a stream of packets, with errors that name the packet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/units/time.hpp"

namespace lockstep::tools {

/// How the frames of a capture begin. Everything else is refused by name.
enum class LinkLayer : std::uint8_t {
  ethernet,
  raw_ip,
  linux_cooked,
  linux_cooked_2,
  loopback,
  ppp,  ///< also what a point-to-point device of ns-3 writes
};

/// One captured frame.
struct CapturedFrame {
  std::uint64_t number = 0;          ///< as Wireshark counts: from 1
  Instant time;                      ///< since 1970
  std::uint32_t original_bytes = 0;  ///< on the wire; more than bytes.size() if the capture cut it
  std::vector<std::byte> bytes;
  bool is_cut() const { return bytes.size() < original_bytes; }
};

/// One open capture file. Holds one frame at a time, so the size of the file does not matter.
class CaptureReader {
 public:
  /// Throws Failure: environment where the file cannot be opened, bad_input where it is empty,
  /// compressed, no capture, or of a link type that is not read here.
  explicit CaptureReader(const std::string& path);
  ~CaptureReader();
  CaptureReader(const CaptureReader&) = delete;
  CaptureReader& operator=(const CaptureReader&) = delete;

  /// The next frame, or false at the end. Throws Failure (bad_input) that names the packet at
  /// which the file breaks off or goes wrong.
  bool next(CapturedFrame& out);
  LinkLayer link() const { return link_; }
  const std::string& path() const { return path_; }

 private:
  struct Handle;

  std::string path_;
  LinkLayer link_ = LinkLayer::ethernet;
  std::uint64_t read_ = 0;
  std::unique_ptr<Handle> handle_;
};

}  // namespace lockstep::tools
