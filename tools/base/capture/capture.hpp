// Reads pcap and pcapng files as a stream of packets; errors name the packet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/units/time.hpp"

namespace lockstep::tools {

/// The link layers that are read. Any other is refused by name.
enum class LinkLayer : std::uint8_t {
  ethernet,
  raw_ip,
  linux_cooked,
  linux_cooked_2,
  loopback,
  ppp,    ///< also written by ns-3's point-to-point device
  pktap,  ///< Apple's, of tcpdump without -i: each packet names the link layer behind its header
};

/// The link layer of libpcap's number for it; nothing: it is not read.
std::optional<LinkLayer> link_layer_of(int type);

/// One captured frame.
struct CapturedFrame {
  std::uint64_t number = 0;          ///< from 1, as in Wireshark
  Instant time;                      ///< since 1970
  std::uint32_t original_bytes = 0;  ///< on the wire; more than bytes.size() if truncated
  std::vector<std::byte> bytes;
  bool is_cut() const { return bytes.size() < original_bytes; }
};

/// An open capture: a file, plain or gzipped, a pipe, or standard input ("-"). Holds one frame at a
/// time, so memory does not depend on the size of the file.
class CaptureReader {
 public:
  /// Throws Failure: environment if the file cannot be opened; bad_input if it does not exist, is
  /// empty, is compressed otherwise, is not a capture, or has an unsupported link type.
  explicit CaptureReader(const std::string& path);
  ~CaptureReader();
  CaptureReader(const CaptureReader&) = delete;
  CaptureReader& operator=(const CaptureReader&) = delete;

  /// Reads the next frame; false at the end. Throws Failure (bad_input) naming the packet at which
  /// the file is invalid. A file truncated within a packet ends before that packet.
  bool next(CapturedFrame& out);
  /// The link layer of the frame read last; interfaces of a pcapng file may differ.
  LinkLayer link() const { return link_; }
  /// The interface of the frame read last; 0 in a pcap file.
  std::uint32_t interface() const { return interface_; }
  /// After the end: one line that tells where the file was truncated; empty if it is whole.
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
  std::uint32_t interface_ = 0;
  std::uint64_t read_ = 0;
  std::string warning_;
  std::unique_ptr<Handle> handle_;
};

}  // namespace lockstep::tools
