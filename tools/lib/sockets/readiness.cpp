// Readiness: what a socket is ready for, poll, and the lists of epoll.
#include <cerrno>

#include "core/units/check.hpp"
#include "tools/lib/sockets/sockets.hpp"

namespace lockstep::tools {
namespace {

constexpr std::uint32_t always = EPOLLERR | EPOLLHUP;
constexpr std::uint32_t modes = EPOLLET | EPOLLONESHOT;
constexpr std::uint32_t watchable =
    EPOLLIN | EPOLLOUT | EPOLLPRI | EPOLLRDHUP | EPOLLRDNORM | EPOLLWRNORM | always | modes;
constexpr std::uint32_t readable_events = EPOLLIN | EPOLLRDNORM;
constexpr std::uint32_t writable_events = EPOLLOUT | EPOLLWRNORM;

// poll and epoll use the same bits.
static_assert(POLLIN == EPOLLIN && POLLOUT == EPOLLOUT && POLLPRI == EPOLLPRI &&
              POLLERR == EPOLLERR && POLLHUP == EPOLLHUP);

}  // namespace

// As Linux's tcp_poll: a socket that was never connected is writable and hung up.
std::uint32_t Sockets::events_of(Socket& s) {
  std::uint32_t const error = s.error != 0 ? std::uint32_t{EPOLLERR} : 0;
  switch (s.phase) {
    case Phase::free:
      return 0;
    case Phase::unconnected:
      return writable_events | EPOLLHUP | error;
    case Phase::listening:
      return s.first != nowhere ? readable_events : 0;
    case Phase::armed:
      return writable_events;
    case Phase::connecting:
      s.no_space = true;
      return error;
    case Phase::failed:
    case Phase::over:
      return readable_events | writable_events | EPOLLRDHUP | EPOLLHUP | error;
    case Phase::connected:
      break;
  }
  bool const ended = s.peer_finished || s.shut_read;
  std::uint32_t events = error;
  if (ended || stack_.unread(s.connection).count > (at_hidden_octet(s) ? 1u : 0u)) {
    events |= readable_events;
  }
  if (ended) {
    events |= EPOLLRDHUP;
  }
  if (s.shut_write) {
    events |= writable_events | (ended ? std::uint32_t{EPOLLHUP} : 0);
  } else if (!s.room_awaited && !stack_.writable(s.connection).empty() && unsent_is_low(s)) {
    events |= writable_events;
  } else {
    s.no_space = true;
  }
  if (tells_of_urgent(s)) {
    events |= EPOLLPRI;
  }
  return events;
}

Result Sockets::poll(std::span<pollfd> entries) {
  if (entries.size() > descriptors_.most()) {
    return -EINVAL;
  }
  Result ready = 0;
  for (pollfd& each : entries) {
    each.revents = 0;
    Entry const entry = descriptors_.find(each.fd);
    if (each.fd < 0) {
      continue;
    }
    std::uint32_t events = POLLNVAL;
    if (entry.kind == Opened::socket) {
      auto const wanted = static_cast<std::uint16_t>(each.events);
      events = events_of(sockets_[entry.place]) & (wanted | always);
    } else if (entry.kind == Opened::epoll) {
      auto const wanted = static_cast<std::uint16_t>(each.events);
      events = any_ready(entry.place) ? readable_events & wanted : 0;
    }
    each.revents = static_cast<short>(events);
    ready += each.revents != 0 ? 1 : 0;
  }
  return ready;
}

Result Sockets::create_epoll(int flags) {
  if ((flags & ~EPOLL_CLOEXEC) != 0) {
    return -EINVAL;
  }
  if (descriptors_.full()) {
    return -EMFILE;
  }
  for (Place at = 0; at < epolls_.size(); ++at) {
    if (!epolls_[at].open) {
      epolls_[at] = Epoll{};
      epolls_[at].open = true;
      return descriptors_.take({Opened::epoll, at});
    }
  }
  return -ENOMEM;
}

// Called when something has happened to a socket; `events` 0 matches every item.
void Sockets::wake(Socket& s, std::uint32_t events) {
  for (Place at = s.first_item; at != nowhere; at = items_[at].next) {
    Item& item = items_[at];
    bool const wanted = events == 0 || (events & (item.events | always)) != 0;
    if (wanted && !item.spent) {
      list_item(item);
    }
  }
}

void Sockets::list_item(Item& item) {
  if (item.listed) {
    return;
  }
  Epoll& epoll = epolls_[item.epoll];
  auto const at = static_cast<Place>(&item - items_.data());
  item.listed = true;
  item.before = epoll.last;
  item.after = nowhere;
  (epoll.last == nowhere ? epoll.first : items_[epoll.last].after) = at;
  epoll.last = at;
  ++epoll.listed;
}

void Sockets::unlist_item(Item& item) {
  if (!item.listed) {
    return;
  }
  Epoll& epoll = epolls_[item.epoll];
  (item.before == nowhere ? epoll.first : items_[item.before].after) = item.after;
  (item.after == nowhere ? epoll.last : items_[item.after].before) = item.before;
  item.listed = false;
  --epoll.listed;
}

Item* Sockets::item_of(Place epoll, const Socket& s) {
  for (Place at = s.first_item; at != nowhere; at = items_[at].next) {
    if (items_[at].epoll == epoll) {
      return &items_[at];
    }
  }
  return nullptr;
}

void Sockets::forget_item(Item& item) {
  unlist_item(item);
  auto const at = static_cast<Place>(&item - items_.data());
  Place* link = &sockets_[item.socket].first_item;
  while (*link != at) {
    link = &items_[*link].next;
  }
  *link = item.next;
  --epolls_[item.epoll].items;
  item = Item{};
  item.next = free_item_;
  free_item_ = at;
}

void Sockets::forget_items(Socket& s) {
  while (s.first_item != nowhere) {
    forget_item(items_[s.first_item]);
  }
}

void Sockets::close_epoll(Place place) {
  for (Item& item : items_) {
    if (epolls_[place].items == 0) {
      break;
    }
    if (item.epoll == place) {
      forget_item(item);
    }
  }
  epolls_[place] = Epoll{};
}

Result Sockets::add_item(Place epoll, Socket& s, const epoll_event& event) {
  if (free_item_ == nowhere) {
    return -ENOSPC;
  }
  Place const at = free_item_;
  Item& item = items_[at];
  free_item_ = item.next;
  item = Item{};
  item.epoll = epoll;
  item.socket = place_of(s);
  item.descriptor = s.descriptor;
  item.events = event.events;
  item.data = event.data.u64;
  item.next = s.first_item;
  s.first_item = at;
  ++epolls_[epoll].items;
  if ((events_of(s) & (item.events | always)) != 0) {
    list_item(item);
  }
  return 0;
}

Result Sockets::watch(int epfd, int operation, int fd, const epoll_event* event) {
  Entry const entry = descriptors_.find(epfd);
  Entry const watched = descriptors_.find(fd);
  bool const names = operation == EPOLL_CTL_ADD || operation == EPOLL_CTL_MOD;
  if (names && event == nullptr) {
    return -EFAULT;
  }
  if (entry.kind == Opened::nothing || watched.kind == Opened::nothing) {
    return -EBADF;
  }
  if (entry.kind != Opened::epoll || epfd == fd) {
    return -EINVAL;
  }
  if (watched.kind == Opened::epoll) {
    return -EPERM;
  }
  if ((!names && operation != EPOLL_CTL_DEL) || (names && (event->events & ~watchable) != 0)) {
    return -EINVAL;
  }
  Socket& s = sockets_[watched.place];
  Item* const item = item_of(entry.place, s);
  if (operation == EPOLL_CTL_ADD) {
    return item != nullptr ? -EEXIST : add_item(entry.place, s, *event);
  }
  if (item == nullptr) {
    return -ENOENT;
  }
  if (operation == EPOLL_CTL_DEL) {
    forget_item(*item);
    return 0;
  }
  item->events = event->events;
  item->spent = false;
  item->data = event->data.u64;
  if ((events_of(s) & (item->events | always)) != 0) {
    list_item(*item);
  }
  return 0;
}

bool Sockets::any_ready(Place epoll) {
  for (Place at = epolls_[epoll].first; at != nowhere; at = items_[at].after) {
    Item const& item = items_[at];
    if ((events_of(sockets_[item.socket]) & (item.events | always)) != 0) {
      return true;
    }
  }
  return false;
}

Result Sockets::ready(int epfd, std::span<epoll_event> into) {
  Entry const entry = descriptors_.find(epfd);
  if (entry.kind != Opened::epoll) {
    return entry.kind == Opened::nothing ? -EBADF : -EINVAL;
  }
  Epoll& epoll = epolls_[entry.place];
  std::size_t count = 0;
  // Examines each item that is listed now exactly once.
  for (std::uint32_t left = epoll.listed; left != 0 && count < into.size(); --left) {
    CHECK(epoll.first != nowhere);
    Item& item = items_[epoll.first];
    unlist_item(item);
    std::uint32_t const events =
        events_of(sockets_[item.socket]) & ((item.events & ~modes) | always);
    if (events == 0) {
      continue;
    }
    into[count].events = events;
    into[count].data.u64 = item.data;
    ++count;
    if ((item.events & EPOLLONESHOT) != 0) {
      item.spent = true;
    } else if ((item.events & EPOLLET) == 0) {
      list_item(item);
    }
  }
  return static_cast<Result>(count);
}

}  // namespace lockstep::tools
