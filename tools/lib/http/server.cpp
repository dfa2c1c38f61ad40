// The server: handles events, reads requests, queues responses as room allows, enforces timeouts.
#include "tools/lib/http/server.hpp"

#include <algorithm>
#include <charconv>

#include "core/units/check.hpp"

namespace lockstep::http {
namespace {

// Requests read on one connection in one visit, so that pipelining does not starve the others.
constexpr std::uint32_t requests_at_once = 8;
// Timeouts handled in one turn, for each waiting list.
constexpr std::uint32_t expiries_at_once = 64;
constexpr std::uint64_t lend_max = 1u << 30;
// The observer learns the round-trip time with the first of so many answers of a connection.
constexpr std::uint32_t answers_a_look = 64;
constexpr std::string_view go_ahead = "HTTP/1.1 100 Continue\r\n\r\n";

std::span<const std::byte> octets_of(const char* at, std::size_t length) {
  return std::as_bytes(std::span(at, length));
}

/// Whether an octet stands for itself in a path (RFC 3986 3.3).
bool is_plain(char letter) {
  constexpr std::string_view marks = "-._~!$&'()*+,;=:@/";
  bool const alphanumeric = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                            (letter >= '0' && letter <= '9');
  return alphanumeric || marks.find(letter) != std::string_view::npos;
}

/// The path, percent-encoded, with a slash and the query; empty if it is too long. It begins with
/// one slash only, so that it names no other host.
std::string_view folder_location(std::string_view path, std::string_view query,
                                 std::span<char, location_max> into) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  if (path.starts_with("//") || path.size() * 3 + 1 + query.size() > into.size()) {
    return {};
  }
  std::size_t length = 0;
  for (char const letter : path) {
    if (is_plain(letter)) {
      into[length++] = letter;
      continue;
    }
    auto const octet = static_cast<unsigned char>(letter);
    into[length++] = '%';
    into[length++] = digits[octet / 16];
    into[length++] = digits[octet % 16];
  }
  into[length++] = '/';
  for (char const letter : query) {
    into[length++] = letter;
  }
  return {into.data(), length};
}

}  // namespace

Server::Server(const Site& site, const ServerSettings& settings, Count connections_max)
    : site_(site),
      settings_(settings),
      clients_(settings.per_client == 0 ? 0 : connections_max.value),
      waiting_(connections_max.value),
      slots_(connections_max.value),
      ready_(connections_max.value) {
  CHECK(settings.limits.head_max.count <= 65'536);
  CHECK(settings.limits.body_max.count <= 1u << 30);
  CHECK(settings.limits.sink_max <= std::uint64_t{1} << 60);
  waiting_.set_patience(silent, settings.idle);
  waiting_.set_patience(idle, settings.idle);
  waiting_.set_patience(request, settings.request);
  waiting_.set_patience(send, settings.send);
  waiting_.set_patience(linger, settings.linger);
}

Refusal Server::start(Stack& stack) {
  stack.bind(Site::content_region, site_.content(), site_.content_table());
  stack.bind(Site::pattern_region, site_.pattern(), site_.pattern_table());
  clients_.set_key(stack.config().tcp.table_key);
  Local local;
  local.port = settings_.port;
  return stack.listen(local, settings_.backlog, listener_);
}

Server::Slot* Server::slot_of(ConnectionId id) {
  CHECK(id.slot < slots_.size());
  Slot& slot = slots_[id.slot];
  return slot.phase != Phase::none && slot.id == id ? &slot : nullptr;
}

void Server::on_event(Stack& stack, const Event& event) {
  if (event.kind == EventKind::accepted) {
    accept(stack, event);
    return;
  }
  Slot* const slot = slot_of(event.id);
  if (slot == nullptr) {
    return;
  }
  switch (event.kind) {
    case EventKind::received:
      go_on(stack, *slot);
      break;
    case EventKind::acknowledged:
      tell_acknowledged(*slot, event.bytes, stack.now());
      progressed(stack, *slot, event.bytes);
      go_on(stack, *slot);
      break;
    case EventKind::room:
      go_on(stack, *slot);
      break;
    case EventKind::peer_finished:
      slot->peer_finished = true;
      go_on(stack, *slot);
      break;
    case EventKind::closed:
      forget(*slot, event.cause, stack.now());
      break;
    default:
      break;
  }
}

void Server::accept(Stack& stack, const Event& event) {
  CHECK(event.id.slot < slots_.size());
  Slot& slot = slots_[event.id.slot];
  CHECK(slot.phase == Phase::none);
  slot.id = event.id;
  slot.phase = Phase::reading;
  slot.peer_finished = slot.close_after = slot.finish_pending = false;
  slot.go_ahead = 0;
  slot.reader.begin();
  ++open_;
  ++counters_.connections;
  slot.counted = false;
  slot.answers = 0;
  slot.queued = slot.acknowledged = slot.timed_end = 0;
  if (observer_ != nullptr) {
    slot.client = stack.inspect(slot.id).tuple.remote.address;
  }
  if (stopping_ || is_over_limit(stack, slot)) {
    abort(stack, slot);
  } else {
    wait(slot, silent, stack.now());
    // A response is queued whole; Nagle must not delay its last segment until an ACK.
    static_cast<void>(stack.set(slot.id, {SettingKind::nagle, 0}));
  }
}

void Server::forget(Slot& slot, Cause cause, Instant now) {
  if (slot.phase == Phase::sending) {
    tell(slot, now, {});
  }
  waiting_.leave(index_of_slot(slot));
  dying_ -= slot.phase == Phase::dead ? 1 : 0;
  if (slot.counted) {
    clients_.remove(slot.client);
  }
  slot.phase = Phase::none;
  --open_;
  ++counters_.ends[static_cast<std::uint32_t>(cause)];
}

void Server::progressed(Stack& stack, Slot& slot, Bytes octets) {
  std::uint32_t const list = waiting_.list_of(index_of_slot(slot));
  if (list == send || list == linger) {
    earn(slot, static_cast<Wait>(list), octets, stack.now());
  }
}

void Server::earn(Slot& slot, Wait kind, Bytes octets, Instant now) {
  Duration const time = kind == send     ? settings_.send
                        : kind == linger ? settings_.linger
                                         : settings_.request;
  slot.earned += octets.count;
  if (slot.earned >= time.ns / 1'000'000'000 * ServerSettings::octets_a_second_least) {
    wait(slot, kind, now);
  }
}

//= rfc9112#9.3.2
//# 9112:MSG-19 a request is read when the answer before it is queued, so the order stays
void Server::go_on(Stack& stack, Slot& slot) {
  for (std::uint32_t i = 0; i < requests_at_once; ++i) {
    if (slot.phase == Phase::reading && !read_request(stack, slot)) {
      return;
    }
    if (slot.phase == Phase::sending && !send_answer(stack, slot)) {
      return;
    }
    if (slot.phase == Phase::closing) {
      discard(stack, slot);
    }
    if (slot.phase != Phase::reading) {
      return;
    }
  }
  if (!slot.ready) {
    slot.ready = true;
    ready_[(ready_first_ + ready_count_) % ready_.size()] = index_of_slot(slot);
    ++ready_count_;
  }
}

// Returns true once there is something to send.
bool Server::read_request(Stack& stack, Slot& slot) {
  Instant const now = stack.now();
  if (!queue_go_ahead(stack, slot)) {
    return false;
  }
  for (auto part = stack.readable(slot.id); !part.empty(); part = stack.readable(slot.id)) {
    bool const was_begun = slot.reader.begun();
    bool const was_upload = slot.reader.is_upload();
    Bytes used;
    auto const progress = slot.reader.read(part, settings_.limits, used);
    stack.consume(slot.id, used);
    if (!was_begun) {
      slot.begun = now;
    }
    if (!was_begun || slot.reader.is_upload() != was_upload) {
      wait(slot, request, now);
    } else if (was_upload) {
      earn(slot, request, used, now);
    }
    if (progress == RequestReader::Progress::more && !send_go_ahead(stack, slot)) {
      return false;
    }
    //= rfc9110#5.3
    //# 9110:HTTP-1 a request is applied once its head is whole
    if (progress == RequestReader::Progress::complete) {
      answer(slot, now);
      return true;
    }
    //= rfc9112#9.3
    //# 9112:MSG-18 after a body that is not read the connection closes
    if (progress == RequestReader::Progress::failed) {
      answer_with(slot,
                  {.status = slot.reader.failure(),
                   .keep_alive = false,
                   .without_body = slot.reader.is_head()},
                  now);
      return true;
    }
  }
  //= rfc9112#6.3
  //# 9112:MSG-17 a request that is cut off is not answered; the connection closes
  if (slot.peer_finished) {
    finish(stack, slot);
  }
  return false;
}

// Sends 100 Continue to a client that waits for it. True once it is queued.
//= rfc9110#10.1.1
//# 9110:HTTP-13 100 or a final status before the body is read
bool Server::send_go_ahead(Stack& stack, Slot& slot) {
  if (slot.reader.take_expectation()) {
    slot.go_ahead = static_cast<std::uint8_t>(go_ahead.size());
  }
  return queue_go_ahead(stack, slot);
}

// Returns true once none of it is left to queue.
bool Server::queue_go_ahead(Stack& stack, Slot& slot) {
  while (slot.go_ahead != 0) {
    auto const rest = go_ahead.substr(go_ahead.size() - slot.go_ahead);
    Taken const taken = stack.write(slot.id, octets_of(rest.data(), rest.size()), More::no);
    if (taken.bytes.empty()) {
      return false;
    }
    slot.go_ahead = static_cast<std::uint8_t>(slot.go_ahead - taken.bytes.count);
    slot.queued += taken.bytes.count;
  }
  return true;
}

void Server::answer_upload(Slot& slot, ResponseHead head, Instant now) {
  constexpr std::size_t digits_max = 20;
  std::array<char, digits_max + 1 + Sha256::hex_length + 1> text;
  Sha256 const& upload = slot.reader.upload();
  char* end = std::to_chars(text.data(), text.data() + digits_max, upload.octets()).ptr;
  *end++ = ' ';
  auto const hex = upload.hex();
  end = std::copy(hex.begin(), hex.end(), end);
  *end++ = '\n';
  counters_.upload_octets += upload.octets();
  head.text = {text.data(), static_cast<std::size_t>(end - text.data())};
  answer_with(slot, head, now);
}

UnixSeconds Server::date_at(Instant now) const {
  return {settings_.unix_ns == 0 ? 0
                                 : (settings_.unix_ns + now.since(Instant{}).ns) / 1'000'000'000};
}

void Server::answer(Slot& slot, Instant now) {
  const RequestReader& asked = slot.reader;
  ResponseHead head;
  head.keep_alive = asked.keeps_alive() && !stopping_;
  head.to_http_1_0 = asked.is_http_1_0();
  head.without_body = asked.is_head();
  if (asked.is_upload()) {
    answer_upload(slot, head, now);
    return;
  }
  std::array<char, Site::path_max> decoded;
  auto const path = path_of(asked.target(), decoded);
  auto const resource = site_.find(path);
  //= rfc9110#9.1
  //# 9110:HTTP-2 GET and HEAD are supported
  bool const reads = asked.is_get() || asked.is_head();
  head.to_sink = !resource && path == sink_path && settings_.limits.sink_max != 0;
  //= rfc9110#13.2.1
  //# 9110:HTTP-22 conditions do not change an answer that is neither 2xx nor 412
  if (!reads || head.to_sink) {
    head.status = Status::method_not_allowed;
    answer_with(slot, head, now);
  } else if (resource) {
    answer_found(slot, *resource, head, now);
  } else {
    answer_other(slot, path, head, now);
  }
}

void Server::answer_found(Slot& slot, const Resource& resource, ResponseHead head, Instant now) {
  const RequestReader& asked = slot.reader;
  UnixSeconds const date = date_at(now);
  //= rfc9110#8.8.2.1
  //# 9110:HTTP-14 Last-Modified is not later than Date, and needs a clock that gave the time
  UnixSeconds const modified =
      date.value == 0 ? resource.validators.modified : std::min(resource.validators.modified, date);
  DateText const text = date_text(modified);
  head.type = resource.type;
  head.length = resource.body.length;
  head.range = {ByteRange::Kind::whole, 0, head.length};
  head.etag = resource.validators.etag;
  head.modified =
      modified.value == 0 ? std::string_view{} : std::string_view(text.data(), text.size());
  Validators const validators{head.etag, modified};
  Verdict const verdict = asked.conditions().empty()
                              ? Verdict::proceed
                              : verdict_of(asked.conditions(), validators, date);
  slot.body = resource.body;
  if (verdict != Verdict::proceed) {
    head.status =
        verdict == Verdict::not_modified ? Status::not_modified : Status::precondition_failed;
    answer_with(slot, head, now);
    return;
  }
  //= rfc9110#14.2
  //# 9110:HTTP-23 a Range field applies only to GET
  if (asked.is_get() && !asked.range().empty() &&
      range_applies(asked.conditions(), validators, date)) {
    head.range = range_of(asked.range(), head.length);
  }
  head.status = head.range.kind == ByteRange::Kind::unsatisfiable ? Status::range_not_satisfiable
                : head.range.kind == ByteRange::Kind::part        ? Status::partial_content
                                                                  : Status::ok;
  answer_with(slot, head, now);
}

/// 301 to the path of a folder without its slash, else 404.
void Server::answer_other(Slot& slot, std::string_view path, ResponseHead head, Instant now) {
  std::array<char, location_max> room;
  std::string_view const target = slot.reader.target();
  std::size_t const query = target.find('?');
  std::string_view const location =
      site_.is_folder(path)
          ? folder_location(path, query == target.npos ? "" : target.substr(query), room)
          : std::string_view{};
  head.status = location.empty() ? Status::not_found : Status::moved_permanently;
  head.location = location;
  answer_with(slot, head, now);
}

void Server::answer_with(Slot& slot, ResponseHead head, Instant now) {
  UnixSeconds const date = date_at(now);
  DateText const text = date_text(date);
  //= rfc9110#6.6.1
  //# 9110:HTTP-10 no Date without a clock
  head.date = date.value == 0 ? std::string_view{} : std::string_view(text.data(), text.size());
  slot.head_length = static_cast<std::uint16_t>(write_head(head, slot.head));
  slot.head_sent = 0;
  bool const found = head.status == Status::ok || head.status == Status::partial_content;
  bool const with_body = found && !head.without_body && head.text.empty();
  slot.position = slot.begin = with_body ? head.range.begin : 0;
  slot.end = with_body ? head.range.end : 0;
  slot.close_after = !head.keep_alive;
  slot.phase = Phase::sending;
  slot.status = head.status;
  ++counters_.requests;
  std::uint32_t const status = index_of(head.status);
  ++counters_.answers[status];
  counters_.answer_octets[status] += slot.head_length + slot.end - slot.position;
  counters_.body_octets += slot.end - slot.position;
  wait(slot, send, now);
}

// Returns true once the whole response is queued.
bool Server::send_answer(Stack& stack, Slot& slot) {
  while (slot.head_sent < slot.head_length) {
    Taken const taken =
        stack.write(slot.id,
                    octets_of(slot.head.data() + slot.head_sent,
                              static_cast<std::size_t>(slot.head_length - slot.head_sent)),
                    slot.position < slot.end ? More::yes : More::no);
    slot.head_sent = static_cast<std::uint16_t>(slot.head_sent + taken.bytes.count);
    slot.queued += taken.bytes.count;
    if (taken.refusal != Refusal::none && taken.refusal != Refusal::no_room) {
      abort(stack, slot);
      return false;
    }
    if (taken.bytes.empty()) {
      return false;
    }
  }
  if (!send_body(stack, slot)) {
    return false;
  }
  tell_queued(stack, slot);
  //= rfc9112#9.6
  //# 9112:MSG-20 a client that asked for `close` gets it after the answer
  //= rfc9112#9.6
  //# 9112:MSG-21 so does one that we sent `close`; further requests are discarded
  if (slot.close_after || stopping_) {
    finish(stack, slot);
  } else {
    slot.phase = Phase::reading;
    slot.reader.begin();
    wait(slot, idle, stack.now());
  }
  return true;
}

void Server::tell(const Slot& slot, Instant now, Duration srtt) const {
  if (observer_ == nullptr) {
    return;
  }
  // An error's body follows its head.
  std::string_view const head(slot.head.data(), slot.head_length);
  std::size_t const blank = std::min(head.find("\r\n\r\n"), head.size());
  std::size_t const text = head.size() - std::min(blank + 4, head.size());
  observer_->answered({slot.client, slot.reader, slot.status, slot.position - slot.begin + text,
                       slot.begun, now, srtt});
}

void Server::tell_queued(Stack& stack, Slot& slot) {
  if (observer_ == nullptr) {
    return;
  }
  // Looking at a connection costs more than all the rest here.
  bool const looks = slot.answers++ % answers_a_look == 0;
  tell(slot, stack.now(), looks ? stack.inspect(slot.id).srtt : Duration{});
  if (slot.timed_end == 0) {
    slot.timed_end = slot.queued;
    slot.timed_begun = slot.begun;
  }
}

void Server::tell_acknowledged(Slot& slot, Bytes octets, Instant now) {
  slot.acknowledged += octets.count;
  if (slot.timed_end == 0 || slot.acknowledged < slot.timed_end) {
    return;
  }
  slot.timed_end = 0;
  // A snapshot of an observed server may have been restored without an observer.
  if (observer_ != nullptr) {
    observer_->acknowledged(now.since(slot.timed_begun));
  }
}

bool Server::send_body(Stack& stack, Slot& slot) {
  while (slot.position < slot.end) {
    Body const& body = slot.body;
    std::uint64_t const from =
        body.period == 0 ? body.begin + slot.position : slot.position % body.period;
    std::uint64_t run = std::min(slot.end - slot.position, lend_max);
    run = body.period == 0 ? run : std::min(run, body.period - from);
    bool const last = slot.position + run == slot.end;
    Taken const taken = stack.lend(slot.id, {body.region, from, static_cast<std::uint32_t>(run)},
                                   last ? More::no : More::yes);
    slot.position += taken.bytes.count;
    slot.queued += taken.bytes.count;
    if (taken.refusal != Refusal::none && taken.refusal != Refusal::no_room) {
      abort(stack, slot);
      return false;
    }
    if (taken.bytes.empty()) {
      return false;
    }
  }
  return true;
}

// RFC 9112 9.6: closes our half first and discards what still arrives, so that no reset overtakes
// the response.
void Server::finish(Stack& stack, Slot& slot) {
  slot.phase = Phase::closing;
  wait(slot, linger, stack.now());
  slot.finish_pending = true;
  discard(stack, slot);
}

void Server::discard(Stack& stack, Slot& slot) {
  if (slot.finish_pending) {
    slot.finish_pending = stack.finish(slot.id) == Refusal::no_room;
  }
  stack.consume(slot.id, stack.unread(slot.id));
}

void Server::abort(Stack& stack, Slot& slot) {
  waiting_.leave(index_of_slot(slot));
  if (slot.phase == Phase::sending) {
    tell(slot, stack.now(), {});
  }
  slot.phase = Phase::dead;
  ++dying_;
  stack.abort(slot.id);
}

bool Server::is_over_limit(Stack& stack, Slot& slot) {
  if (settings_.per_client == 0) {
    return false;
  }
  slot.client = stack.inspect(slot.id).tuple.remote.address;
  slot.counted = true;
  bool const over = clients_.add(slot.client) > settings_.per_client;
  counters_.over_client_limit += over ? 1 : 0;
  return over;
}

std::uint32_t Server::room_wanted() const {
  return std::min(64u, static_cast<std::uint32_t>(slots_.size()) / 16);
}

void Server::make_room(Stack& stack, Instant now) {
  for (Wait const kind : {silent, request, idle}) {
    for (std::uint32_t i = 0; i < expiries_at_once && is_short(); ++i) {
      std::uint32_t const first = waiting_.first(kind);
      if (first == WaitingLists::none || now < waiting_.since(first) + settings_.grace) {
        break;
      }
      ++(kind == silent    ? counters_.gave_way_silent
         : kind == request ? counters_.gave_way_partial
                           : counters_.gave_way_idle);
      abort(stack, slots_[first]);
    }
  }
}

void Server::run(Stack& stack, Instant now) {
  expire(stack, now);
  make_room(stack, now);
  for (std::uint32_t left = ready_count_; left != 0; --left) {
    Slot& slot = slots_[ready_[ready_first_]];
    ready_first_ = (ready_first_ + 1) % static_cast<std::uint32_t>(ready_.size());
    --ready_count_;
    slot.ready = false;
    if (slot.phase != Phase::none) {
      go_on(stack, slot);
    }
  }
}

void Server::expire(Stack& stack, Instant now) {
  for (Wait const kind : {silent, idle, request, send, linger}) {
    for (std::uint32_t i = 0; i < expiries_at_once; ++i) {
      std::uint32_t const index = waiting_.pop_due(kind, now);
      if (index == WaitingLists::none) {
        break;
      }
      Slot& slot = slots_[index];
      if (kind == silent || kind == idle) {
        ++counters_.idle_ends;
        finish(stack, slot);
      } else if (kind == request) {
        ++counters_.request_timeouts;
        answer_with(slot, {.status = Status::request_timeout, .keep_alive = false}, now);
        go_on(stack, slot);
      } else {
        ++(kind == send ? counters_.send_timeouts : counters_.linger_timeouts);
        abort(stack, slot);
      }
    }
  }
}

Instant Server::deadline() const {
  if (ready_count_ != 0) {
    return Instant{};
  }
  Instant due = waiting_.deadline();
  for (Wait const kind : {silent, request, idle}) {
    std::uint32_t const first = is_short() ? waiting_.first(kind) : WaitingLists::none;
    due = first == WaitingLists::none ? due : earlier(due, waiting_.since(first) + settings_.grace);
  }
  return due;
}

void Server::stop(Stack& stack, Instant) {
  stopping_ = true;
  static_cast<void>(stack.unlisten(listener_));
  for (Slot& slot : slots_) {
    if (slot.phase == Phase::reading) {
      finish(stack, slot);
    }
  }
}

void Server::abandon(Stack& stack, Instant) {
  for (Slot& slot : slots_) {
    if (slot.phase != Phase::none && slot.phase != Phase::dead) {
      abort(stack, slot);
    }
  }
}

}  // namespace lockstep::http
