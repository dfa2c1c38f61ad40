// Reads pcap files through libpcap and pcapng files block by block, chosen by the file's first
// bytes.
#include "tools/base/capture/capture.hpp"

#include <fmt/core.h>
#include <pcap/pcap.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>

#include "tools/base/capture/pcapng_reader.hpp"
#include "tools/base/capture/source.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::tools {

struct CaptureReader::Handle {
  CaptureSource source;
  pcap_t* pcap = nullptr;              ///< for a pcap file
  std::optional<PcapngReader> blocks;  ///< for a pcapng file

  explicit Handle(const std::string& path) : source(path) {}
  ~Handle() {
    if (pcap != nullptr) {
      pcap_close(pcap);
    }
  }
};

namespace {

struct Magic {
  std::string_view bytes;
  std::string_view what;
  std::string_view mend;
};

using namespace std::string_view_literals;

/// Files often given in place of a capture, each with the command that makes a capture of it.
constexpr std::array strangers{
    Magic{"\x1f\x8b"sv, "compressed twice", "unpack it with gunzip"},
    Magic{"\x28\xb5\x2f\xfd"sv, "zstd-compressed", "unpack it with unzstd"},
    Magic{"\xfd"
          "7zXZ"sv,
          "xz-compressed", "unpack it with unxz"},
    Magic{"BZh"sv, "bzip2-compressed", "unpack it with bunzip2"},
    Magic{"\x04\x22\x4d\x18"sv, "lz4-compressed", "unpack it with unlz4"},
    Magic{"PK\x03\x04"sv, "a zip archive", "unpack it with unzip"},
    Magic{"snoop\0\0\0"sv, "a snoop capture", "convert it with editcap -F pcapng"},
};

constexpr std::string_view pcapng_magic = "\x0a\x0d\x0d\x0a"sv;
constexpr std::array captures{pcapng_magic,         "\xa1\xb2\xc3\xd4"sv, "\xd4\xc3\xb2\xa1"sv,
                              "\xa1\xb2\x3c\x4d"sv, "\x4d\x3c\xb2\xa1"sv, "\xa1\xb2\xcd\x34"sv,
                              "\x34\xcd\xb2\xa1"sv};

[[noreturn]] void refuse(const std::string& path, const std::string& rest) {
  throw Failure(ExitCode::bad_input, fmt::format("{}: {}", path, rest));
}

/// Returns whether the file is pcapng; throws unless it begins as a capture. Rewinds it.
bool check_magic(const std::string& path, std::FILE* file, const CaptureSource& source) {
  std::array<char, 8> head{};
  std::size_t const got = std::fread(head.data(), 1, head.size(), file);
  std::string_view const begin(head.data(), got);
  if (got == 0 && !source.damage().empty()) {
    refuse(path, fmt::format("{}; expected gzip data that is whole: see what gunzip can read",
                             source.damage()));
  }
  if (got == 0) {
    refuse(path, "the file is empty; expected a pcap or pcapng capture: record it again");
  }
  for (const Magic& stranger : strangers) {
    if (begin.starts_with(stranger.bytes)) {
      refuse(path, fmt::format("byte 0: the file is {}; expected a pcap or pcapng capture: {}",
                               stranger.what, stranger.mend));
    }
  }
  bool const known = std::any_of(captures.begin(), captures.end(),
                                 [&](std::string_view magic) { return begin.starts_with(magic); });
  if (!known) {
    refuse(path,
           "byte 0: not a capture; expected the magic number of pcap or pcapng: convert it "
           "with editcap -F pcapng, or record it with tcpdump -w");
  }
  std::rewind(file);
  return begin.starts_with(pcapng_magic);
}

LinkLayer link_layer(const std::string& path, int type) {
  if (std::optional<LinkLayer> const known = link_layer_of(type)) {
    return *known;
  }
  const char* name = pcap_datalink_val_to_name(type);
  refuse(path, fmt::format("link type {} ({}) is not supported; expected Ethernet, raw IP, Linux "
                           "cooked (v1, v2), loopback, PPP or PKTAP: record it on such an "
                           "interface",
                           type, name != nullptr ? name : "unknown"));
}

}  // namespace

std::optional<LinkLayer> link_layer_of(int type) {
  switch (type) {
    case DLT_EN10MB:
      return LinkLayer::ethernet;
    case DLT_RAW:
    case 14:   // DLT_RAW of some BSDs
    case 101:  // LINKTYPE_RAW
    case 228:  // LINKTYPE_IPV4
    case 229:  // LINKTYPE_IPV6
      return LinkLayer::raw_ip;
    case DLT_LINUX_SLL:
      return LinkLayer::linux_cooked;
    case DLT_LINUX_SLL2:
      return LinkLayer::linux_cooked_2;
    case DLT_NULL:
    case DLT_LOOP:
      return LinkLayer::loopback;
    case DLT_PPP:
    case DLT_PPP_SERIAL:
      return LinkLayer::ppp;
    case 258:  // LINKTYPE_PKTAP
      return LinkLayer::pktap;
    default:
      return std::nullopt;
  }
}

CaptureReader::CaptureReader(const std::string& path)
    : path_(path), handle_(std::make_unique<Handle>(path)) {
  std::FILE* const file = handle_->source.stream();
  if (file == nullptr) {
    throw Failure(ExitCode::environment,
                  fmt::format("{}: cannot be read ({})", path, std::strerror(errno)));
  }
  bool const is_pcapng = check_magic(path, file, handle_->source);
  if (is_pcapng) {
    handle_->blocks.emplace(file);
    return;
  }
  std::array<char, PCAP_ERRBUF_SIZE> why{};
  handle_->pcap =
      pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, why.data());
  if (handle_->pcap == nullptr) {
    refuse(path, fmt::format("the file header is broken ({}); expected a whole pcap or pcapng "
                             "file: copy or record it again",
                             why.data()));
  }
  handle_->source.release();  // pcap_close closes it
  link_ = link_layer(path, pcap_datalink(handle_->pcap));
}

CaptureReader::~CaptureReader() = default;

bool CaptureReader::cut_here() {
  const std::string& damage = handle_->source.damage();
  std::string const how = damage.empty() ? "the file is truncated" : damage;
  if (read_ == 0) {
    refuse(path_, fmt::format("packet 1: {}; expected a whole packet: record it again", how));
  }
  warning_ = fmt::format("{}: packet {}: {}; the {} before it are used", path_, read_ + 1, how,
                         read_ == 1 ? "packet" : fmt::format("{} packets", read_));
  return false;
}

void CaptureReader::refuse_packet(const std::string& why) const {
  refuse(path_, fmt::format("packet {}: {}; expected a whole packet: record it again, or save "
                            "what is good with editcap {} good.pcapng",
                            read_ + 1, why, path_));
}

bool CaptureReader::next_block(CapturedFrame& out) {
  PcapngReader::Packet packet;
  switch (handle_->blocks->next(packet)) {
    case PcapngReader::Outcome::end:
      return handle_->source.damage().empty() ? false : cut_here();
    case PcapngReader::Outcome::cut:
      return cut_here();
    case PcapngReader::Outcome::broken:
      refuse_packet(handle_->blocks->why());
    case PcapngReader::Outcome::packet:
      break;
  }
  link_ = link_layer(path_, packet.link_type);
  interface_ = packet.interface;
  out.time = packet.time;
  out.original_bytes = packet.original_bytes;
  out.bytes.assign(packet.bytes.begin(), packet.bytes.end());
  return true;
}

bool CaptureReader::next_record(CapturedFrame& out) {
  pcap_pkthdr* header = nullptr;
  const unsigned char* data = nullptr;
  int const got = pcap_next_ex(handle_->pcap, &header, &data);
  if (got == PCAP_ERROR_BREAK) {
    return handle_->source.damage().empty() ? false : cut_here();
  }
  if (got != 1) {
    std::string_view const why = pcap_geterr(handle_->pcap);
    if (why.starts_with("truncated")) {
      return cut_here();
    }
    refuse_packet(std::string(why));
  }
  // The file's seconds are unsigned 32-bit, valid until 2106, but libpcap treats them as signed.
  auto const seconds = static_cast<std::uint32_t>(header->ts.tv_sec);
  if (header->ts.tv_usec < 0) {
    refuse_packet("its time has a negative fraction");
  }
  out.time = Instant{} + Duration::seconds(seconds) +
             Duration::nanoseconds(static_cast<std::uint64_t>(header->ts.tv_usec));
  out.original_bytes = header->len;
  const auto* first = reinterpret_cast<const std::byte*>(data);
  out.bytes.assign(first, first + header->caplen);
  return true;
}

bool CaptureReader::next(CapturedFrame& out) {
  if (!warning_.empty() || !(handle_->blocks ? next_block(out) : next_record(out))) {
    return false;
  }
  out.number = ++read_;
  out.original_bytes = std::max(out.original_bytes, static_cast<std::uint32_t>(out.bytes.size()));
  return true;
}

}  // namespace lockstep::tools
