// One case for each kind of option that the judges read; the data of all others is replaced.
#include "tools/verbs/anonymise/options.hpp"

#include <algorithm>

#include "tools/base/capture/octets.hpp"
#include "tools/verbs/anonymise/secret.hpp"

namespace lockstep::tools {
namespace {

using Octets = std::span<std::byte>;

namespace kind {
constexpr std::uint8_t end = 0, nop = 1, mss = 2, window_scale = 3, sack_permitted = 4, sack = 5;
constexpr std::uint8_t timestamps = 8, md5 = 19, user_timeout = 28, authentication = 29;
constexpr std::uint8_t multipath = 30, fast_open = 34, accurate_ecn_0 = 172, accurate_ecn_1 = 174;
constexpr std::uint8_t experiment_1 = 253, experiment_2 = 254;
}  // namespace kind

/// Which secret an option's data has. A cookie is the same wherever it occurs.
enum class OptionSecret : std::uint64_t { cookie = 0x100, other };

void put_number(Octets octets, std::size_t at, std::uint32_t value) {
  set_word(octets, at, static_cast<std::uint16_t>(value >> 16));
  set_word(octets, at + 2, static_cast<std::uint16_t>(value));
}

void replace(Octets octets, const HashKey& secret, OptionSecret which, std::uint8_t of_kind) {
  HashKey const key = derived(secret, static_cast<std::uint64_t>(which) << 8 | of_kind);
  std::ranges::copy(replaced(key, octets), octets.begin());
}

/// Whether the data has the length that the kind requires, and nothing private in it.
bool is_public(std::uint8_t of_kind, std::size_t size) {
  switch (of_kind) {
    case kind::mss:
    case kind::user_timeout:
      return size == 2;
    case kind::window_scale:
      return size == 1;
    case kind::sack_permitted:
      return size == 0;
    case kind::accurate_ecn_0:
    case kind::accurate_ecn_1:
      return size % 3 == 0 && size <= 9;
    default:
      return false;
  }
}

bool is_experiment(std::uint8_t of_kind) {
  return of_kind == kind::experiment_1 || of_kind == kind::experiment_2;
}

void replace_counted(std::uint8_t of_kind, Octets data, const HashKey& secret,
                     OptionCounts& counts) {
  if (data.empty()) {
    return;
  }
  constexpr std::uint16_t fast_open_experiment = 0xf989;  // RFC 7413, appendix
  bool const named = is_experiment(of_kind) && data.size() >= 2;
  bool const old_cookie = named && word_at(data, 0) == fast_open_experiment;
  if (of_kind == kind::fast_open || old_cookie) {
    Octets const cookie = data.subspan(old_cookie ? 2 : 0);
    replace(cookie, secret, OptionSecret::cookie, 0);
    counts.cookies += cookie.empty() ? 0u : 1u;
    return;
  }
  bool const digest = of_kind == kind::md5 || of_kind == kind::authentication;
  ++(digest ? counts.digests : of_kind == kind::multipath ? counts.multipath : counts.unknown);
  replace(data, secret, OptionSecret::other, of_kind);
}

void replace_data(std::uint8_t of_kind, Octets data, const OptionShifts& shifts,
                  const HashKey& secret, OptionCounts& counts) {
  if (is_public(of_kind, data.size())) {
    return;
  }
  if (of_kind == kind::timestamps && data.size() == 8) {
    std::uint32_t const echo = long_at(data, 4);
    put_number(data, 0, long_at(data, 0) + shifts.value);
    put_number(data, 4, echo == 0 ? 0 : echo + shifts.echo);
    return;
  }
  if (of_kind == kind::sack) {
    std::size_t at = 0;
    for (; at + 4 <= data.size(); at += 4) {
      put_number(data, at, long_at(data, at) + shifts.blocks);
    }
    replace(data.subspan(at), secret, OptionSecret::other, of_kind);
    return;
  }
  replace_counted(of_kind, data, secret, counts);
}

/// Octets behind the end of the options, and behind a length that is wrong.
void replace_rest(Octets rest, const HashKey& secret) {
  std::vector<std::byte> const drawn =
      replaced(derived(secret, static_cast<std::uint64_t>(OptionSecret::other)), rest);
  for (std::size_t i = 0; i < rest.size(); ++i) {
    bool const zero = rest[i] == std::byte{0};
    rest[i] = zero ? rest[i] : drawn[i] | std::byte{1};
  }
}

}  // namespace

std::vector<std::byte> anonymised_options(std::span<const std::byte> options,
                                          const OptionShifts& shifts, const HashKey& secret,
                                          OptionCounts& counts) {
  std::vector<std::byte> out(options.begin(), options.end());
  Octets const all = out;
  std::size_t at = 0;
  while (at < all.size()) {
    std::uint8_t const of_kind = octet_at(all, at);
    if (of_kind == kind::nop) {
      ++at;
      continue;
    }
    std::size_t const length = at + 1 < all.size() ? octet_at(all, at + 1) : 0;
    if (of_kind == kind::end || length < 2 || at + length > all.size()) {
      std::size_t const kept = of_kind == kind::end ? 1 : 2;
      replace_rest(all.subspan(std::min(at + kept, all.size())), secret);
      break;
    }
    replace_data(of_kind, all.subspan(at + 2, length - 2), shifts, secret, counts);
    at += length;
  }
  return out;
}

}  // namespace lockstep::tools
