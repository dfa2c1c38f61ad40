// Rules that need nothing but the segment itself.
#include "core/wire/octets.hpp"
#include "sim/checkers/referee/judges.hpp"

namespace lockstep::sim::referee {
namespace {

namespace flag = wire::flag;

constexpr std::uint8_t kind_end = 0;
constexpr std::uint8_t kind_nop = 1;
constexpr std::uint8_t kind_scale = 3;

// The offset at which the option at `at` ends; 0 if its length is invalid.
std::uint32_t option_end(std::span<const std::byte> options, std::uint32_t at) {
  if (wire::load8(options.data() + at) == kind_nop) {
    return at + 1;
  }
  if (at + 2 > options.size()) {
    return 0;
  }
  std::uint32_t const length = wire::load8(options.data() + at + 1);
  return length < 2 || at + length > options.size() ? 0 : at + length;
}

// Padding and window scales, which the parser accepts with any value.
void judge_raw_options(const Moment& m) {
  std::span<const std::byte> const options = m.said.options;
  std::uint32_t at = 0;
  while (at < options.size() && wire::load8(options.data() + at) != kind_end) {
    std::uint32_t const end = option_end(options, at);
    if (end == 0) {
      return;
    }
    bool const scale = wire::load8(options.data() + at) == kind_scale && end - at == 3;
    std::uint8_t const shift = scale ? wire::load8(options.data() + at + 2) : std::uint8_t{0};
    //= rfc7323#2.3
    //# 7323:TS-5 a shift count is 14 at most
    if (shift > 14) {
      m.judge.call(m, Rule::scale_too_large, Ambiguity::none, {14, shift});
    }
    at = end;
  }
  for (; at < options.size(); ++at) {
    //= rfc9293#3.1
    //# 9293:MUST-69 octets after the end-of-options octet are zero
    if (wire::load8(options.data() + at) != 0) {
      m.judge.call(m, Rule::padding_nonzero, Ambiguity::none,
                   {0, wire::load8(options.data() + at)});
      return;
    }
  }
}

void judge_places(const Moment& m) {
  wire::Options const& options = m.segment().options;
  if (m.segment().flags.syn()) {
    return;
  }
  //= rfc9293#3.2
  //# 9293:MUST-65 only SYNs carry the MSS option
  if (options.has_mss) {
    m.judge.call(m, Rule::mss_outside_syn, Ambiguity::none, {0, options.mss});
  }
  //= rfc7323#2.2
  //# 7323:TS-24 only SYNs carry a window scale
  if (options.has_window_scale) {
    m.judge.call(m, Rule::scale_outside_syn, Ambiguity::none, {0, options.window_scale.shift});
  }
  //= rfc2018#2
  //# 2018:SACK-1 only SYNs carry SACK-permitted
  if (options.has_sack_permitted) {
    m.judge.call(m, Rule::sack_permitted_outside_syn, Ambiguity::none, {0, 1});
  }
}

void judge_flags(const Moment& m) {
  wire::Flags const flags = m.segment().flags;
  if (flags.syn() && flags.any_of(flag::fin | flag::rst)) {
    m.judge.call(m, Rule::syn_with_fin_or_reset, Ambiguity::none, {0, flags.bits});
  }
  if (flags.rst() && flags.fin()) {
    m.judge.call(m, Rule::reset_with_fin, Ambiguity::none, {0, flags.bits});
  }
  //= rfc9293#3.8
  //# 9293:P-ACK-ALWAYS every segment except the first SYN and some resets has ACK set
  if (!flags.any_of(flag::syn | flag::rst | flag::ack)) {
    m.judge.call(m, Rule::ack_missing, Ambiguity::none, {flag::ack.bits, flags.bits});
  }
  //= rfc9293#3.1
  //# 9293:P-RSRVD the reserved bits are sent as zero; RFC 9768 uses the last one
  if (m.said.reserved != 0) {
    m.judge.call(m, Rule::reserved_bits, m.said.reserved == 1 ? Ambiguity::choice : Ambiguity::none,
                 {0, m.said.reserved});
  }
  if (!flags.urg()) {
    return;
  }
  //= rfc9293#3.1
  //# 9293:P-URGPTR-FIELD the pointer is a positive offset
  if (m.segment().urgent == 0) {
    m.judge.call(m, Rule::urgent_zero, Ambiguity::hidden, {1, 0});
  }
  //= rfc9293#3.8.5
  //# 9293:P-URG-DATA an urgent indication is sent with at least one octet of data
  if (m.said.text().empty()) {
    m.judge.call(m, Rule::urgent_empty, Ambiguity::hidden, {1, 0});
  }
}

void judge_lone_marks(const Moment& m) {
  if (m.said.ecn == 0) {
    return;
  }
  Ambiguity const ambiguity = m.may.lone_marks ? Ambiguity::choice : Ambiguity::none;
  //= rfc3168#6.1.1
  //# 3168:ECN-4 no ECT on SYN or SYN-ACK
  if (m.segment().flags.syn()) {
    m.judge.call(m, Rule::ect_on_syn, ambiguity, {0, m.said.ecn});
    return;
  }
  //= rfc3168#6.1.4
  //# 3168:ECN-11 pure ACKs are not ECT
  if (m.said.length().empty() && m.segment().flags.ack() && !m.segment().flags.rst()) {
    m.judge.call(m, Rule::ect_on_pure_ack, ambiguity, {0, m.said.ecn});
  }
}

}  // namespace

bool judge_alone(const Moment& m) {
  if (m.own || m.terms.others) {
    // It may have been damaged on the way, unless it was captured at its sender.
    bool const sure = m.own || m.terms.is_strict();
    Ambiguity const ambiguity = sure ? Ambiguity::none : Ambiguity::damaged;
    if (m.said.ip_sum == Sum::bad || m.said.sum == Sum::bad) {
      EndpointState& v = m.speaker;
      // If all data has wrong checksums and some was acknowledged, the capture was edited or
      // hardware fills the checksums in.
      bool const edited = v.forgiven && !v.good_text && !m.terms.whole;
      std::uint32_t const place = m.judge.call(
          m, m.said.ip_sum == Sum::bad ? Rule::ip_checksum : Rule::tcp_checksum,
          edited && ambiguity == Ambiguity::none ? Ambiguity::offload : ambiguity, {0, 1});
      Spoiled& spoiled = v.spoiled[v.spoiled_count++ % EndpointState::spoiled_max];
      if (spoiled.waits && !m.terms.whole) {
        m.judge.weaken_checksum(v,
                                spoiled.place);  // its record is overwritten before an ACK decides
      }
      v.spoiled_end = m.said.end();
      spoiled = {true, m.said.text_begin(), m.said.end(), m.said.text(), place};
    }
  }
  if (m.said.ip_sum == Sum::bad || m.said.sum == Sum::bad) {
    return false;
  }
  m.speaker.good_sum = m.speaker.good_sum || m.said.sum == Sum::good;
  m.speaker.good_text = m.speaker.good_text || (m.said.sum == Sum::good && !m.said.text().empty());
  if (!m.said.options_good) {
    //= rfc9293#3.1
    //# 9293:P-OPT-FORMAT, 9293:MUST-68 a length covers the whole option, inside the header
    m.judge.call(m, Rule::option_malformed, Ambiguity::none, {0, 1});
    return false;
  }
  if (m.own || m.terms.others) {
    judge_flags(m);
    judge_places(m);
    judge_raw_options(m);
    judge_lone_marks(m);
  }
  return true;
}

}  // namespace lockstep::sim::referee
