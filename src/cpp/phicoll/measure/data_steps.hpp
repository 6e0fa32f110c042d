#pragma once

// Steps of a subject that moves data. Verified and timed through the Communicator's public functions.

#include "phicoll/group/communicator.hpp"
#include "phicoll/measure/bare_loop.hpp"
#include "phicoll/measure/message_buffers.hpp"
#include "phicoll/measure/timing.hpp"

namespace phicoll {
namespace measure {

/// Runs a step of kind verify, loop or window on `step.work` with the algorithm that the communicator has
/// selected. `prepared`: makes each call by beginning a prepared one and waiting for it.
void run_data_step(const Seat& seat, const Step& step, Communicator& communicator, MessageBuffers& buffers,
                   bool prepared, RankReport& report);
/// Does the same with the hand-written call, which uses hand_data_footprint() bytes at `memory`. The caller
/// zeroes them before and afterwards.
void run_hand_step(const Seat& seat, const Step& step, unsigned char* memory, MessageBuffers& buffers,
                   RankReport& report);
/// Does the same with a bare loop, whose memory is prepared.
void run_bare_step(const Seat& seat, const Step& step, const BareLoopParameters& parameters,
                   MessageBuffers& buffers, RankReport& report);
/// Does the same with another library's call, `call(state)`.
void run_foreign_step(const Seat& seat, const Step& step, MessageBuffers& buffers, void (*call)(void*),
                      void* state, RankReport& report);
/// Bytes of shared memory that a hand-written call uses.
std::size_t hand_data_footprint();

}  // namespace measure
}  // namespace phicoll
