// The model's memory: pages by address on the bus, what the engine sees of them, and where every
// buffer is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace lockstep::hw::mpipe {

// A buffer is in exactly one of these.
enum class Place : std::uint8_t {
  nowhere,  // never pushed
  stack,    // in a buffer stack: the hardware's
  ring,     // delivered, its descriptor not yet advanced over
  driver,   // popped, or taken out of a ring: the software's
  edma,     // posted with hwb, not yet returned
};
inline constexpr std::uint32_t place_count = 5;

// Stores an address in a descriptor's signed field, which is wide enough for each that there is.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
template <class Descriptor>
void set_va(Descriptor& to, std::int64_t va) {
  to.va = va;
}
#pragma GCC diagnostic pop

// Names an octet of the memory by its distance from the first.
struct Offset {
  std::uint32_t value = 0;
  constexpr bool operator==(const Offset&) const = default;
};

// Octets that are zero without being written: a big NIC takes only the memory that it uses.
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

// Stores of the software reach the engine at a fence only: until then it reads what was there
// before. Nothing but the order of calls decides anything here.
class Memory {
 public:
  // What a va of a descriptor is for the first octet: low enough for 42 bits with their sign.
  static constexpr std::uint64_t bus_base = std::uint64_t{1} << 40;
  static constexpr std::uint32_t block_bytes = 128;
  static constexpr std::byte poison{0xa5};

  explicit Memory(std::uint32_t bytes);
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Of the same size.
  void copy_from(const Memory& other);

  // Whole pages from the front, aligned to a page; nullptr: there are no more.
  std::byte* obtain(std::uint64_t bytes, std::uint32_t page_bytes, int home);
  // Once all that was obtained is released, all is free, zero and no buffer. False: not ours.
  bool release(const void* pages);

  // What `home` was said of it; `pointer` must be of what was obtained.
  int home_of(const void* pointer) const;

  bool holds(const void* pointer) const;
  // `pointer` must be held.
  Offset offset_of(const void* pointer) const;
  std::byte* at(Offset offset) { return first_ + offset.value; }
  const std::byte* at(Offset offset) const { return first_ + offset.value; }
  // What the engine reads there.
  const std::byte* visible_at(Offset offset) const { return visible_.data() + offset.value; }
  std::uint32_t size() const { return size_; }

  static std::int64_t bus_of(Offset offset) {
    return static_cast<std::int64_t>(bus_base + offset.value);
  }
  static Offset offset_of_bus(std::int64_t va) {
    return {static_cast<std::uint32_t>(static_cast<std::uint64_t>(va) - bus_base)};
  }

  Place place_of(Offset base) const { return places_[base.value / block_bytes].place; }
  // Counts of buffers by place follow.
  struct Extent {
    Offset base;
    std::uint32_t bytes;
  };
  // What comes into a stack is the hardware's: whoever reads it then reads poison. What was in no
  // place before is poisoned as soon as it leaves the stack: nobody has written there yet.
  void move(const Extent& buffer, Place to);
  std::uint64_t count(Place place) const { return counts_[static_cast<std::uint32_t>(place)]; }

  // What the software wrote into the buffers that it holds can be seen from now on.
  void fence();

 private:
  struct Block {
    Place place = Place::nowhere;
    bool fresh = false;         // in a stack, and not poisoned yet
    std::uint32_t held_at = 0;  // driver: its position in held_
  };

  std::uint32_t size_;
  ZeroOctets octets_;
  std::byte* first_;  // of them at a multiple of a block
  ZeroOctets visible_;
  std::vector<Block> places_;
  std::vector<Extent> held_;  // by the software
  std::uint64_t counts_[place_count] = {};
  std::uint32_t used_ = 0;
  std::uint32_t obtained_ = 0;  // and not released
  struct Homed {
    std::uint32_t end = 0;  // from that of the one before
    int home = 0;
  };
  std::vector<Homed> homed_;
};

}  // namespace lockstep::hw::mpipe
