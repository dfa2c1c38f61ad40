// What the tests of Fast Open share.
#pragma once

#include "core/stack/testing/flow_kit.hpp"

namespace lockstep::testing {

inline Config fast_config() {
  Config config = flow_config();
  config.tcp.fast_open_server = true;
  config.tcp.fast_open_client = true;
  return config;
}

inline wire::Options request() {
  wire::Options options;
  options.has_fast_open = true;
  return options;
}

inline wire::Options cookie_in(const Out& out) {
  wire::Options options;
  options.has_fast_open = out.options.has_fast_open;
  options.cookie_bytes = out.options.cookie_bytes;
  options.cookie = out.options.cookie;
  return options;
}

}  // namespace lockstep::testing
