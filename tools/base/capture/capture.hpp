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

/// One open capture: a file, packed by gzip or not, a pipe, or standard input ("-"). Holds one
/// frame at a time, so the size of the file does not matter.
class CaptureReader {
 public:
  /// Throws Failure: environment where the file cannot be opened, bad_input where it is not there,
  /// empty, packed otherwise, no capture, or of a link type that is not read here.
  explicit CaptureReader(const std::string& path);
  ~CaptureReader();
  CaptureReader(const CaptureReader&) = delete;
  CaptureReader& operator=(const CaptureReader&) = delete;

  /// The next frame, or false at the end. Throws Failure (bad_input) that names the packet at
  /// which the file goes wrong. A file that breaks off within a packet ends before it.
  bool next(CapturedFrame& out);
  /// Of the frame that was read last: the interfaces of a pcapng file may differ.
  LinkLayer link() const { return link_; }
  /// After the end: one line that says where the file broke off; empty if it is whole.
  const std::string& warning() const { return warning_; }
  const std::string& path() const { return path_; }

 private:
  struct Handle;

  bool next_record(CapturedFrame& out);
  bool next_block(CapturedFrame& out);
  bool cut_here();
  [[noreturn]] void refuse_packet(const std::string& why) const;

  std::string path_;
  LinkLayer link_ = LinkLayer::ethernet;
  std::uint64_t read_ = 0;
  std::string warning_;
  std::unique_ptr<Handle> handle_;
};

}  // namespace lockstep::tools
