// Macros that make an enum, its count and its names from one list.
#pragma once

// LIST(X) expands X(name, text) for each enumerator, in the order of their numbers:
//
//   enum class Kind : std::uint8_t { LIST(LOCKSTEP_ENUMERATOR) };
//   inline constexpr std::uint32_t kind_count = 0 LIST(LOCKSTEP_ONE_MORE);
//   constexpr std::array<std::string_view, kind_count> names{LIST(LOCKSTEP_NAME)};
#define LOCKSTEP_ENUMERATOR(name, text) name,
#define LOCKSTEP_ONE_MORE(name, text) +1
#define LOCKSTEP_NAME(name, text) std::string_view(#name),
#define LOCKSTEP_TEXT(name, text) std::string_view(text),
