// Loads a folder into a site.
#pragma once

#include <string>

#include "tools/lib/http/site.hpp"

namespace lockstep::tools {

/// Adds every regular file below `folder` under its path, and an index.html also under its folder's
/// path. Names that begin with a dot are left out, except .well-known. Symbolic links are followed
/// if they stay in the folder; others are counted in a line on stderr, so nothing outside is
/// served. Throws Failure (bad input) with the name of a folder or file that cannot be read or
/// whose path is too long.
void load_folder(const std::string& folder, http::Site& site);

}  // namespace lockstep::tools
