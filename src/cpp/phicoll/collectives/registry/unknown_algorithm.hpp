#pragma once

#include "phicoll/errors.hpp"

namespace phicoll {

/// A name that is no algorithm of an operation. Who has further names catches it to suggest those too.
class UnknownAlgorithm final : public ArgumentError {
 public:
  using ArgumentError::ArgumentError;
};

}  // namespace phicoll
