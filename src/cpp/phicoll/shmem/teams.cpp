// Teams and contexts.

#include "phicoll/shmem/team.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "phicoll/collectives/operators/operators.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/shmem/world.hpp"

namespace phicoll {
namespace shmem {

Team& team_of(shmem_team_t handle) {
  World& all = world();
  if (handle == SHMEM_TEAM_INVALID) refuse("team", "SHMEM_TEAM_INVALID", "a team");
  if (all.checks() && !all.knows(handle))
    refuse("team", "a handle that is none, or of a team that was destroyed", "a team");
  return *static_cast<Team*>(handle->kept);
}

Team& team_of(shmem_ctx_t ctx) {
  World& all = world();
  if (ctx == SHMEM_CTX_INVALID) refuse("ctx", "SHMEM_CTX_INVALID", "a context");
  if (all.checks() && !all.knows(ctx))
    refuse("ctx", "a handle that is none, or of a context that was destroyed", "a context");
  return team_of(ctx->team);
}

Communicator& communicator(shmem_team_t team) {
  return *team_of(team).comm;
}

// If the order of a team's PEs differs from that of the parent's communicator, the split orders them by key.
std::unique_ptr<Team> World::make_team(Team& parent, const std::vector<int>& members,
                                       std::unique_ptr<Communicator> comm) {
  std::unique_ptr<Team> team(new Team);
  team->own = std::move(comm);
  team->comm = team->own.get();
  for (const int member : members) {
    team->pes.push_back(parent.pes[static_cast<std::size_t>(member)]);
    team->deltas.push_back(delta(team->pes.back()));
  }
  team->handle = {team->comm->rank(), team->size(), team.get()};
  return team;
}

shmem_team_t World::add_team(Team& parent, const std::vector<int>& members,
                             std::unique_ptr<Communicator> comm) {
  teams_.push_back(make_team(parent, members, std::move(comm)));
  return &teams_.back()->handle;
}

template <class Found>
bool World::any_team(Found found) const {
  if (found(*team_)) return true;
  for (const auto& one : teams_)
    if (found(*one)) return true;
  for (const auto& one : active_sets_)
    if (one.second && found(*one.second)) return true;
  return false;
}

bool World::knows(shmem_team_t team) const {
  return team == SHMEM_TEAM_WORLD || team == SHMEM_TEAM_SHARED ||
         any_team([team](const Team& one) { return &one.handle == team; });
}

bool World::knows(shmem_ctx_t ctx) const {
  return ctx == SHMEM_CTX_DEFAULT || any_team([ctx](Team& one) {
           const std::lock_guard<std::mutex> hold(one.contexts_mutex);
           return ctx == &one.own_context ||
                  std::find(one.contexts.begin(), one.contexts.end(), ctx) != one.contexts.end();
         });
}

void World::remove_team(Team& team) {
  const auto same = [&](const std::unique_ptr<Team>& one) { return one.get() == &team; };
  teams_.erase(std::remove_if(teams_.begin(), teams_.end(), same), teams_.end());
}

// In checked mode inlined functions must not find other memory there.
void World::remove_context(shmem_ctx_t ctx) {
  std::unique_ptr<phicoll_shmem_ctx> gone(ctx);
  if (!checks_) return;
  const std::lock_guard<std::mutex> hold(removed_mutex_);
  removed_.push_back(std::move(gone));
}

Team& World::other_active_set(int start, int log_stride, int size) {
  const int stride = log_stride >= 0 && log_stride < 31 ? 1 << log_stride : 0;
  const auto refuse_set = [&](const std::string& besides, const std::string& allowed) {
    throw ArgumentError("active set",
                        "PE_start " + std::to_string(start) + ", logPE_stride " + std::to_string(log_stride) +
                            ", PE_size " + std::to_string(size) + besides,
                        allowed);
  };
  if (start < 0 || size < 1 || stride == 0 || start + static_cast<std::int64_t>(size - 1) * stride >= n_pes())
    refuse_set("", "PEs in 0.." + std::to_string(n_pes() - 1));
  if (size == n_pes()) return *team_;
  std::vector<int> members;
  for (int i = 0; i < size; ++i) members.push_back(start + i * stride);
  if (std::find(members.begin(), members.end(), my_pe()) == members.end())
    refuse_set(" on PE " + std::to_string(my_pe()) + ", which is not in it", "calls by the set's PEs alone");
  std::unique_ptr<Team>& kept = active_sets_[members];
  // Its first PE decides on the tag by which the others hear of its memory.
  if (!kept) kept = make_team(*team_, members, comm().create_group(members, 1 + log_stride * n_pes() + size));
  return *kept;
}

namespace {

using Config = const shmem_team_config_t;

/// One part of a split: all PEs of the parent call it. `color` negative: not in the new team. Returns whether
/// all that are to be in a team are.
bool split(Team& parent, int color, int key, const std::vector<int>& members, Config* config, long mask,
           shmem_team_t* made) {
  std::unique_ptr<Communicator> comm;
  std::uint8_t fits = 1;
  try {
    comm = parent.comm->split(color, key);
  } catch (const ResourceError&) {
    fits = 0;  // the others of this color raise too
  }
  parent.comm->allreduce(nullptr, &fits, 1, find_operator(Type::uint8, Op::min));
  if (fits == 0 || !comm) return fits != 0;
  *made = world().add_team(parent, members, std::move(comm));
  if (config != nullptr && (mask & SHMEM_TEAM_NUM_CONTEXTS) != 0) team_of(*made).config = *config;
  return true;
}

int split_strided(shmem_team_t parent_team, int start, int stride, int size, Config* config, long mask,
                  shmem_team_t* new_team) {
  *new_team = SHMEM_TEAM_INVALID;
  if (parent_team == SHMEM_TEAM_INVALID) return 1;
  Team& parent = team_of(parent_team);
  const std::int64_t last = start + static_cast<std::int64_t>(size - 1) * stride;
  if (size < 1 || (stride == 0 && size != 1) || start < 0 || start >= parent.size() || last < 0 ||
      last >= parent.size())
    return 1;
  std::vector<int> members;
  for (int i = 0; i < size; ++i) members.push_back(start + i * stride);
  const auto mine = std::find(members.begin(), members.end(), parent.comm->rank());
  const bool in = mine != members.end();
  const int key = static_cast<int>(mine - members.begin());
  return split(parent, in ? 0 : -1, key, members, config, mask, new_team) ? 0 : 1;
}

int split_2d(shmem_team_t parent_team, int xrange, Config* x_config, long x_mask, shmem_team_t* x_team,
             Config* y_config, long y_mask, shmem_team_t* y_team) {
  *x_team = *y_team = SHMEM_TEAM_INVALID;
  if (parent_team == SHMEM_TEAM_INVALID || xrange < 1) return 1;
  Team& parent = team_of(parent_team);
  const int size = parent.size(), me = parent.comm->rank();
  xrange = std::min(xrange, size);
  const int x = me % xrange, y = me / xrange;
  std::vector<int> row, column;
  for (int pe = 0; pe < size; ++pe) {
    if (pe / xrange == y) row.push_back(pe);
    if (pe % xrange == x) column.push_back(pe);
  }
  const bool rows = split(parent, y, x, row, x_config, x_mask, x_team);
  if (rows && split(parent, x, y, column, y_config, y_mask, y_team)) return 0;
  shmem_team_destroy(*x_team);
  *x_team = SHMEM_TEAM_INVALID;
  return 1;
}

}  // namespace

}  // namespace shmem
}  // namespace phicoll

using namespace phicoll::shmem;

PHICOLL_SHMEM_EXPORT(int, team_my_pe, (shmem_team_t team)) {
  return team == SHMEM_TEAM_INVALID ? -1 : team_of(team).comm->rank();
}
PHICOLL_SHMEM_EXPORT(int, team_n_pes, (shmem_team_t team)) {
  return team == SHMEM_TEAM_INVALID ? -1 : team_of(team).size();
}
PHICOLL_SHMEM_EXPORT(int, team_get_config,
                     (shmem_team_t team, long config_mask, shmem_team_config_t* config)) {
  if (team == SHMEM_TEAM_INVALID) return -1;
  if ((config_mask & SHMEM_TEAM_NUM_CONTEXTS) != 0) *config = team_of(team).config;
  return 0;
}
PHICOLL_SHMEM_EXPORT(int, team_translate_pe, (shmem_team_t src_team, int src_pe, shmem_team_t dest_team)) {
  if (src_team == SHMEM_TEAM_INVALID || dest_team == SHMEM_TEAM_INVALID) return -1;
  const Team& from = team_of(src_team);
  const Team& to = team_of(dest_team);
  if (src_pe < 0 || src_pe >= from.size()) return -1;
  const auto found = std::find(to.pes.begin(), to.pes.end(), from.pes[static_cast<std::size_t>(src_pe)]);
  return found == to.pes.end() ? -1 : static_cast<int>(found - to.pes.begin());
}
PHICOLL_SHMEM_EXPORT(int, team_split_strided,
                     (shmem_team_t parent_team, int start, int stride, int size,
                      const shmem_team_config_t* config, long config_mask, shmem_team_t* new_team)) {
  return guarded("team_split_strided", [&] {
    return split_strided(parent_team, start, stride, size, config, config_mask, new_team);
  });
}
PHICOLL_SHMEM_EXPORT(int, team_split_2d,
                     (shmem_team_t parent_team, int xrange, const shmem_team_config_t* xaxis_config,
                      long xaxis_mask, shmem_team_t* xaxis_team, const shmem_team_config_t* yaxis_config,
                      long yaxis_mask, shmem_team_t* yaxis_team)) {
  return guarded("team_split_2d", [&] {
    return split_2d(parent_team, xrange, xaxis_config, xaxis_mask, xaxis_team, yaxis_config, yaxis_mask,
                    yaxis_team);
  });
}
PHICOLL_SHMEM_EXPORT(void, team_destroy, (shmem_team_t team)) {
  if (team == SHMEM_TEAM_INVALID || team == SHMEM_TEAM_WORLD || team == SHMEM_TEAM_SHARED) return;
  guarded("team_destroy", [&] {
    Team& of = team_of(team);
    for (const shmem_ctx_t ctx : of.contexts) world().remove_context(ctx);
    world().remove_team(of);
  });
}

PHICOLL_SHMEM_EXPORT(int, team_create_ctx, (shmem_team_t team, long options, shmem_ctx_t* ctx)) {
  *ctx = SHMEM_CTX_INVALID;
  if (team == SHMEM_TEAM_INVALID) return 1;
  Team& of = team_of(team);
  const bool fast = phicoll_shmem_ctx_default.delta != nullptr;
  const std::lock_guard<std::mutex> hold(of.contexts_mutex);
  *ctx = new phicoll_shmem_ctx{fast ? of.deltas.data() : nullptr, team, options};
  of.contexts.push_back(*ctx);
  return 0;
}
PHICOLL_SHMEM_EXPORT(int, ctx_create, (long options, shmem_ctx_t* ctx)) {
  return shmem_team_create_ctx(SHMEM_TEAM_WORLD, options, ctx);
}
// Nothing of a context is under way when a call returns: it ends with a quiet.
PHICOLL_SHMEM_EXPORT(void, ctx_destroy, (shmem_ctx_t ctx)) {
  if (ctx == SHMEM_CTX_INVALID) return;
  if (ctx == SHMEM_CTX_DEFAULT) refuse("ctx", "SHMEM_CTX_DEFAULT", "a context of shmem_ctx_create");
  phicoll_shmem_full_fence();
  Team& of = team_of(ctx);
  const std::lock_guard<std::mutex> hold(of.contexts_mutex);
  std::vector<shmem_ctx_t>& contexts = of.contexts;
  contexts.erase(std::remove(contexts.begin(), contexts.end(), ctx), contexts.end());
  world().remove_context(ctx);
}
PHICOLL_SHMEM_EXPORT(int, ctx_get_team, (shmem_ctx_t ctx, shmem_team_t* team)) {
  *team = SHMEM_TEAM_INVALID;
  if (ctx == SHMEM_CTX_INVALID) return 1;
  team_of(ctx);
  *team = ctx->team;
  return 0;
}
// Hints for batching, which has nothing to gain from stores.
PHICOLL_SHMEM_EXPORT(void, ctx_session_start, (shmem_ctx_t, long, const shmem_ctx_session_config_t*, long)) {}
PHICOLL_SHMEM_EXPORT(void, ctx_session_stop, (shmem_ctx_t)) {}
