// Handles commands one at a time, in order, while their responses can be sent.
#include "tools/lib/load/cache_server.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/units/check.hpp"
#include "core/units/hash.hpp"

namespace lockstep::load {
namespace {

constexpr std::uint32_t line_max = 300;
constexpr std::string_view line_end = "\r\n";

using Words = CacheWords;

Words words_in(std::string_view line) {
  Words out;
  while (!line.empty() && out.count < out.words.size()) {
    std::size_t const end = std::min(line.find(' '), line.size());
    out.words[out.count] = line.substr(0, end);
    ++out.count;
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return out;
}

bool is_set(const Words& words) { return words.count == 5 && words.words[0] == "set"; }

/// The length of a set's value, which follows its line; nullopt if it is not a number.
std::optional<std::uint32_t> octets_of(const Words& words) {
  std::string_view const text = words.words[4];
  std::uint32_t octets = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), octets);
  bool const is_number = error == std::errc{} && end == text.data() + text.size();
  return is_number ? std::optional(octets) : std::nullopt;
}

}  // namespace

CacheServer::CacheServer(const CacheSettings& settings, Count connections_max)
    : settings_(settings),
      slots_(connections_max.value),
      entries_(std::size_t{settings.keys.value} * 2),
      values_(std::size_t{settings.keys.value} * settings.value_max.count) {
  command_.reserve(line_max + settings.value_max.count + 4);
  out_.reserve(line_max + settings.value_max.count + 16);
}

Refusal CacheServer::start(Stack& stack) {
  Local local;
  local.port = settings_.port;
  return stack.listen(local, settings_.backlog, listener_);
}

void CacheServer::on_event(Stack& stack, const Event& event) {
  CHECK(event.id.slot < slots_.size());
  Slot& slot = slots_[event.id.slot];
  if (event.kind == EventKind::accepted) {
    slot = {event.id, true, false, false, 0};
    ++open_;
    ++counters_.connections;
    static_cast<void>(stack.set(slot.id, {SettingKind::nagle, 0}));
    return;
  }
  if (!slot.is_open || slot.id != event.id) {
    return;
  }
  slot.peer_finished = slot.peer_finished || event.kind == EventKind::peer_finished;
  if (event.kind == EventKind::closed) {
    slot.is_open = false;
    --open_;
  } else {
    go_on(stack, slot);
  }
}

void CacheServer::stop(Stack& stack, Instant now) {
  static_cast<void>(stack.unlisten(listener_));
  abandon(stack, now);
}

void CacheServer::abandon(Stack& stack, Instant) {
  std::for_each(slots_.begin(), slots_.end(), [&](const Slot& slot) {
    if (slot.is_open) {
      stack.abort(slot.id);
    }
  });
}

void CacheServer::go_on(Stack& stack, Slot& slot) {
  if (slot.is_closed) {
    return;
  }
  while (serve_one(stack, slot)) {
  }
  if (slot.peer_finished) {
    slot.is_closed = stack.close(slot.id) != Refusal::no_room;
  }
}

// Returns true once none of the value is left to discard.
bool CacheServer::leave_out(Stack& stack, Slot& slot) {
  Bytes const unread = stack.unread(slot.id);
  Bytes const gone{
      static_cast<std::uint32_t>(std::min<std::uint64_t>(unread.count, slot.left_out))};
  stack.consume(slot.id, gone);
  slot.left_out -= gone.count;
  return slot.left_out == 0;
}

// False: the command is incomplete, or its response cannot be sent yet.
bool CacheServer::serve_one(Stack& stack, Slot& slot) {
  ConnectionId const id = slot.id;
  if (slot.left_out != 0 && !leave_out(stack, slot)) {
    return false;
  }
  command_.clear();
  std::size_t const most = command_.capacity();
  for (auto part = stack.readable(id); !part.empty() && command_.size() < most;
       part = stack.readable(id, Bytes{static_cast<std::uint32_t>(command_.size())})) {
    command_.append(reinterpret_cast<const char*>(part.data()),
                    std::min(part.size(), most - command_.size()));
  }
  std::string_view const all = command_;
  std::size_t const end = all.find(line_end);
  if (end == std::string_view::npos) {
    if (all.size() > line_max) {
      stack.abort(id);
    }
    return false;
  }
  std::string_view const line = all.substr(0, end);
  Words const words = words_in(line);
  std::optional<std::uint32_t> const octets = is_set(words) ? octets_of(words) : std::nullopt;
  bool const is_too_large = octets && *octets > settings_.value_max.count;
  std::size_t const begin = end + line_end.size();
  bool const has_value = octets && !is_too_large;
  std::size_t const whole = begin + (has_value ? *octets + line_end.size() : 0);
  if (all.size() < whole) {
    return false;
  }
  std::string_view const said = is_too_large ? "SERVER_ERROR object too large for cache\r\n"
                                : is_set(words) && !octets
                                    ? "CLIENT_ERROR bad command line format\r\n"
                                    : answer(words, all.substr(begin, whole - begin));
  if (stack.writable(id).count < said.size()) {
    return false;
  }
  Taken const taken = stack.write(id, std::as_bytes(std::span(said)));
  if (taken.bytes.count != said.size()) {
    stack.abort(id);  // a pool is exhausted, and half a response is already queued
    return false;
  }
  ++counters_.answers;
  stack.consume(id, Bytes{static_cast<std::uint32_t>(whole)});
  slot.left_out = is_too_large ? *octets + line_end.size() : 0;
  return true;
}

// `data` is the value of a set, including the octets where its line should end.
std::string_view CacheServer::answer(const CacheWords& words, std::string_view data) {
  bool const named = words.count > 1 && words.words[1].size() <= key_max;
  if (named && words.words[0] == "get" && words.count == 2) {
    return get(words.words[1]);
  }
  if (named && words.words[0] == "set" && words.count == 5) {
    return data.ends_with(line_end) ? set(words.words[1], data.substr(0, data.size() - 2))
                                    : "CLIENT_ERROR bad data chunk\r\n";
  }
  return "ERROR\r\n";
}

CacheServer::Entry* CacheServer::find(std::string_view key) {
  SecretHash hash({1, 2});
  for (char const letter : key) {
    hash.add(static_cast<unsigned char>(letter));
  }
  // There are twice as many entries as keys, so the search always finds a free one.
  for (std::uint64_t at = hash.finish() % entries_.size();; at = (at + 1) % entries_.size()) {
    Entry& entry = entries_[at];
    if (entry.key_length == 0 || std::string_view(entry.key.data(), entry.key_length) == key) {
      return &entry;
    }
  }
}

std::string_view CacheServer::get(std::string_view key) {
  const Entry& entry = *find(key);
  out_.clear();
  if (entry.key_length != 0) {
    std::array<char, 12> digits;
    auto const [end, error] =
        std::to_chars(digits.data(), digits.data() + digits.size(), entry.length);
    out_.append("VALUE ").append(key).append(" 0 ").append(digits.data(), end).append(line_end);
    out_.append(values_.data() + entry.begin, entry.length).append(line_end);
  }
  return out_.append("END\r\n");
}

std::string_view CacheServer::set(std::string_view key, std::string_view data) {
  Entry& entry = *find(key);
  if (entry.key_length == 0) {
    if (used_ == settings_.keys.value) {
      return "SERVER_ERROR out of memory\r\n";
    }
    entry.begin = std::uint64_t{used_} * settings_.value_max.count;
    entry.key_length = static_cast<std::uint32_t>(key.size());
    std::copy(key.begin(), key.end(), entry.key.begin());
    ++used_;
  }
  entry.length = static_cast<std::uint32_t>(data.size());
  std::copy(data.begin(), data.end(), values_.begin() + static_cast<std::ptrdiff_t>(entry.begin));
  return "STORED\r\n";
}

}  // namespace lockstep::load
