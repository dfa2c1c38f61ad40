// A device in this process or behind a descriptor, and the calls to it.
#include "conformance/compare/host.hpp"

#include <fmt/core.h>

#include <array>
#include <charconv>
#include <sstream>
#include <string>
#include <vector>

#include "conformance/devices/load.hpp"

namespace lockstep::conformance::compare {
namespace {

constexpr std::size_t octets_most = std::size_t{1} << 20;  // that one call reads
constexpr std::uint32_t still_most = 1'000;    // calls of advance() while the deadline is over
constexpr std::uint32_t packets_most = 2'000;  // at one instant

/// A library in this process. It checks what program.c checks.
class LoadedHost final : public Host {
 public:
  LoadedHost(const std::filesystem::path& path, HostNote* note)
      : calls_(load_device(path)), name_(device_name(path)), note_(note), room_(octets_most) {}
  ~LoadedHost() override { destroy(); }

  DeviceAnswer ask(lockstep_device_call call, std::uint64_t first, std::uint64_t second,
                   std::string_view octets) override {
    call_ = call;
    if (note_ != nullptr) {
      note_->call = call;
    }
    DeviceAnswer out;
    out.result = result_of(first, second, octets, out);
    out.now = now_;
    if (note_ != nullptr) {
      note_->call = 0;
    }
    return out;
  }
  std::uint64_t grain_ns() const override { return calls_.timer_grain; }
  bool is_renewable() const override {
    return std::string_view(calls_.abilities).find("renewable") != std::string_view::npos;
  }
  std::string_view name() const override { return name_; }

 private:
  void destroy() {
    if (device_ != nullptr) {
      calls_.destroy(device_);
      device_ = nullptr;
    }
  }

  [[noreturn]] void fault(const std::string& what) const {
    throw DeviceFault(fmt::format("device {}: {}: {}", name_, name_of(call_), what));
  }

  /// Reads the lines that DevicePeer sends, too.
  std::int64_t create(std::string_view lines, DeviceAnswer& out) {
    destroy();
    std::array<std::string, 5> values;
    std::string options(lines);
    for (std::string& value : values) {
      std::size_t const sign = options.find('='), end = options.find('\n');
      value = options.substr(sign + 1, end - sign - 1);
      options.erase(0, end + 1);
    }
    const auto number = [](const std::string& text) {
      std::uint64_t value = 0;
      std::from_chars(text.data(), text.data() + text.size(), value);
      return value;
    };
    lockstep_device_setup const setup{
        values[0].c_str(), values[1].c_str(), static_cast<std::uint32_t>(number(values[2])),
        number(values[3]), number(values[4]), options.c_str()};
    std::array<char, 512> why{};
    now_ = setup.start;
    still_ = 0;
    device_ = calls_.create(&setup, why.data(), why.size());
    out.octets = why.data();
    return device_ != nullptr                      ? 0
           : out.octets.starts_with("unsupported") ? LOCKSTEP_DEVICE_UNSUPPORTED
                                                   : LOCKSTEP_DEVICE_REFUSED;
  }

  void take_packets(DeviceAnswer& out) {
    for (;;) {
      std::size_t const length =
          calls_.packet_out(device_, room_.data(), LOCKSTEP_DEVICE_PACKET_MAX);
      if (length == 0) {
        return;
      }
      if (length > LOCKSTEP_DEVICE_PACKET_MAX) {
        fault("packet_out() returned more octets than there was room for");
      }
      if (out.packets.size() >= packets_most) {
        fault(fmt::format("it sends more than {} packets at one instant", packets_most));
      }
      out.packets.emplace_back(room_.begin(), room_.begin() + static_cast<std::ptrdiff_t>(length));
    }
  }

  void run(std::uint64_t until, DeviceAnswer& out) {
    take_packets(out);
    if (calls_.travel != nullptr && out.packets.empty()) {
      std::uint64_t const reached = calls_.travel(device_, until);
      if (reached < now_ || reached > until) {
        fault("travel() returned an instant before now, or after the one that it was told");
      }
      now_ = reached;
      take_packets(out);
      return;
    }
    while (out.packets.empty()) {
      std::uint64_t const due = calls_.deadline(device_);
      if (due > until && now_ >= until) {
        return;
      }
      std::uint64_t const to = due > until ? until : std::max(due, now_);
      still_ = to == now_ ? still_ + 1 : 0;
      if (still_ > still_most) {
        fault(fmt::format("its deadline is over after {} calls of advance() at one instant",
                          still_most));
      }
      now_ = to;
      calls_.advance(device_, to);
      take_packets(out);
    }
  }

  std::int64_t receive(std::int64_t handle, std::uint64_t most, DeviceAnswer& out) {
    std::size_t const room = std::min<std::uint64_t>(most, room_.size());
    std::int64_t const got = calls_.receive(device_, handle, room_.data(), room);
    if (got > 0 && static_cast<std::uint64_t>(got) > room) {
      fault("it returned more octets than there was room for");
    }
    if (got > 0) {
      out.octets.assign(reinterpret_cast<const char*>(room_.data()), static_cast<std::size_t>(got));
    }
    return got;
  }

  std::int64_t send(std::int64_t handle, std::string_view octets) {
    std::int64_t const sent = calls_.send(device_, handle, octets.data(), octets.size());
    if (sent > 0 && static_cast<std::uint64_t>(sent) > octets.size()) {
      fault("it accepted more octets than it was given");
    }
    return sent;
  }

  std::int64_t result_of(std::uint64_t first, std::uint64_t second, std::string_view octets,
                         DeviceAnswer& out) {
    auto const handle = static_cast<std::int64_t>(first);
    auto const port = static_cast<std::uint16_t>(first);
    switch (call_) {
      case LOCKSTEP_CALL_CREATE:
        return create(octets, out);
      case LOCKSTEP_CALL_ADVANCE:
        run(first, out);
        return 0;
      case LOCKSTEP_CALL_PACKET:
        calls_.packet_in(device_, octets.data(), octets.size());
        take_packets(out);
        return 0;
      case LOCKSTEP_CALL_LISTEN:
        return calls_.listen(device_, port, static_cast<std::uint32_t>(second));
      case LOCKSTEP_CALL_ACCEPT:
        return calls_.accept(device_, handle);
      case LOCKSTEP_CALL_CONNECT:
        return calls_.connect(device_, port, static_cast<std::uint16_t>(second));
      case LOCKSTEP_CALL_SEND:
        return send(handle, octets);
      case LOCKSTEP_CALL_RECEIVE:
        return receive(handle, second, out);
      case LOCKSTEP_CALL_FINISH:
        return calls_.finish(device_, handle);
      case LOCKSTEP_CALL_CLOSE:
        return calls_.close(device_, handle);
      default:
        return LOCKSTEP_DEVICE_UNSUPPORTED;
    }
  }

  const lockstep_device_calls& calls_;
  std::string name_;
  HostNote* note_;
  std::vector<std::byte> room_;
  lockstep_device* device_ = nullptr;
  lockstep_device_call call_ = LOCKSTEP_CALL_ABOUT;
  std::uint64_t now_ = 0;
  std::uint32_t still_ = 0;
};

/// A program, which has a process of its own.
class ProgramHost final : public Host {
 public:
  explicit ProgramHost(const std::filesystem::path& path) : peer_(path), name_(device_name(path)) {}

  DeviceAnswer ask(lockstep_device_call call, std::uint64_t first, std::uint64_t second,
                   std::string_view octets) override {
    return peer_.ask(call, first, second, octets);
  }
  std::uint64_t grain_ns() const override { return peer_.about().timer_grain; }
  bool is_renewable() const override { return peer_.about().abilities.contains("renewable"); }
  std::string_view name() const override { return name_; }

 private:
  DevicePeer peer_;
  std::string name_;
};

}  // namespace

std::unique_ptr<Host> open_host(const std::filesystem::path& device, HostNote* note) {
  if (is_program(device)) {
    return std::make_unique<ProgramHost>(device);
  }
  return std::make_unique<LoadedHost>(device, note);
}

}  // namespace lockstep::conformance::compare
