// Reads pcap and pcapng files through libpcap, after a look at what the file begins with.
#include "tools/capture/capture.hpp"

#include <fmt/core.h>
#include <pcap/pcap.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "tools/cli/failure.hpp"

namespace lockstep::tools {

struct CaptureReader::Handle {
  pcap_t* pcap = nullptr;
  std::FILE* file = nullptr;

  ~Handle() {
    if (pcap != nullptr) {
      pcap_close(pcap);  // closes the file as well
    } else if (file != nullptr) {
      std::fclose(file);
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

/// What people hand over in place of a capture, each with the way to make one of it.
constexpr std::array strangers{
    Magic{"\x1f\x8b"sv, "gzip-compressed", "unpack it with gunzip"},
    Magic{"\x28\xb5\x2f\xfd"sv, "zstd-compressed", "unpack it with unzstd"},
    Magic{"\xfd"
          "7zXZ"sv,
          "xz-compressed", "unpack it with unxz"},
    Magic{"BZh"sv, "bzip2-compressed", "unpack it with bunzip2"},
    Magic{"\x04\x22\x4d\x18"sv, "lz4-compressed", "unpack it with unlz4"},
    Magic{"PK\x03\x04"sv, "a zip archive", "unpack it with unzip"},
    Magic{"snoop\0\0\0"sv, "a snoop capture", "convert it with editcap -F pcapng"},
};

constexpr std::array captures{"\xa1\xb2\xc3\xd4"sv, "\xd4\xc3\xb2\xa1"sv, "\xa1\xb2\x3c\x4d"sv,
                              "\x4d\x3c\xb2\xa1"sv, "\x0a\x0d\x0d\x0a"sv, "\xa1\xb2\xcd\x34"sv,
                              "\x34\xcd\xb2\xa1"sv};

[[noreturn]] void refuse(const std::string& path, const std::string& rest) {
  throw Failure(ExitCode::bad_input, fmt::format("{}: {}", path, rest));
}

/// Throws unless the file begins as a capture does; leaves it at its beginning.
void check_magic(const std::string& path, std::FILE* file) {
  std::array<char, 8> head{};
  std::size_t const got = std::fread(head.data(), 1, head.size(), file);
  std::string_view const begin(head.data(), got);
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
}

LinkLayer link_layer(const std::string& path, int type) {
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
      return LinkLayer::ppp;
    default:
      break;
  }
  const char* name = pcap_datalink_val_to_name(type);
  refuse(path, fmt::format("link type {} ({}) is not read here; expected Ethernet, raw IP, Linux "
                           "cooked (v1, v2), loopback or PPP: record it on such an interface",
                           type, name != nullptr ? name : "unknown"));
}

}  // namespace

CaptureReader::CaptureReader(const std::string& path)
    : path_(path), handle_(std::make_unique<Handle>()) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    refuse(path, "is a folder; expected a capture file: name the file in it");
  }
  handle_->file = std::fopen(path.c_str(), "rb");
  if (handle_->file == nullptr) {
    bool const missing = errno == ENOENT;
    throw Failure(missing ? ExitCode::bad_input : ExitCode::environment,
                  fmt::format("{}: cannot be opened ({}); expected a capture file: {}", path,
                              std::strerror(errno),
                              missing ? "check the path" : "ask for the right to read it"));
  }
  check_magic(path, handle_->file);
  std::array<char, PCAP_ERRBUF_SIZE> why{};
  handle_->pcap = pcap_fopen_offline_with_tstamp_precision(handle_->file,
                                                           PCAP_TSTAMP_PRECISION_NANO, why.data());
  if (handle_->pcap == nullptr) {
    refuse(path, fmt::format("the file header is broken ({}); expected a whole pcap or pcapng "
                             "file: copy or record it again",
                             why.data()));
  }
  link_ = link_layer(path, pcap_datalink(handle_->pcap));
}

CaptureReader::~CaptureReader() = default;

bool CaptureReader::next(CapturedFrame& out) {
  pcap_pkthdr* header = nullptr;
  const unsigned char* data = nullptr;
  int const got = pcap_next_ex(handle_->pcap, &header, &data);
  if (got == PCAP_ERROR_BREAK) {
    return false;
  }
  if (got != 1) {
    refuse(path_, fmt::format("packet {}: {}; expected a whole packet: record it again, or save "
                              "what is good with editcap {} good.pcapng",
                              read_ + 1, pcap_geterr(handle_->pcap), path_));
  }
  ++read_;
  if (header->ts.tv_sec < 0 || header->ts.tv_usec < 0) {
    refuse(path_, fmt::format("packet {}: its time lies before 1970; expected a time since then: "
                              "shift it with editcap -t",
                              read_));
  }
  out.number = read_;
  out.time = Instant{} + Duration::seconds(static_cast<std::uint64_t>(header->ts.tv_sec)) +
             Duration::nanoseconds(static_cast<std::uint64_t>(header->ts.tv_usec));
  out.original_bytes = std::max(header->len, header->caplen);
  const auto* first = reinterpret_cast<const std::byte*>(data);
  out.bytes.assign(first, first + header->caplen);
  return true;
}

}  // namespace lockstep::tools
