// Packets as fixed-width records of consecutive fields, for numpy arrays.
#include "tools/python/fields.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "core/units/check.hpp"
#include "core/wire/checksum.hpp"
#include "core/wire/ipv4.hpp"
#include "core/wire/ipv6.hpp"
#include "core/wire/tcp.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::tools::python {
namespace {

constexpr std::uint16_t flags_max = 0x1ff;  // the highest flag is AE
constexpr std::uint32_t packet_bytes_max = 65'535;

[[noreturn]] void wrong(const std::string& what) { throw Failure(ExitCode::bad_input, what); }

struct Record {
  std::uint64_t at = 0;
  std::uint8_t version = 0, protocol = 0, ttl = 0, tos = 0;
  std::uint32_t length = 0;
  IpAddress source, destination;
  wire::Segment segment;
  std::uint16_t flags = 0;
  std::uint32_t payload = 0;
  bool checksum_good = false;
};

class Writer {
 public:
  explicit Writer(std::vector<std::byte>& into) : into_(into) {}

  template <class T>
  void number(T value) {
    for (std::size_t i = 0; i < sizeof value; ++i) {
      into_.push_back(static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * i)));
    }
  }
  void address(const IpAddress& value) {
    for (std::uint64_t const half : {value.high, value.low}) {
      for (int shift = 56; shift >= 0; shift -= 8) {
        into_.push_back(static_cast<std::byte>(half >> shift));
      }
    }
  }

 private:
  std::vector<std::byte>& into_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> from) : from_(from) {}

  template <class T>
  T number() {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      value |= std::to_integer<std::uint64_t>(from_[i]) << (8 * i);
    }
    from_ = from_.subspan(sizeof(T));
    return static_cast<T>(value);
  }
  IpAddress address() {
    IpAddress out;
    for (std::uint64_t* const half : {&out.high, &out.low}) {
      for (int i = 0; i < 8; ++i) {
        *half = *half << 8 | std::to_integer<std::uint64_t>(from_[static_cast<std::size_t>(i)]);
      }
      from_ = from_.subspan(8);
    }
    return out;
  }

 private:
  std::span<const std::byte> from_;
};

void write_record(const Record& record, Writer out) {
  wire::Segment const& tcp = record.segment;
  wire::Options const& options = tcp.options;
  out.number(record.at);
  out.number(record.version);
  out.number(record.protocol);
  out.number(record.ttl);
  out.number(record.tos);
  out.number(record.length);
  out.address(record.source);
  out.address(record.destination);
  out.number(tcp.source.value);
  out.number(tcp.destination.value);
  out.number(tcp.sequence.value);
  out.number(tcp.acknowledgment.value);
  out.number(record.flags);
  out.number(tcp.window.value);
  out.number(tcp.urgent);
  out.number(options.mss);
  out.number(options.has_window_scale ? options.window_scale.shift : std::uint8_t{0xff});
  out.number(static_cast<std::uint8_t>(options.has_sack_permitted));
  out.number(options.timestamp_value);
  out.number(options.timestamp_echo);
  out.number(static_cast<std::uint8_t>(options.has_timestamps));
  out.number(options.sack_count);
  for (wire::SackBlock const& block : options.sack) {
    out.number(block.begin.value);
    out.number(block.end.value);
  }
  out.number(record.payload);
  out.number(static_cast<std::uint8_t>(record.checksum_good));
}

Record read_record(Reader in) {
  Record out;
  wire::Segment& tcp = out.segment;
  wire::Options& options = tcp.options;
  out.at = in.number<std::uint64_t>();
  out.version = in.number<std::uint8_t>();
  out.protocol = in.number<std::uint8_t>();
  out.ttl = in.number<std::uint8_t>();
  out.tos = in.number<std::uint8_t>();
  out.length = in.number<std::uint32_t>();
  out.source = in.address();
  out.destination = in.address();
  tcp.source.value = in.number<std::uint16_t>();
  tcp.destination.value = in.number<std::uint16_t>();
  tcp.sequence.value = in.number<std::uint32_t>();
  tcp.acknowledgment.value = in.number<std::uint32_t>();
  out.flags = in.number<std::uint16_t>();
  tcp.window.value = in.number<std::uint16_t>();
  tcp.urgent = in.number<std::uint16_t>();
  options.mss = in.number<std::uint16_t>();
  options.has_mss = options.mss != 0;
  options.window_scale.shift = in.number<std::uint8_t>();
  options.has_window_scale = options.window_scale.shift != 0xff;
  options.has_sack_permitted = in.number<std::uint8_t>() != 0;
  options.timestamp_value = in.number<std::uint32_t>();
  options.timestamp_echo = in.number<std::uint32_t>();
  options.has_timestamps = in.number<std::uint8_t>() != 0;
  options.sack_count = in.number<std::uint8_t>();
  for (wire::SackBlock& block : options.sack) {
    block.begin.value = in.number<std::uint32_t>();
    block.end.value = in.number<std::uint32_t>();
  }
  out.payload = in.number<std::uint32_t>();
  out.checksum_good = in.number<std::uint8_t>() != 0;
  return out;
}

/// Reads the fields of IP; returns the TCP segment, or nothing if the packet is not a whole one.
std::span<const std::byte> read_ip(std::span<const std::byte> packet, Record& out) {
  wire::Ipv4Packet four;
  wire::Ipv6Packet six;
  std::span<const std::byte> payload;
  if (wire::parse(packet, four) == Drop::none) {
    out.version = 4;
    out.protocol = static_cast<std::uint8_t>(four.header.protocol);
    out.ttl = four.header.time_to_live;
    out.tos = four.header.traffic_class;
    out.length = static_cast<std::uint32_t>(four.bytes.size());
    out.source = four.header.source;
    out.destination = four.header.destination;
    return four.header.is_fragment() ? payload : four.payload;
  }
  if (wire::parse(packet, six) == Drop::none) {
    bool const whole = wire::walk(six) == Drop::none && !six.has_fragment;
    out.version = 6;
    out.protocol = whole ? static_cast<std::uint8_t>(six.protocol) : six.header.next_header;
    out.ttl = six.header.hop_limit;
    out.tos = six.header.traffic_class;
    out.length = static_cast<std::uint32_t>(six.bytes.size());
    out.source = six.header.source;
    out.destination = six.header.destination;
    return whole ? six.payload : payload;
  }
  return payload;
}

void check(const Record& record) {
  wire::Options const& options = record.segment.options;
  bool const v4 = record.source.is_v4();
  if (record.version != 4 && record.version != 6) {
    wrong(fmt::format("version is {}, expected 4 or 6", record.version));
  }
  if (v4 != (record.version == 4) || v4 != record.destination.is_v4()) {
    wrong("the addresses are of another version, expected ::ffff:a.b.c.d where version is 4");
  }
  if (record.protocol != 6) {
    wrong(fmt::format("protocol is {}, expected 6, which is TCP", record.protocol));
  }
  if (record.flags > flags_max) {
    wrong(fmt::format("flags is {}, expected 0 to {}", record.flags, flags_max));
  }
  if (options.has_window_scale && options.window_scale.shift > 14) {
    wrong("window_scale is out of range, expected 0 to 14, or -1 for none");
  }
  if (options.sack_count > wire::sack_blocks_max ||
      wire::options_bytes(options).count > wire::tcp_options_bytes_max) {
    wrong("sack_count is too large, expected blocks that fit beside the other options");
  }
}

}  // namespace

void append_record(Instant at, std::span<const std::byte> packet, std::vector<std::byte>& into) {
  Record record;
  record.at = at.ns;
  auto const segment = read_ip(packet, record);
  bool const is_tcp = record.protocol == 6 && !segment.empty();
  if (is_tcp && wire::parse(segment, record.segment) == Drop::none) {
    record.flags = static_cast<std::uint16_t>(
        record.segment.flags.bits | (std::to_integer<std::uint16_t>(segment[12]) & 1) << 8);
    record.payload = static_cast<std::uint32_t>(record.segment.payload.size());
    Bytes const length{static_cast<std::uint32_t>(segment.size())};
    record.checksum_good = wire::checksum_verifies(
        {record.source, record.destination, record.protocol, length}, segment);
  } else {
    record.segment = {};
  }
  std::size_t const before = into.size();
  write_record(record, Writer(into));
  CHECK(into.size() - before == record_bytes);
}

std::vector<std::byte> packet_of(std::span<const std::byte> bytes,
                                 std::span<const std::byte> payload) {
  CHECK(bytes.size() == record_bytes);
  Record record = read_record(Reader(bytes));
  check(record);
  wire::Segment& segment = record.segment;
  segment.flags.bits = static_cast<std::uint8_t>(record.flags);
  segment.payload = payload;
  std::array<std::byte, wire::tcp_header_bytes_max> header{};
  Bytes const header_length = wire::write(segment, header);
  header[12] |= static_cast<std::byte>(record.flags >> 8);
  Bytes const length = header_length + Bytes{static_cast<std::uint32_t>(payload.size())};
  if (length.count + wire::ipv6_header_bytes > packet_bytes_max) {
    wrong(fmt::format("a packet has {} bytes of payload, expected fewer", payload.size()));
  }
  wire::write_checksum(header, header_length,
                       {record.source, record.destination, record.protocol, length},
                       wire::sum(payload));
  std::vector<std::byte> out(wire::ipv6_header_bytes);
  Bytes ip;
  if (record.version == 4) {
    wire::Ipv4Header four;
    four.source = record.source;
    four.destination = record.destination;
    four.protocol = wire::IpProtocol::tcp;
    four.time_to_live = record.ttl;
    four.traffic_class = record.tos;
    four.dont_fragment = true;
    ip = wire::write(four, length, out);
  } else {
    wire::Ipv6Header const six{.source = record.source,
                               .destination = record.destination,
                               .next_header = record.protocol,
                               .hop_limit = record.ttl,
                               .traffic_class = record.tos};
    ip = wire::write(six, length, out);
  }
  out.resize(ip.count);
  out.insert(out.end(), header.begin(), header.begin() + header_length.count);
  out.insert(out.end(), payload.begin(), payload.end());
  return out;
}

}  // namespace lockstep::tools::python
