// Handles commands one at a time, in order, while their responses can be sent.
#include "tools/lib/load/cache_server.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/units/check.hpp"

namespace lockstep::load {
namespace {

constexpr std::uint32_t line_max = 2048;
constexpr std::string_view line_end = "\r\n";

/// Takes the next word off the front.
std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  std::string_view const word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  return word;
}

CacheWords words_in(std::string_view line) {
  CacheWords out;
  while (out.count < out.words.size()) {
    auto const word = take_word(line);
    if (word.empty()) {
      break;
    }
    out.words[out.count] = word;
    ++out.count;
  }
  return out;
}

struct NamedVerb {
  std::string_view name;
  CacheVerb verb;
};

constexpr std::array named_verbs{
    NamedVerb{"get", CacheVerb::get},
    NamedVerb{"set", CacheVerb::set},
    NamedVerb{"delete", CacheVerb::remove},
    NamedVerb{"version", CacheVerb::version},
    NamedVerb{"quit", CacheVerb::quit},
    NamedVerb{"gets", CacheVerb::lacking},
    NamedVerb{"gat", CacheVerb::lacking},
    NamedVerb{"gats", CacheVerb::lacking},
    NamedVerb{"touch", CacheVerb::lacking},
    NamedVerb{"incr", CacheVerb::lacking},
    NamedVerb{"decr", CacheVerb::lacking},
    NamedVerb{"stats", CacheVerb::lacking},
    NamedVerb{"flush_all", CacheVerb::lacking},
    NamedVerb{"verbosity", CacheVerb::lacking},
    NamedVerb{"mg", CacheVerb::lacking},
    NamedVerb{"md", CacheVerb::lacking},
    NamedVerb{"ma", CacheVerb::lacking},
    NamedVerb{"mn", CacheVerb::lacking},
    NamedVerb{"me", CacheVerb::lacking},
    NamedVerb{"add", CacheVerb::lacking_store},
    NamedVerb{"replace", CacheVerb::lacking_store},
    NamedVerb{"append", CacheVerb::lacking_store},
    NamedVerb{"prepend", CacheVerb::lacking_store},
    NamedVerb{"cas", CacheVerb::lacking_store},
};

CacheVerb verb_of(std::string_view name) {
  for (const NamedVerb& each : named_verbs) {
    if (each.name == name) {
      return each.verb;
    }
  }
  return CacheVerb::unknown;
}

template <class Number>
bool take_number(std::string_view text, Number& into) {
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc{} && end == text.data() + text.size();
}

bool is_silent(const CacheWords& words) {
  return words.count > 2 && words.words[words.count - 1] == "noreply";
}

}  // namespace

CacheServer::CacheServer(const CacheSettings& settings, Count connections_max)
    : settings_(settings),
      slots_(connections_max.value),
      store_(settings.keys, settings.value_max) {
  command_.reserve(line_max + settings.value_max.count + 4);
  out_.reserve(key_max + settings.value_max.count + 64);
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
    slot = {event.id, true, false, false, 0, 0};
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
  if (slot.is_closed || (slot.left_out != 0 && !leave_out(stack, slot))) {
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
  CacheWords const words = words_in(line);
  CacheVerb const verb = verb_of(words.words[0]);
  CacheValue const value = value_of(verb, words);
  std::size_t const begin = end + line_end.size();
  std::size_t const length = value.follows ? value.octets + line_end.size() : 0;
  bool const is_read = value.fits && verb == CacheVerb::set;
  std::size_t const whole = begin + (is_read ? length : 0);
  if (all.size() < whole) {
    return false;
  }
  if (verb == CacheVerb::quit) {
    stack.consume(id, stack.unread(id));  // what is unread would cause a reset
    slot.is_closed = stack.close(id) != Refusal::no_room;
    slot.peer_finished = true;  // so that a refused close is tried again
    return false;
  }
  bool const is_sent =
      verb == CacheVerb::get && words.count > 1
          ? answer_get(stack, slot, line)
          : send(stack, slot, answer(verb, words, value, all.substr(begin, whole - begin)));
  if (!is_sent) {
    return false;
  }
  ++counters_.answers;
  stack.consume(id, Bytes{static_cast<std::uint32_t>(whole)});
  slot.left_out = value.follows && !is_read ? length : 0;
  return true;
}

// False: there is no room yet. The connection is aborted if half of it was queued.
bool CacheServer::send(Stack& stack, const Slot& slot, std::string_view said) {
  if (said.empty()) {
    return true;
  }
  if (stack.writable(slot.id).count < said.size()) {
    return false;
  }
  Taken const taken = stack.write(slot.id, std::as_bytes(std::span(said)));
  if (taken.bytes.count != said.size()) {
    stack.abort(slot.id);  // a pool is exhausted, and half a response is already queued
    return false;
  }
  return true;
}

// Each key is answered when there is room for its value.
bool CacheServer::answer_get(Stack& stack, Slot& slot, std::string_view line) {
  std::string_view rest = line.substr(std::max<std::size_t>(slot.keys_done, 3));
  for (auto key = take_word(rest); !key.empty(); key = take_word(rest)) {
    if (key.size() > key_max) {
      slot.keys_done = 0;
      return send(stack, slot, "CLIENT_ERROR the key is too long\r\n");
    }
    compose_value(key);
    if (!send(stack, slot, out_)) {
      return false;
    }
    slot.keys_done = static_cast<std::uint32_t>(line.size() - rest.size());
  }
  bool const is_sent = send(stack, slot, "END\r\n");
  slot.keys_done = is_sent ? 0 : slot.keys_done;
  return is_sent;
}

void CacheServer::compose_value(std::string_view key) {
  out_.clear();
  auto const value = store_.find(key);
  if (!value) {
    return;
  }
  out_.append("VALUE ").append(key);
  for (std::uint64_t const number : {std::uint64_t{value->flags}, value->octets.size()}) {
    std::array<char, 20> digits;
    auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    out_.append(" ").append(digits.data(), end);
  }
  out_.append(line_end).append(value->octets).append(line_end);
}

CacheValue CacheServer::value_of(CacheVerb verb, const CacheWords& words) const {
  CacheValue out;
  bool const stores = verb == CacheVerb::set || verb == CacheVerb::lacking_store;
  std::int64_t expiry = 0;
  out.follows = stores && words.count >= 5 && take_number(words.words[4], out.octets);
  out.is_valid =
      out.follows && take_number(words.words[2], out.flags) && take_number(words.words[3], expiry);
  out.expires = expiry != 0;
  out.fits = out.follows && out.octets <= settings_.value_max.count;
  return out;
}

// `data` is the value of a set, including the octets where its line should end.
std::string_view CacheServer::answer(CacheVerb verb, const CacheWords& words,
                                     const CacheValue& value, std::string_view data) {
  switch (verb) {
    case CacheVerb::set: {
      auto const said = store(words, value, data);
      return is_silent(words) && said == "STORED\r\n" ? std::string_view{} : said;
    }
    case CacheVerb::remove: {
      if (words.count < 2 || words.words[1].size() > key_max) {
        return "CLIENT_ERROR bad command line format\r\n";
      }
      bool const was_there = store_.remove(words.words[1]);
      return is_silent(words) ? std::string_view{} : was_there ? "DELETED\r\n" : "NOT_FOUND\r\n";
    }
    case CacheVerb::version:
      return "VERSION lockstep\r\n";
    case CacheVerb::lacking:
    case CacheVerb::lacking_store:
      return refuse_by_name(words.words[0]);
    default:
      return "ERROR\r\n";
  }
}

std::string_view CacheServer::store(const CacheWords& words, const CacheValue& value,
                                    std::string_view data) {
  if (!value.is_valid || words.words[1].size() > key_max) {
    return "CLIENT_ERROR bad command line format\r\n";
  }
  if (!value.fits) {
    return "SERVER_ERROR object too large for cache\r\n";
  }
  if (!data.ends_with(line_end)) {
    return "CLIENT_ERROR bad data chunk\r\n";
  }
  if (value.expires) {
    return refuse_by_name("an expiry");
  }
  data.remove_suffix(line_end.size());
  return store_.set(words.words[1], {data, value.flags}) ? "STORED\r\n"
                                                         : "SERVER_ERROR out of memory\r\n";
}

std::string_view CacheServer::refuse_by_name(std::string_view name) {
  out_.clear();
  return out_.append("SERVER_ERROR ").append(name).append(" is not supported\r\n");
}

}  // namespace lockstep::load
