// The two stores over the block pool that a connection uses: one to receive, one to send.
#pragma once

#include "core/memory/receive_store.hpp"
#include "core/memory/send_store.hpp"
