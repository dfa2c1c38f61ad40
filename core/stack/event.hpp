// Ids, events, refusals and settings of the API: they are defined in core/tcp/interface.hpp.
#pragma once

#include "core/tcp/interface.hpp"
#include "core/units/drop.hpp"
