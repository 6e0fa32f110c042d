#pragma once

// Steps of a subject that moves data: verified and timed through the Communicator's public functions.

#include "phicoll/group/communicator.hpp"
#include "phicoll/measure/message_buffers.hpp"
#include "phicoll/measure/timing.hpp"

namespace phicoll {
namespace measure {

/// Runs a step of kind verify, loop or window on `step.work`, with whatever algorithm the communicator has
/// selected.
void run_data_step(const Seat& seat, const Step& step, Communicator& communicator, MessageBuffers& buffers,
                   RankReport& report);
/// The same with a loop written by hand, at `memory`: zeroed, and left so by the caller.
void run_hand_step(const Seat& seat, const Step& step, unsigned char* memory, MessageBuffers& buffers,
                   RankReport& report);
/// Bytes that a loop written by hand takes.
std::size_t hand_data_footprint();

}  // namespace measure
}  // namespace phicoll
