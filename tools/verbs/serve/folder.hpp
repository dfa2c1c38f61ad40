// Loads a folder into a site.
#pragma once

#include <string>

#include "tools/lib/http/site.hpp"

namespace lockstep::tools {

/// Adds every regular file below `folder` under its path, and an index.html also under its folder's
/// path. Symbolic links are skipped, so nothing outside the folder is served. Throws Failure (bad
/// input) with the name of a folder or file that cannot be read or whose path is too long.
void load_folder(const std::string& folder, http::Site& site);

}  // namespace lockstep::tools
