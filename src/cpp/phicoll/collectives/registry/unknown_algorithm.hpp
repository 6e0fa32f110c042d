#pragma once

#include "phicoll/errors.hpp"

namespace phicoll {

/// A name that is no algorithm of an operation. What has names beside the registry's catches it to suggest them.
class UnknownAlgorithm final : public ArgumentError {
 public:
  using ArgumentError::ArgumentError;
};

}  // namespace phicoll
