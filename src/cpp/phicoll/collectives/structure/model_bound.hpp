#pragma once

namespace phicoll {

/// Which of the two equations that ramos-hoefler-2013 chapter 4 gives for a collective: its best case, in
/// which no rank comes too early, or its worst, in which every rank that waits looks once too early.
enum class ModelBound : unsigned char { minimum, maximum };

}  // namespace phicoll
