// Uses bpf(2) to make a map, a program and a link.
#include "hw/af_xdp/program.hpp"

#include <linux/bpf.h>
#include <linux/if_link.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lockstep::hw {
namespace {

int bpf(bpf_cmd command, bpf_attr& attributes) {
  return static_cast<int>(syscall(SYS_bpf, command, &attributes, sizeof attributes));
}

template <class Pointer>
std::uint64_t address_of(const Pointer* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

constexpr bpf_insn instruction(unsigned code, unsigned into, unsigned from, int offset,
                               std::int32_t value) {
  bpf_insn out{};
  out.code = static_cast<std::uint8_t>(code);
  out.dst_reg = into & 0xf;
  out.src_reg = from & 0xf;
  out.off = static_cast<std::int16_t>(offset);
  out.imm = value;
  return out;
}

Trouble no_right(const std::string& what) {
  return environment("no right to " + what +
                     ": run as root, or with CAP_BPF, CAP_NET_ADMIN and "
                     "CAP_NET_RAW");
}

Trouble bpf_trouble(const std::string& what, int error) {
  if (error == EPERM || error == EACCES) {
    return no_right(what);
  }
  if (error == ENOSYS) {
    return environment(
        "this kernel has no bpf(2): one with CONFIG_BPF_SYSCALL is needed, or "
        "--driver packet");
  }
  return environment("the kernel refuses to " + what + ": " + std::strerror(error) +
                     ": one of 5.9 or later is needed, or --driver packet");
}

Trouble make_map(unsigned queues, Descriptor& into) {
  bpf_attr attributes{};
  attributes.map_type = BPF_MAP_TYPE_XSKMAP;
  attributes.key_size = sizeof(std::uint32_t);
  attributes.value_size = sizeof(int);
  attributes.max_entries = queues;
  into = Descriptor(bpf(BPF_MAP_CREATE, attributes));
  return into.is_open() ? Trouble{} : bpf_trouble("make a map of sockets", errno);
}

// The program is: return bpf_redirect_map(map, context->rx_queue_index, XDP_PASS);
Trouble load(const Descriptor& map, Descriptor& into) {
  constexpr unsigned load_word = BPF_LDX | BPF_MEM | BPF_W;
  constexpr unsigned load_address = BPF_LD | BPF_IMM | BPF_DW;
  constexpr unsigned set = BPF_ALU64 | BPF_MOV | BPF_K;
  std::array const code{
      instruction(load_word, BPF_REG_2, BPF_REG_1, offsetof(xdp_md, rx_queue_index), 0),
      instruction(load_address, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map.number()),
      instruction(0, 0, 0, 0, 0),  // the second half of the address load
      instruction(set, BPF_REG_3, 0, 0, XDP_PASS),
      instruction(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_redirect_map),
      instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
  };
  constexpr const char* license = "MIT";
  bpf_attr attributes{};
  attributes.prog_type = BPF_PROG_TYPE_XDP;
  attributes.insns = address_of(code.data());
  attributes.insn_cnt = code.size();
  attributes.license = address_of(license);
  constexpr const char* name = "lockstep_xdp";
  std::memcpy(attributes.prog_name, name, std::strlen(name));
  into = Descriptor(bpf(BPF_PROG_LOAD, attributes));
  return into.is_open() ? Trouble{} : bpf_trouble("load a program", errno);
}

Descriptor link_to(int index, const Descriptor& program, unsigned mode) {
  bpf_attr attributes{};
  attributes.link_create.prog_fd = static_cast<std::uint32_t>(program.number());
  attributes.link_create.target_ifindex = static_cast<std::uint32_t>(index);
  attributes.link_create.attach_type = BPF_XDP;
  attributes.link_create.flags = mode;
  return Descriptor(bpf(BPF_LINK_CREATE, attributes));
}

Trouble not_attached(const std::string& name, int error) {
  if (error == EBUSY || error == EEXIST) {
    return environment(name +
                       " has an XDP program already: end the program that it belongs to, or "
                       "`ip link set dev " +
                       name + " xdp off`");
  }
  if (error == ERANGE) {
    return environment("the MTU of " + name + " is too large for XDP: `ip link set dev " + name +
                       " mtu 1500`");
  }
  return bpf_trouble("attach a program to " + name, error);
}

}  // namespace

Trouble attach_xdp_program(const std::string& name, int index, unsigned queues, XdpPlace place,
                           XdpProgram& into) {
  XdpProgram made;
  Descriptor program;
  Trouble trouble = make_map(queues, made.map);
  if (!trouble) {
    trouble = load(made.map, program);
  }
  if (trouble) {
    return trouble;
  }
  int error = 0;
  if (place != XdpPlace::generic) {
    made.link = link_to(index, program, XDP_FLAGS_DRV_MODE);
    made.native = made.link.is_open();
    error = errno;
  }
  // Fall back if the driver does not support XDP; but a program already attached is an error in
  // either mode.
  bool const cannot = error != EBUSY && error != EEXIST && error != EPERM;
  if (place == XdpPlace::generic || (place == XdpPlace::fitting && !made.native && cannot)) {
    made.link = link_to(index, program, XDP_FLAGS_SKB_MODE);
    error = errno;
  }
  if (!made.link.is_open()) {
    return not_attached(name, error);
  }
  into = std::move(made);
  return {};
}

Trouble give_queue(const XdpProgram& program, unsigned queue, const Descriptor& socket) {
  int const number = socket.number();
  bpf_attr attributes{};
  attributes.map_fd = static_cast<std::uint32_t>(program.map.number());
  attributes.key = address_of(&queue);
  attributes.value = address_of(&number);
  return bpf(BPF_MAP_UPDATE_ELEM, attributes) == 0
             ? Trouble{}
             : bpf_trouble("assign a queue to a socket", errno);
}

}  // namespace lockstep::hw
