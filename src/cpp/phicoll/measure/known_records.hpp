#pragma once

// Which records a file has already: lines may be there twice, as in a file that was appended to itself or to
// a longer copy. phicoll/results/reading/identity.py does the same for the Python package.

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "phicoll/support/json.hpp"

namespace phicoll {
namespace measure {

enum class Known { is_new, repeated, contradicted };

/// A sample is told by its run, point, launch, round and definition: it has one value. Another record is
/// repeated if an equal one is there; a point that failed later is another one.
class KnownRecords {
 public:
  /// `records`: those known so far. The caller appends each record that is new.
  explicit KnownRecords(const std::vector<JsonValue>& records) : records_(records) {}

  /// To be called before the record is appended.
  Known add(const JsonValue& record);

 private:
  const std::vector<JsonValue>& records_;
  std::unordered_map<std::string, std::vector<std::size_t>> places_;  ///< by what tells a record
};

}  // namespace measure
}  // namespace phicoll
