// Reads pcapng block by block: several interfaces, each with its link type, snap length and clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "core/units/time.hpp"

namespace lockstep::tools {

/// Needed because libpcap refuses files whose interfaces differ in snap length or link type.
/// Wireshark writes such files when it records on two interfaces, and mergecap when it merges two
/// files.
class PcapngReader {
 public:
  /// A packet and the fields of its block.
  struct Packet {
    std::uint32_t interface = 0;  ///< its number in the section
    int link_type = 0;            ///< LINKTYPE_ number
    Instant time;                 ///< since 1970; 0 if the block has no time
    std::uint32_t original_bytes = 0;
    std::span<const std::byte> bytes;  ///< valid until the next call
  };
  enum class Outcome : std::uint8_t {
    packet,
    end,
    cut,     ///< the file ends within a block
    broken,  ///< `why` gives the reason
  };

  /// `file` must be at its first block and outlive the reader.
  explicit PcapngReader(std::FILE* file) : file_(file) {}

  /// Reads the next packet of any interface. Any result other than `packet` is final.
  Outcome next(Packet& out);
  const std::string& why() const { return why_; }

 private:
  using Bytes = std::span<const std::byte>;
  struct Interface {
    int link_type = 0;
    std::uint32_t snap_bytes = 0;  ///< 0: no limit
    std::uint8_t resolution = 6;   ///< if_tsresol: a power of ten, or with the top bit of two
    std::int64_t offset_seconds = 0;
  };

  Outcome read_block(std::uint32_t& type);
  Outcome read_section(Bytes head);
  Outcome read_body(std::uint32_t length, Bytes begun);
  bool add_interface();
  bool read_packet(std::uint32_t type, Packet& out);
  bool read_options(std::size_t at, Interface& out);
  bool set_time(const Interface& from, std::uint64_t stamp, Instant& out);
  bool complain(std::string what);

  std::uint16_t word(std::size_t at) const;
  std::uint32_t number(std::size_t at) const;

  std::FILE* file_;
  bool little_ = true;
  std::vector<Interface> interfaces_;
  std::vector<std::byte> body_;  ///< of the current block, without its type and lengths
  std::string why_;
};

}  // namespace lockstep::tools
