// Chooses the packets that are kept, and writes them.
#include "tools/verbs/anonymise/anonymise.hpp"

#include <algorithm>
#include <limits>

#include "tools/base/output/progress.hpp"
#include "tools/verbs/anonymise/secret.hpp"

namespace lockstep::tools {
namespace {

/// 2000-01-01 00:00:00 UTC.
constexpr Instant first_instant{946'684'800'000'000'000};

Sort sort_of(const CapturedFrame& frame, LinkLayer link, const Decoded& decoded) {
  switch (decoded.kind) {
    case FrameKind::tcp:
      return Sort::tcp;
    case FrameKind::icmp_error:
      return Sort::icmp_error;
    case FrameKind::not_ip:
      return arp_of(frame, link) ? Sort::arp : Sort::other_not_ip;
    case FrameKind::not_tcp:
      return Sort::other_ip;
    case FrameKind::fragment:
      return Sort::fragment;
    case FrameKind::cut_short:
      return Sort::cut_short;
    case FrameKind::malformed:
      break;
  }
  return Sort::malformed;
}

/// The addresses that all packets of a kind are from or to. `replay` reads from them, and from
/// whether something was not IP, that no filter excluded ICMP errors from the capture. So the
/// packets by which they change are kept.
class CommonAddresses {
 public:
  bool change(const Segment& segment) {
    std::array<IpAddress, 2> const now{segment.source.address, segment.destination.address};
    std::optional<std::array<IpAddress, 2>> const before = all_;
    if (now[0].is_unspecified()) {
      return false;
    }
    all_ = all_ ? all_ : now;
    for (IpAddress& address : *all_) {
      address = address == now[0] || address == now[1] ? address : IpAddress{};
    }
    return all_ != before;
  }

 private:
  std::optional<std::array<IpAddress, 2>> all_;
};

class Chooser {
 public:
  explicit Chooser(const Selection& selection) : selection_(selection) {}

  bool keeps(const CapturedFrame& frame, Sort sort, const Decoded& decoded) {
    if (frame.number < selection_.first || frame.number > selection_.last) {
      return false;
    }
    bool const begins = !begun_;  // `replay` needs the time at which the capture began
    begun_ = true;
    switch (sort) {
      case Sort::tcp:
        return selection_.has(pair_of(decoded.segment.source, decoded.segment.destination));
      case Sort::icmp_error: {
        bool const changes = errors_.change(decoded.segment);
        return changes ||
               selection_.has(pair_of(decoded.icmp.quoted_source, decoded.icmp.quoted_destination));
      }
      case Sort::other_ip:
        return others_.change(decoded.segment) || begins;
      case Sort::arp:
        not_ip_ = true;
        return true;
      case Sort::other_not_ip:
        return !std::exchange(not_ip_, true) || begins;
      case Sort::fragment:
        return may_concern(decoded.segment);
      case Sort::cut_short:
      case Sort::malformed:
        break;
    }
    return true;
  }

 private:
  /// Whether the fragment may hide octets of the connection.
  bool may_concern(const Segment& fragment) const {
    IpAddress const& source = fragment.source.address;
    if (!selection_.only || source == IpAddress{}) {
      return true;
    }
    auto const& [one, other] = *selection_.only;
    return std::minmax(source, fragment.destination.address) ==
           std::minmax(one.address, other.address);
  }

  const Selection& selection_;
  CommonAddresses errors_, others_;
  bool not_ip_ = false;
  bool begun_ = false;
};

/// Interfaces in the order of their first packets: `lint` compares the times of each.
class Interfaces {
 public:
  explicit Interfaces(sim::PcapngWriter& writer) : writer_(writer) {}

  std::uint32_t of(std::uint32_t before) {
    auto const [found, is_new] =
        numbers_.emplace(before, static_cast<std::uint32_t>(numbers_.size()));
    if (is_new) {
      writer_.interface(sim::CaptureLink::ethernet, "anonymised");
    }
    return found->second;
  }

 private:
  sim::PcapngWriter& writer_;
  std::map<std::uint32_t, std::uint32_t> numbers_;
};

}  // namespace

EndPair pair_of(const Endpoint& one, const Endpoint& other) { return std::minmax(one, other); }

bool Selection::has(const EndPair& pair) const {
  return (!only || *only == pair) && !without.contains(pair);
}

std::string_view name_of(Sort sort) {
  constexpr std::array<std::string_view, sort_count> names{"TCP",       "ICMP error about TCP",
                                                           "ARP",       "other not IP",
                                                           "other IP",  "fragment",
                                                           "cut short", "malformed"};
  return names[static_cast<std::size_t>(sort)];
}

Anonymiser::Anonymiser(const AnonymiseOptions& options) : options_(options) {
  SecretOf secret;
  Hosts hosts;
  CaptureReader reader(options.capture);
  CapturedFrame frame;
  while (reader.next(frame)) {
    ++packets_;
    secret.take(frame);
    earliest_ = earlier(earliest_, frame.time);
    Decoded const decoded = decode(frame, reader.link());
    if (decoded.kind == FrameKind::tcp) {
      hosts.take(decoded.segment);
    }
  }
  warning_ = reader.warning();
  aliases_ = std::make_unique<Aliases>(secret.secret(options.seed), std::move(hosts),
                                       options.keep_numbers);
}

Instant Anonymiser::shifted(Instant time) const { return first_instant + time.since(earliest_); }

AnonymiseCounts Anonymiser::write(const Selection& selection, sim::ByteSink& sink,
                                  const OnPacket& on_packet) {
  AnonymiseCounts out;
  aliases_->begin();
  sim::PcapngWriter writer(sink);
  Interfaces interfaces(writer);
  Chooser chooser(selection);
  Rebuilder rebuilder(*aliases_);
  Progress progress;
  CaptureReader reader(options_.capture);
  CapturedFrame frame;
  // Not what was appended since the first pass: its hosts are unknown.
  while (out.packets_in < packets_ && reader.next(frame)) {
    ++out.packets_in;
    Decoded const decoded = decode(frame, reader.link());
    Sort const sort = sort_of(frame, reader.link(), decoded);
    bool const kept = chooser.keeps(frame, sort, decoded);
    ++(kept ? out.kept : out.dropped)[static_cast<std::size_t>(sort)];
    if (progress.is_due()) {
      progress.draw(out.packets_in, packets_, "packets");
    }
    if (!kept) {
      continue;
    }
    Rebuilt const rebuilt = rebuilder.rebuild(frame, reader.link(), decoded);
    writer.packet({interfaces.of(reader.interface()),
                   shifted(frame.time),
                   sim::CaptureWay::unknown,
                   rebuilt.bytes,
                   {},
                   rebuilt.cut});
    on_packet(frame.number, ++out.packets_out);
  }
  out.replaced = rebuilder.counts();
  return out;
}

}  // namespace lockstep::tools
