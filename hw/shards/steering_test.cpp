// The steering program returns what shard_of returns, for any frame.
#include "hw/shards/steering.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "core/stack/shard.hpp"
#include "core/units/random.hpp"
#include "core/wire/octets.hpp"

namespace lockstep::hw {
namespace {

using Octets = std::vector<std::byte>;

/// Interprets classic BPF as the kernel does, over a packet that begins with its network header.
/// Reads beyond the end give 0.
class Machine {
 public:
  Machine(const std::vector<sock_filter>& program, std::uint16_t protocol,
          std::span<const std::byte> packet)
      : program_(program), protocol_(protocol), packet_(packet) {}

  std::uint32_t run() {
    for (std::size_t at = 0; at < program_.size(); ++at) {
      sock_filter const& each = program_[at];
      switch (BPF_CLASS(each.code)) {
        case BPF_LD:
          if (!load(each)) {
            return 0;
          }
          break;
        case BPF_LDX:
          x_ = memory_.at(each.k);
          break;
        case BPF_ST:
          memory_.at(each.k) = a_;
          break;
        case BPF_ALU:
          compute(BPF_OP(each.code), BPF_SRC(each.code) == BPF_X ? x_ : each.k);
          break;
        case BPF_JMP:
          at += (BPF_OP(each.code) == BPF_JEQ ? a_ == each.k : (a_ & each.k) != 0) ? each.jt
                                                                                   : each.jf;
          break;
        case BPF_RET:
          return BPF_RVAL(each.code) == BPF_A ? a_ : each.k;
        default:
          x_ = a_;
          break;
      }
    }
    ADD_FAILURE() << "the program has no end";
    return 0;
  }

 private:
  bool load(const sock_filter& each) {
    if (BPF_MODE(each.code) == BPF_MEM) {
      a_ = memory_.at(each.k);
      return true;
    }
    if (each.k == static_cast<std::uint32_t>(SKF_AD_OFF + SKF_AD_PROTOCOL)) {
      a_ = protocol_;
      return true;
    }
    std::uint32_t const at = each.k - static_cast<std::uint32_t>(SKF_NET_OFF) +
                             (BPF_MODE(each.code) == BPF_IND ? x_ : 0);
    std::uint32_t const bytes = BPF_SIZE(each.code) == BPF_W   ? 4
                                : BPF_SIZE(each.code) == BPF_H ? 2
                                                               : 1;
    if (at + bytes > packet_.size()) {
      return false;
    }
    a_ = bytes == 4   ? wire::load32(&packet_[at])
         : bytes == 2 ? wire::load16(&packet_[at])
                      : wire::load8(&packet_[at]);
    return true;
  }

  void compute(std::uint32_t operation, std::uint32_t value) {
    switch (operation) {
      case BPF_ADD:
        a_ += value;
        break;
      case BPF_MUL:
        a_ *= value;
        break;
      case BPF_AND:
        a_ &= value;
        break;
      case BPF_LSH:
        a_ <<= value;
        break;
      case BPF_RSH:
        a_ >>= value;
        break;
      case BPF_MOD:
        a_ %= value;
        break;
      default:
        ADD_FAILURE() << "operation " << operation;
    }
  }

  const std::vector<sock_filter>& program_;
  std::uint16_t protocol_;
  std::span<const std::byte> packet_;
  std::uint32_t a_ = 0;
  std::uint32_t x_ = 0;
  std::array<std::uint32_t, BPF_MEMWORDS> memory_{};
};

Octets random_packet(Random& random, bool six) {
  Octets packet(six ? 60 : 44);
  for (std::byte& each : packet) {
    each = static_cast<std::byte>(random.below(256));
  }
  if (six) {
    packet[0] = std::byte{0x60};
    packet[6] = std::byte{6};
  } else {
    packet[0] = static_cast<std::byte>(0x45 + random.below(2));
    packet[6] = static_cast<std::byte>(random.below(2) * 0x40);
    packet[7] = std::byte{0};
    packet[9] = std::byte{6};
  }
  return packet;
}

TEST(Steering, TheProgramAgreesWithTheStack) {
  Random random(1);
  for (std::uint32_t shards : {2u, 3u, 36u, 256u}) {
    auto const program = steering_filter({shards});
    for (int i = 0; i < 2000; ++i) {
      bool const six = i % 2 == 0;
      Octets const packet = random_packet(random, six);
      Machine machine(program, six ? 0x86dd : 0x0800, packet);
      ASSERT_EQ(machine.run(), home_of(LinkType::ip, packet, {shards}).value) << shards << " " << i;
    }
  }
}

TEST(Steering, FramesWithoutAFlowGoToTheFirstShard) {
  Random random(2);
  auto const program = steering_filter({7});
  Octets packet = random_packet(random, false);
  EXPECT_EQ(Machine(program, 0x0806, packet).run(), 0u);
  for (std::size_t length = 0; length < 24; ++length) {
    EXPECT_EQ(Machine(program, 0x0800, std::span(packet).first(length)).run(), 0u);
  }
  packet[6] = std::byte{0x20};
  EXPECT_EQ(Machine(program, 0x0800, packet).run(), 0u);
  packet[6] = std::byte{0};
  packet[9] = std::byte{17};
  EXPECT_EQ(Machine(program, 0x0800, packet).run(), 0u);
}

TEST(Steering, TheKernelsVerifierAcceptsIt) {
  Descriptor program;
  Trouble const trouble = load_steering({36}, program);
  if (trouble && trouble.text.find("Operation not permitted") != std::string::npos) {
    GTEST_SKIP() << trouble.text;
  }
  EXPECT_FALSE(trouble) << trouble.text;
}

}  // namespace
}  // namespace lockstep::hw
