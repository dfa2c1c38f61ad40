// Checksums compared with a reference of 16-bit words, in every implementation that this CPU has.
#include "core/wire/checksum.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "core/units/random.hpp"

namespace lockstep::wire {
namespace {

using Octets = std::vector<std::byte>;

// RFC 1071's definition, word by word.
std::uint16_t reference_fold(std::span<const std::byte> bytes) {
  std::uint32_t total = 0;
  for (std::size_t i = 0; i < bytes.size(); i += 2) {
    std::uint32_t const high = std::to_integer<std::uint32_t>(bytes[i]);
    std::uint32_t const low =
        i + 1 < bytes.size() ? std::to_integer<std::uint32_t>(bytes[i + 1]) : 0;
    total += high << 8 | low;
    total = (total & 0xffff) + (total >> 16);
  }
  return static_cast<std::uint16_t>(total);
}

Octets random_octets(Random& random, std::size_t size) {
  Octets octets(size);
  for (std::byte& octet : octets) {
    // Runs of extreme values cause carries that uniform octets seldom cause.
    std::uint64_t const drawn = random.next();
    octet = (drawn & 0x300) == 0       ? std::byte{0xff}
            : (drawn & 0x300) == 0x100 ? std::byte{0x00}
                                       : static_cast<std::byte>(drawn);
  }
  return octets;
}

class ChecksumByMeans : public testing::TestWithParam<ChecksumMeans> {
 protected:
  void SetUp() override {
    if (!checksum_means_available(GetParam())) {
      GTEST_SKIP() << "this CPU has no such instructions";
    }
    previous_ = use_checksum_means(GetParam());
  }
  void TearDown() override { use_checksum_means(previous_); }

 private:
  ChecksumMeans previous_ = checksum_means();
};

std::string name_of_parameter(const testing::TestParamInfo<ChecksumMeans>& info) {
  constexpr std::array names{"scalar", "sse2", "avx2", "avx512"};
  return names[static_cast<std::size_t>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(All, ChecksumByMeans,
                         testing::Values(ChecksumMeans::scalar, ChecksumMeans::sse2,
                                         ChecksumMeans::avx2, ChecksumMeans::avx512),
                         name_of_parameter);

//= rfc9293#3.1
//= type=test
//# 9293:P-CKSUM-ODD an odd length is summed as if padded with zero
TEST_P(ChecksumByMeans, EveryLengthAndAlignmentSumsAsTheReference) {
  Random random(1);
  Octets const octets = random_octets(random, 700);
  for (std::size_t begin = 0; begin < 66; ++begin) {
    for (std::size_t size = 0; size <= 600; size += begin < 4 ? 1 : 13) {
      auto const run = std::span<const std::byte>(octets).subspan(begin, size);
      Partial const partial = sum(run);
      ASSERT_EQ(partial.folded(), reference_fold(run)) << begin << " " << size;
      ASSERT_EQ(partial.odd, size % 2 != 0);
    }
  }
}

TEST_P(ChecksumByMeans, CopiesExactlyAndSumsWhatItCopies) {
  Random random(2);
  Octets const octets = random_octets(random, 10'000);
  for (int round = 0; round < 3'000; ++round) {
    std::size_t const size = random.below(round % 10 == 0 ? 9'000 : 400);
    std::size_t const from = random.below(64);
    std::size_t const into = random.below(64);
    auto const run = std::span<const std::byte>(octets).subspan(from, size);
    Octets room(into + size + 70, std::byte{0xa5});
    Partial const partial = copy_and_sum(std::span(room).subspan(into), run);
    ASSERT_EQ(partial.folded(), reference_fold(run));
    ASSERT_EQ(partial.odd, size % 2 != 0);
    ASSERT_EQ(size == 0 ? 0 : std::memcmp(room.data() + into, run.data(), size), 0);
    for (std::size_t i = 0; i < room.size(); ++i) {
      if (i < into || i >= into + size) {
        ASSERT_EQ(room[i], std::byte{0xa5}) << "octet " << i << " was not to be written";
      }
    }
  }
}

TEST_P(ChecksumByMeans, LargeRunsOfTheExtremesDoNotOverflow) {
  constexpr std::size_t size = std::size_t{5} << 20;
  Octets const ones(size, std::byte{0xff});
  EXPECT_EQ(sum(ones).folded(), 0xffff);
  Octets const zeros(size, std::byte{0});
  EXPECT_EQ(sum(zeros).folded(), 0);
  EXPECT_EQ(sum(std::span(ones).first(size - 1)).folded(),
            reference_fold(std::span(ones).first(size - 1)));
  Octets room(size);
  EXPECT_EQ(copy_and_sum(room, zeros).folded(), 0);
  EXPECT_EQ(copy_and_sum(room, ones).folded(), 0xffff);
}

TEST_P(ChecksumByMeans, RunsCombineAtEverySeam) {
  Random random(3);
  Octets const octets = random_octets(random, 900);
  std::span<const std::byte> const all(octets);
  for (int round = 0; round < 2'000; ++round) {
    std::size_t const size = random.below(900);
    std::size_t const a = random.below(size + 1);
    std::size_t const b = a + random.below(size - a + 1);
    Partial const first = sum(all.first(a));
    Partial const second = sum(all.subspan(a, b - a));
    Partial const third = sum(all.subspan(b, size - b));
    Partial const left = combine(combine(first, second), third);
    Partial const right = combine(first, combine(second, third));
    std::uint16_t const expected = reference_fold(all.first(size));
    ASSERT_EQ(left.folded(), expected);
    ASSERT_EQ(right.folded(), expected);
    ASSERT_EQ(left.odd, size % 2 != 0);
  }
}

// Zero and FFFF are equivalent once a header is summed as well.
std::uint16_t with_header(Partial partial) {
  Partial const header{0x4500, false};
  return combine(header, partial).checksum();
}

TEST_P(ChecksumByMeans, Defect15_PrefixSumsAtOddEndsWithHighBytes) {
  Random random(15);
  Octets const content = random_octets(random, 3'001);
  for (std::uint32_t stride : {2u, 16u, 64u, 256u, 4096u}) {
    std::vector<std::uint16_t> entries(checksum_table_entries(content.size(), stride));
    ChecksumTable const table = build_checksum_table(content, entries, stride);
    for (int round = 0; round < 3'000; ++round) {
      std::uint64_t const offset = random.below(content.size() + 1);
      auto const length = static_cast<std::uint32_t>(random.below(content.size() - offset + 1));
      Partial const partial = table_sum(table, content, {offset, length});
      auto const run = std::span<const std::byte>(content).subspan(offset, length);
      ASSERT_EQ(with_header(partial), with_header({reference_fold(run), false}))
          << offset << " " << length << " stride " << stride;
      ASSERT_EQ(partial.odd, length % 2 != 0);
    }
  }
}

TEST(Checksum, AnEmptyTableSumsTheContent) {
  Random random(4);
  Octets const content = random_octets(random, 100);
  EXPECT_EQ(table_sum({}, content, {7, 50}).folded(),
            reference_fold(std::span<const std::byte>(content).subspan(7, 50)));
}

TEST(Checksum, TheExampleOfRfc1071) {
  std::array<std::byte, 8> const octets{std::byte{0x00}, std::byte{0x01}, std::byte{0xf2},
                                        std::byte{0x03}, std::byte{0xf4}, std::byte{0xf5},
                                        std::byte{0xf6}, std::byte{0xf7}};
  EXPECT_EQ(sum(octets).folded(), 0xddf2);
  EXPECT_EQ(sum(octets).checksum(), 0x220d);
}

//= rfc1624#4
//= type=test
//# 1624:CSUM-4, 1624:CSUM-2 HC=DD2F, m=5555, m'=3285 gives 0000, not FFFF
TEST(Checksum, TheExampleOfRfc1624) {
  EXPECT_EQ(updated_checksum(0xdd2f, {.before = 0x5555, .after = 0x3285}), 0x0000);
}

//= rfc1624#3
//= type=test
//# 1624:CSUM-1 the incremental update equals a new sum
//= rfc1624#5
//= type=test
//# 1624:CSUM-3 data summed with its checksum gives FFFF
TEST(Checksum, IncrementalUpdateIsTheNewSum) {
  Random random(5);
  for (int round = 0; round < 2'000; ++round) {
    Octets octets = random_octets(random, 40);
    octets[0] = std::byte{0x45};  // a header is never all zero
    octets[10] = octets[11] = std::byte{0};
    std::uint16_t const before = sum(octets).checksum();
    std::size_t const at = 2 * (6 + random.below(14));
    WordChange change;
    change.before = reference_fold(std::span<const std::byte>(octets).subspan(at, 2));
    change.after = static_cast<std::uint16_t>(random.next());
    octets[at] = static_cast<std::byte>(change.after >> 8);
    octets[at + 1] = static_cast<std::byte>(change.after & 0xff);
    std::uint16_t const updated = updated_checksum(before, change);
    ASSERT_EQ(updated, sum(octets).checksum());
    octets[10] = static_cast<std::byte>(updated >> 8);
    octets[11] = static_cast<std::byte>(updated & 0xff);
    ASSERT_TRUE(sum(octets).verifies());
  }
}

//= rfc9293#3.1
//= type=test
//# 9293:P-CKSUM-V4 source, destination, zero, protocol, and the length of header and data
TEST(Checksum, PseudoHeaderOfIpv4) {
  PseudoHeader const pseudo{IpAddress::v4(192, 0, 2, 1), IpAddress::v4(198, 51, 100, 255), 6,
                            Bytes{0x1'0203}};
  Octets const octets{std::byte{192},  std::byte{0},   std::byte{2},    std::byte{1},
                      std::byte{198},  std::byte{51},  std::byte{100},  std::byte{255},
                      std::byte{0},    std::byte{6},   std::byte{0x00}, std::byte{0x01},
                      std::byte{0x02}, std::byte{0x03}};
  EXPECT_EQ(pseudo_header_sum(pseudo).folded(), reference_fold(octets));
}

//= rfc9293#3.1
//= type=test
//# 9293:P-CKSUM-V6 128-bit addresses, a 32-bit length, and TCP as the next header
TEST(Checksum, PseudoHeaderOfIpv6) {
  PseudoHeader const pseudo{{0x2001'0db8'0001'0203, 0x0405'0607'0809'ffff},
                            {0xfe80'0000'0000'0000, 0x0211'22ff'fe33'4455},
                            6,
                            Bytes{1'480}};
  Octets octets;
  for (std::uint64_t half : {pseudo.source.high, pseudo.source.low, pseudo.destination.high,
                             pseudo.destination.low, std::uint64_t{1'480} << 32 | 6}) {
    for (int shift = 56; shift >= 0; shift -= 8) {
      octets.push_back(static_cast<std::byte>(half >> shift & 0xff));
    }
  }
  EXPECT_EQ(pseudo_header_sum(pseudo).folded(), reference_fold(octets));
}

TEST(Checksum, TheBestMeansWasChosenBeforeMain) {
  ChecksumMeans best = ChecksumMeans::scalar;
  for (ChecksumMeans means : {ChecksumMeans::sse2, ChecksumMeans::avx2, ChecksumMeans::avx512}) {
    best = checksum_means_available(means) ? means : best;
  }
  EXPECT_EQ(checksum_means(), best);
}

}  // namespace
}  // namespace lockstep::wire
