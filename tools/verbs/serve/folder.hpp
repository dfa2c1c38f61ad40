// Loads a folder into a site.
#pragma once

#include <string>

#include "tools/lib/http/site.hpp"

namespace lockstep::tools {

/// Every regular file below `folder` under its path, an index.html also under its folder's.
/// Symbolic links are left out, so nothing outside of the folder is served. Throws Failure (bad
/// input) that names the folder or file which cannot be read or whose path is too long.
void load_folder(const std::string& folder, http::Site& site);

}  // namespace lockstep::tools
