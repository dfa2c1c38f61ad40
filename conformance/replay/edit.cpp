// Applies one edit: a field changed, a packet dropped, delayed or inserted.
#include "conformance/replay/edit.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "conformance/replay/options.hpp"
#include "conformance/replay/script.hpp"
#include "tools/base/capture/octets.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::conformance {
namespace {

using tools::Segment;

[[noreturn]] void refuse(const Scenario& scenario, const Edit& edit, const char* what) {
  throw tools::Failure(
      tools::ExitCode::bad_input,
      fmt::format("{}: packet {}: {}; expected a packet of the device: correct the "
                  "twin's number",
                  scenario.path, edit.packet, what));
}

/// The initial sequence number of a side before `end`, or zero if it sent no SYN.
std::uint32_t latest_isn(const Flow& flow, const Endpoint& side, std::size_t end) {
  std::uint32_t isn = 0;
  for (std::size_t i = 0; i < end; ++i) {
    const Segment& segment = flow.segments[i];
    if (is_from(segment, side) && segment.any(tools::tcp_flag::syn)) {
      isn = segment.sequence;
    }
  }
  return isn;
}

std::uint32_t changed(std::uint32_t value, const Edit& edit) {
  std::int64_t const base = edit.value ? *edit.value : std::int64_t{value} + edit.add;
  return static_cast<std::uint32_t>(base);
}

void change_mss(Segment& segment, const Edit& edit) {
  for (std::size_t at = 0; at + 4 <= segment.options.size(); ++at) {
    if (segment.options[at] == std::byte{2} && segment.options[at + 1] == std::byte{4}) {
      std::uint16_t const mss = tools::word_at(segment.options, at + 2);
      tools::set_word(segment.options, at + 2, static_cast<std::uint16_t>(changed(mss, edit)));
      return;
    }
  }
}

void put_number(Segment& segment, std::size_t at, const Edit& edit) {
  std::uint32_t const number = changed(tools::long_at(segment.options, at), edit);
  tools::set_word(segment.options, at, static_cast<std::uint16_t>(number >> 16));
  tools::set_word(segment.options, at + 2, static_cast<std::uint16_t>(number));
}

void change_option(Segment& segment, const Edit& edit) {
  bool const sack = edit.field == Field::sack;
  std::uint8_t const kind = sack ? option_kind::sack : option_kind::timestamps;
  auto const place = place_of_option(segment, kind);
  if (!place) {
    return;
  }
  if (edit.field != Field::echo && edit.value == 0) {
    remove_option(segment, kind);
    return;
  }
  put_number(segment, *place + (edit.field == Field::echo ? 4 : 0), edit);
  if (sack) {
    put_number(segment, *place + 4, edit);
  }
}

void change_field(Segment& segment, const Edit& edit) {
  switch (edit.field) {
    case Field::sequence:
      segment.sequence = changed(segment.sequence, edit);
      break;
    case Field::acknowledgment:
      segment.acknowledgment = changed(segment.acknowledgment, edit);
      break;
    case Field::flags:
      segment.flags = edit.flags;
      break;
    case Field::window:
      segment.window = static_cast<std::uint16_t>(changed(segment.window, edit));
      break;
    case Field::urgent:
      segment.urgent = static_cast<std::uint16_t>(changed(segment.urgent, edit));
      break;
    case Field::mss:
      change_mss(segment, edit);
      break;
    case Field::sack:
    case Field::stamp:
    case Field::echo:
      change_option(segment, edit);
      break;
    case Field::ecn:
      segment.traffic_class = static_cast<std::uint8_t>(
          (segment.traffic_class & 0xfcu) | (changed(segment.traffic_class & 3u, edit) & 3u));
      break;
    case Field::payload:
      segment.payload.resize(changed(static_cast<std::uint32_t>(segment.payload.size()), edit) &
                             0xffff);
      break;
  }
}

Instant shifted(Instant time, std::int64_t by_ns) {
  auto const size = Duration::nanoseconds(static_cast<std::uint64_t>(by_ns < 0 ? -by_ns : by_ns));
  return by_ns < 0 ? time - size : time + size;
}

Segment made(const Flow& flow, const Scenario& scenario, const Edit& edit, std::size_t after) {
  Endpoint const peer = flow.first == scenario.device ? flow.second : flow.first;
  Segment out;
  out.number = edit.packet;
  out.time = shifted(flow.segments[after].time, edit.delay_ns);
  out.source = scenario.device;
  out.destination = peer;
  out.sequence =
      latest_isn(flow, scenario.device, after + 1) + static_cast<std::uint32_t>(edit.sequence);
  if ((edit.flags & tools::tcp_flag::ack) != 0) {
    out.acknowledgment =
        latest_isn(flow, peer, after + 1) + static_cast<std::uint32_t>(edit.acknowledgment);
  }
  out.flags = edit.flags;
  out.window = 65'535;
  for (std::size_t i = 0; i <= after; ++i) {
    if (is_from(flow.segments[i], scenario.device)) {
      out.window = flow.segments[i].window;
    }
  }
  out.window = edit.window.value_or(out.window);
  // The octets at this position of the device's stream, if known.
  std::vector<std::byte> const stream = stream_of(flow, scenario.device);
  out.payload.resize(edit.bytes);
  for (std::size_t i = 0; i < out.payload.size(); ++i) {
    auto const first = static_cast<std::size_t>(std::max<std::int64_t>(edit.sequence, 1)) - 1;
    std::size_t const at = first + i;
    out.payload[i] = at < stream.size() ? stream[at] : std::byte{};
  }
  return out;
}

}  // namespace

Flow edited(const Flow& flow, const Scenario& scenario, const Edit& edit) {
  Flow out = flow;
  auto const found = std::find_if(out.segments.begin(), out.segments.end(),
                                  [&](const Segment& s) { return s.number == edit.packet; });
  if (found == out.segments.end()) {
    refuse(scenario, edit, "the capture has no such packet in this connection");
  }
  auto const index = static_cast<std::size_t>(found - out.segments.begin());
  if (edit.kind == Edit::Kind::insert) {
    out.segments.insert(found + 1, made(flow, scenario, edit, index));
  } else if (!is_from(*found, scenario.device)) {
    refuse(scenario, edit, "it is the peer's");
  } else if (edit.kind == Edit::Kind::drop) {
    out.segments.erase(found);
  } else if (edit.kind == Edit::Kind::delay) {
    found->time = shifted(found->time, edit.delay_ns);
  } else {
    change_field(*found, edit);
  }
  sort_by_time(out.segments);
  return out;
}

}  // namespace lockstep::conformance
