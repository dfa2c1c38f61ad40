// Doubly linked lists of the elements of one array; the links are inside the elements.
#pragma once

#include <cstdint>

#include "core/memory/arena.hpp"

namespace lockstep::memory {

// In a link instead of an index: the element is in no list.
inline constexpr Index unlinked = nil - 1;

// An element's position in one list. Both are `unlinked` outside a list, `nil` at its ends.
struct Link {
  Index previous = unlinked;
  Index next = unlinked;
};

// The ends of a list, kept in the arena.
struct ListHead {
  Index first = nil;
  Index last = nil;
  std::uint32_t count = 0;
};

// A handle that combines a head with its elements; `link` is the member to use:
//   List<Connection, &Connection::ready>(state.ready, connections.view()).push_back(index);
// Every function except sound() is O(1).
template <class T, Link T::* link>
class List {
 public:
  List(ListHead& head, View<T> items) : head_(&head), items_(items) {}

  bool empty() const { return head_->first == nil; }
  std::uint32_t count() const { return head_->count; }
  Index first() const { return head_->first; }
  Index last() const { return head_->last; }
  // nil at the ends. The element must be in this list.
  Index next(Index index) const { return at(index).next; }
  Index previous(Index index) const { return at(index).previous; }
  // Whether the element is in a list by this link, this one or another.
  bool linked(Index index) const { return at(index).next != unlinked; }

  // The element must not be linked.
  void push_back(Index index) {
    Link& own = at(index);
    CHECK(own.next == unlinked);
    own = {head_->last, nil};
    (head_->last == nil ? head_->first : at(head_->last).next) = index;
    head_->last = index;
    ++head_->count;
  }

  // The element must not be linked.
  void push_front(Index index) {
    Link& own = at(index);
    CHECK(own.next == unlinked);
    own = {nil, head_->first};
    (head_->first == nil ? head_->last : at(head_->first).previous) = index;
    head_->first = index;
    ++head_->count;
  }

  // Inserts `index`, which must not be linked, after `before`, which is in this list.
  void insert_after(Index before, Index index) {
    Link& own = at(index);
    CHECK(own.next == unlinked);
    own = {before, at(before).next};
    (own.next == nil ? head_->last : at(own.next).previous) = index;
    at(before).next = index;
    ++head_->count;
  }

  // The element must be in this list.
  void remove(Index index) {
    Link& own = at(index);
    CHECK(own.next != unlinked);
    CHECK(head_->count != 0);
    (own.previous == nil ? head_->first : at(own.previous).next) = own.next;
    (own.next == nil ? head_->last : at(own.next).previous) = own.previous;
    own = {};
    --head_->count;
  }

  // Removes and returns the first element; nil if there is none.
  Index pop_front() {
    Index const index = head_->first;
    if (index != nil) {
      Link& own = at(index);
      CHECK(own.previous == nil);
      head_->first = own.next;
      (own.next == nil ? head_->last : at(own.next).previous) = nil;
      own = {};
      --head_->count;
    }
    return index;
  }

  // Whether links and count are consistent in both directions. For tests and checks: O(count).
  bool sound() const {
    Index before = nil;
    Index index = head_->first;
    for (std::uint32_t i = 0; i < head_->count; ++i) {
      if (index >= items_.count() || at(index).previous != before) {
        return false;
      }
      before = index;
      index = at(index).next;
    }
    return index == nil && head_->last == before;
  }

 private:
  Link& at(Index index) const { return items_[index].*link; }

  ListHead* head_;
  View<T> items_;
};

}  // namespace lockstep::memory
