// The seam's words, under the roof where the world looks for them.
#pragma once

#include "core/tcp/interface.hpp"
#include "core/units/drop.hpp"
