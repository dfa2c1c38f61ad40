// The model's memory: pages by bus address, the engine's view of them, and the owner of each
// buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace lockstep::hw::mpipe {

// The owner of a buffer; each buffer has exactly one.
enum class Place : std::uint8_t {
  nowhere,  // never pushed
  stack,    // in a buffer stack, owned by hardware
  ring,     // delivered; software has not advanced over its descriptor
  driver,   // popped or received, owned by software
  edma,     // posted with hwb and not yet returned
};
inline constexpr std::uint32_t place_count = 5;

// Stores an address in a descriptor's signed field, which is wide enough for every address.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
template <class Descriptor>
void set_va(Descriptor& to, std::int64_t va) {
  to.va = va;
}
#pragma GCC diagnostic pop

// An octet of the memory, by its offset from the first.
struct Offset {
  std::uint32_t value = 0;
  constexpr bool operator==(const Offset&) const = default;
};

// Zero-filled octets that occupy memory only once they are used.
class ZeroOctets {
 public:
  explicit ZeroOctets(std::size_t bytes);
  std::byte* data() { return octets_.get(); }
  const std::byte* data() const { return octets_.get(); }

 private:
  struct Free {
    void operator()(std::byte* octets) const;
  };
  std::unique_ptr<std::byte[], Free> octets_;
};

// Stores by software become visible to the engine only at a fence; before that it reads the old
// octets. The outcome depends only on the order of calls.
class Memory {
 public:
  // The bus address of the first octet; low enough for a signed field of 42 bits.
  static constexpr std::uint64_t bus_base = std::uint64_t{1} << 40;
  static constexpr std::uint32_t block_bytes = 128;
  static constexpr std::byte poison{0xa5};

  explicit Memory(std::uint32_t bytes);
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // `other` has the same size.
  void copy_from(const Memory& other);

  // Allocates whole pages, aligned to a page; nullptr: there are no more.
  std::byte* obtain(std::uint64_t bytes, std::uint32_t page_bytes, int home);
  // Once everything allocated is released, all is free, zeroed and without buffers. False: not
  // ours.
  bool release(const void* pages);

  // The `home` with which it was allocated; `pointer` must be within an allocation.
  int home_of(const void* pointer) const;

  bool holds(const void* pointer) const;
  // `pointer` must be within this memory.
  Offset offset_of(const void* pointer) const;
  std::byte* at(Offset offset) { return first_ + offset.value; }
  const std::byte* at(Offset offset) const { return first_ + offset.value; }
  // The octets that the engine reads there.
  const std::byte* visible_at(Offset offset) const { return visible_.data() + offset.value; }
  std::uint32_t size() const { return size_; }

  static std::int64_t bus_of(Offset offset) {
    return static_cast<std::int64_t>(bus_base + offset.value);
  }
  static Offset offset_of_bus(std::int64_t va) {
    return {static_cast<std::uint32_t>(static_cast<std::uint64_t>(va) - bus_base)};
  }

  Place place_of(Offset base) const { return places_[base.value / block_bytes].place; }
  // The octets of one buffer.
  struct Extent {
    Offset base;
    std::uint32_t bytes;
  };
  // Changes a buffer's owner and updates the counts. A buffer that enters a stack is filled with
  // poison; one that had no owner before is poisoned only when it leaves the stack, because it was
  // never written.
  void move(const Extent& buffer, Place to);
  std::uint64_t count(Place place) const { return counts_[static_cast<std::uint32_t>(place)]; }

  // Makes software's stores into the buffers that it owns visible.
  void fence();

 private:
  struct Block {
    Place place = Place::nowhere;
    bool fresh = false;         // in a stack, and not poisoned yet
    std::uint32_t held_at = 0;  // if owned by software: its position in held_
  };

  std::uint32_t size_;
  ZeroOctets octets_;
  std::byte* first_;  // the first octet, aligned to a block
  ZeroOctets visible_;
  std::vector<Block> places_;
  std::vector<Extent> held_;  // the buffers that software owns
  std::uint64_t counts_[place_count] = {};
  std::uint32_t used_ = 0;
  std::uint32_t obtained_ = 0;  // allocated and not released
  struct Homed {
    std::uint32_t end = 0;  // the start is the end of the previous one
    int home = 0;
  };
  std::vector<Homed> homed_;
};

}  // namespace lockstep::hw::mpipe
