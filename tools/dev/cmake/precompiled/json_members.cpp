// The members of ordered_json, for all sources that common_uses.hpp precedes.
#include <nlohmann/json.hpp>

template class nlohmann::basic_json<nlohmann::ordered_map>;
