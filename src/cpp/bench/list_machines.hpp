#pragma once

// `list machines` and `list machine NAME`.

#include <string>

namespace phicoll {
namespace bench {

/// Prints every shipped machine, or everything about one. `name` is what load_machine takes; "" for all.
/// Throws ArgumentError("machine"), also if phicoll was built without simulated machines.
void list_machines(const std::string& name, bool as_json);

}  // namespace bench
}  // namespace phicoll
