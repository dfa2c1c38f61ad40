// Builds the program in classic BPF, and translates it to eBPF.
#include "hw/shards/steering.hpp"

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "core/units/check.hpp"

namespace lockstep::hw {
namespace {

// Offsets are relative to the network header, so they do not depend on where the frame begins.
constexpr std::uint32_t network = static_cast<std::uint32_t>(SKF_NET_OFF);
constexpr std::uint32_t protocol_at = static_cast<std::uint32_t>(SKF_AD_OFF + SKF_AD_PROTOCOL);
constexpr std::uint32_t tcp = 6;

class Filter {
 public:
  void add(std::uint32_t code, std::uint32_t k) {
    out.push_back({static_cast<std::uint16_t>(code), 0, 0, k});
  }
  // Jumps to the end, which returns 0, unless A equals k.
  void leave_unless_equal(std::uint32_t k) {
    leaves_.push_back({out.size(), false});
    add(BPF_JMP | BPF_JEQ | BPF_K, k);
  }
  void leave_if_any(std::uint32_t bits) {
    leaves_.push_back({out.size(), true});
    add(BPF_JMP | BPF_JSET | BPF_K, bits);
  }
  // M[0] += A; uses X.
  void add_to_sum() {
    add(BPF_LDX | BPF_MEM, 0);
    add(BPF_ALU | BPF_ADD | BPF_X, 0);
    add(BPF_ST, 0);
  }
  void finish() {
    add(BPF_RET | BPF_K, 0);
    for (auto const& [at, if_true] : leaves_) {
      auto const far = static_cast<std::uint8_t>(out.size() - 2 - at);
      (if_true ? out[at].jt : out[at].jf) = far;
    }
  }

  std::vector<sock_filter> out;

 private:
  struct Leave {
    std::size_t at;
    bool if_true;
  };
  std::vector<Leave> leaves_;
};

// Adds the two ports, loaded one after the other into A; X is free.
void sum_ports(Filter& f, std::uint32_t mode, std::uint32_t at, SteeringKey key) {
  f.add(BPF_LD | BPF_H | mode, network + at);
  f.add(BPF_ST, 1);
  f.add(BPF_LD | BPF_H | mode, network + at + 2);
  f.add(BPF_LDX | BPF_MEM, 1);
  f.add(BPF_ALU | BPF_ADD | BPF_X, 0);
  f.add(BPF_ALU | BPF_MUL | BPF_K, key.ports);
  f.add(BPF_ST, 0);
}

void sum_words(Filter& f, std::uint32_t from, std::uint32_t to) {
  for (std::uint32_t at = from; at < to; at += 4) {
    f.add(BPF_LD | BPF_W | BPF_ABS, network + at);
    f.add_to_sum();
  }
}

void decide(Filter& f, ShardCount shards, SteeringKey key) {
  f.add(BPF_LD | BPF_MEM, 0);
  f.add(BPF_ALU | BPF_MUL | BPF_K, key.all);
  f.add(BPF_ALU | BPF_RSH | BPF_K, 16);
  f.add(BPF_ALU | BPF_MOD | BPF_K, shards.value);
  f.add(BPF_RET | BPF_A, 0);
}

// Registers of eBPF: A, into which packet data is loaded, and the others.
constexpr std::uint8_t reg_a = BPF_REG_0;
constexpr std::uint8_t reg_context = BPF_REG_6;
constexpr std::uint8_t reg_x = BPF_REG_9;
constexpr std::uint8_t reg_memory = BPF_REG_7;  // holds M[0]; M[1] is in the next

bpf_insn instruction(std::uint32_t code, std::uint8_t to, std::uint8_t from, std::int32_t value) {
  bpf_insn out{};
  out.code = static_cast<std::uint8_t>(code);
  out.dst_reg = to & 0xf;
  out.src_reg = from & 0xf;
  out.imm = value;
  return out;
}

bpf_insn jump(std::uint32_t operation, std::int32_t value) {
  return instruction(BPF_JMP | operation | BPF_K, operation == BPF_JA ? std::uint8_t{0} : reg_a, 0,
                     value);
}

class Translation {
 public:
  explicit Translation(const std::vector<sock_filter>& from) {
    out.push_back(instruction(BPF_ALU64 | BPF_MOV | BPF_X, reg_context, BPF_REG_1, 0));
    for (std::uint8_t const each : {reg_memory, static_cast<std::uint8_t>(reg_memory + 1), reg_x}) {
      out.push_back(instruction(BPF_ALU | BPF_MOV | BPF_K, each, 0, 0));
    }
    for (std::size_t i = 0; i < from.size(); ++i) {
      places_.push_back(out.size());
      translate(from[i], i);
    }
    for (auto const& [at, target] : jumps_) {
      out[at].off = static_cast<std::int16_t>(places_[target] - at - 1);
    }
  }

  std::vector<bpf_insn> out;

 private:
  void translate(const sock_filter& each, std::size_t index) {
    auto const value = static_cast<std::int32_t>(each.k);
    switch (BPF_CLASS(each.code)) {
      case BPF_LD:
        load(each, value);
        break;
      case BPF_LDX:
        out.push_back(instruction(BPF_ALU | BPF_MOV | BPF_X, reg_x, memory(each.k), 0));
        break;
      case BPF_ST:
        out.push_back(instruction(BPF_ALU | BPF_MOV | BPF_X, memory(each.k), reg_a, 0));
        break;
      case BPF_ALU:
        out.push_back(instruction(each.code, reg_a, BPF_SRC(each.code) == BPF_X ? reg_x : 0,
                                  BPF_SRC(each.code) == BPF_X ? 0 : value));
        break;
      case BPF_JMP:
        jumps_.push_back({out.size(), index + 1 + each.jt});
        out.push_back(jump(BPF_OP(each.code), value));
        jumps_.push_back({out.size(), index + 1 + each.jf});
        out.push_back(jump(BPF_JA, 0));
        break;
      case BPF_RET:
        if (BPF_RVAL(each.code) == BPF_K) {
          out.push_back(instruction(BPF_ALU | BPF_MOV | BPF_K, reg_a, 0, value));
        }
        out.push_back(instruction(BPF_JMP | BPF_EXIT, 0, 0, 0));
        break;
      default:  // BPF_MISC: copies A to X
        out.push_back(instruction(BPF_ALU | BPF_MOV | BPF_X, reg_x, reg_a, 0));
        break;
    }
  }

  void load(const sock_filter& each, std::int32_t value) {
    if (BPF_MODE(each.code) == BPF_MEM) {
      out.push_back(instruction(BPF_ALU | BPF_MOV | BPF_X, reg_a, memory(each.k), 0));
    } else if (each.k == protocol_at) {
      // A field of the context, in network byte order.
      bpf_insn read = instruction(BPF_LDX | BPF_MEM | BPF_W, reg_a, reg_context, 0);
      read.off = static_cast<std::int16_t>(offsetof(__sk_buff, protocol));
      out.push_back(read);
      out.push_back(instruction(BPF_ALU | BPF_END | BPF_TO_BE, reg_a, 0, 16));
    } else {
      bool const indirect = BPF_MODE(each.code) == BPF_IND;
      out.push_back(instruction(each.code, 0, indirect ? reg_x : 0, value));
    }
  }

  static std::uint8_t memory(std::uint32_t index) {
    CHECK(index < 2);
    return static_cast<std::uint8_t>(reg_memory + index);
  }

  struct Jump {
    std::size_t at;      // index in `out`
    std::size_t target;  // index in the program that is translated
  };
  std::vector<std::size_t> places_;
  std::vector<Jump> jumps_;
};

}  // namespace

std::vector<sock_filter> steering_filter(ShardCount shards) {
  constexpr SteeringKey key;
  Filter f;
  f.add(BPF_LD | BPF_H | BPF_ABS, protocol_at);
  std::size_t const to_six = f.out.size();
  f.add(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IP);
  f.add(BPF_LD | BPF_B | BPF_ABS, network + 9);
  f.leave_unless_equal(tcp);
  f.add(BPF_LD | BPF_H | BPF_ABS, network + 6);
  f.leave_if_any(0x3fff);  // any fragment
  f.add(BPF_LD | BPF_B | BPF_ABS, network);
  f.add(BPF_ALU | BPF_AND | BPF_K, 0xf);
  f.add(BPF_ALU | BPF_LSH | BPF_K, 2);
  f.add(BPF_MISC | BPF_TAX, 0);
  // The header's length is needed twice, and adding uses X, so it is kept in M[0].
  f.add(BPF_ST, 0);
  f.add(BPF_LD | BPF_H | BPF_IND, network);
  f.add(BPF_ST, 1);
  f.add(BPF_LDX | BPF_MEM, 0);
  f.add(BPF_LD | BPF_H | BPF_IND, network + 2);
  f.add(BPF_LDX | BPF_MEM, 1);
  f.add(BPF_ALU | BPF_ADD | BPF_X, 0);
  f.add(BPF_ALU | BPF_MUL | BPF_K, key.ports);
  f.add(BPF_ST, 0);
  sum_words(f, 12, 20);
  decide(f, shards, key);
  f.out[to_six].jf = static_cast<std::uint8_t>(f.out.size() - 1 - to_six);
  f.leave_unless_equal(ETH_P_IPV6);
  f.add(BPF_LD | BPF_B | BPF_ABS, network + 6);
  f.leave_unless_equal(tcp);
  sum_ports(f, BPF_ABS, 40, key);
  sum_words(f, 8, 40);
  decide(f, shards, key);
  f.finish();
  return f.out;
}

Trouble load_steering(ShardCount shards, Descriptor& into) {
  Translation const program(steering_filter(shards));
  bpf_attr what{};
  what.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
  what.insns = reinterpret_cast<std::uint64_t>(program.out.data());
  what.insn_cnt = static_cast<std::uint32_t>(program.out.size());
  static constexpr std::array<char, 4> license{"GPL"};
  what.license = reinterpret_cast<std::uint64_t>(license.data());
  std::vector<char> log(65'536);
  what.log_buf = reinterpret_cast<std::uint64_t>(log.data());
  what.log_size = static_cast<std::uint32_t>(log.size());
  what.log_level = 1;
  into = Descriptor(static_cast<int>(syscall(SYS_bpf, BPF_PROG_LOAD, &what, sizeof what)));
  if (!into.is_open()) {
    int const error = errno;
    std::string said(log.data());
    said = said.substr(0, said.find('\n'));
    return {TroubleKind::environment, std::string("the kernel refuses the steering program: ") +
                                          std::strerror(error) + (said.empty() ? "" : ": " + said) +
                                          ": run as root, or with CAP_BPF"};
  }
  return {};
}

}  // namespace lockstep::hw
