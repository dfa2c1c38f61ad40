// The keys for tests: public, the same in every run, and never for a real network.
#pragma once

#include "core/stack/config.hpp"

namespace lockstep {

// Sets every key that `config` lacks.
inline Config test_keys(Config config) {
  draw_keys(config, {0x243f'6a88'85a3'08d3, 0x1319'8a2e'0370'7344, 0xa409'3822'299f'31d0,
                     0x082e'fa98'ec4e'6c89, 0x4528'21e6'38d0'1377, 0xbe54'66cf'34e9'0c6c,
                     0x9216'd5d9'8979'fb1b, 0xd131'0ba6'98df'b5ac, 0xc0ac'29b7'c97c'50dd,
                     0x3f84'd5b5'b547'0917});
  return config;
}

}  // namespace lockstep
