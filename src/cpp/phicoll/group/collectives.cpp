#include "phicoll/group/collectives.hpp"

#include <cstdlib>
#include <exception>

#include "phicoll/errors.hpp"
#include "phicoll/group/communicator.hpp"
#include "phicoll/group/native_collectives.hpp"

namespace phicoll {

namespace {

/// PHICOLL_BROADCAST and so on: the algorithm that every communicator of the program begins with.
const char* from_environment(Operation operation) {
  std::string name = "PHICOLL_";
  for (const char* c = to_string(operation); *c != '\0'; ++c)
    name += *c >= 'a' && *c <= 'z' ? static_cast<char>(*c - 'a' + 'A') : *c;
  return std::getenv(name.c_str());
}

}  // namespace

Collectives::Collectives(Communicator& owner)
    : owner_(&owner),
      set_(
          owner.shape(),
          [this](Operation operation, const AlgorithmSpec& spec) { return make(operation, spec); },
          // Several operations' algorithms have room beside each other.
          owner.region_bytes() / 4) {
  for (int o = 1; o < operations; ++o) {
    const auto operation = static_cast<Operation>(o);
    if (const char* const spec = from_environment(operation)) select(operation, spec);
  }
}

Collectives::~Collectives() {
  release();
}

void Collectives::release() {
  set_.clear();
  for (const Region::Block& block : blocks_) owner_->give_back(block);
  blocks_.clear();
}

void Collectives::give_back_to(Region& region) const {
  for (const Region::Block& block : blocks_) region.give_back(block);
}

void Collectives::select(Operation operation, const std::string& spec) {
  set_.select(operation, family(operation).parse(spec));
}

void Collectives::select_at(Operation operation, const std::string& spec, std::size_t place) {
  AlgorithmSpec parsed = family(operation).parse(spec);
  release();
  set_.select(operation, std::move(parsed));
  place_ = place;
  placed_ = true;
}

std::unique_ptr<Collectives::Set::Instance> Collectives::make(Operation operation,
                                                              const AlgorithmSpec& spec) {
  const bool placed = placed_;
  placed_ = false;
  const Region::Block block =
      owner_->take_zeroed(family(operation).footprint(spec, owner_->shape()), placed ? &place_ : nullptr);
  blocks_.push_back(block);
  try {
    const Setup setup{owner_->rank(), owner_->shape(), owner_->region() + block.offset};
    return std::unique_ptr<Set::Instance>(
        new Set::Instance{make_native(operation, spec, setup),
                          owner_->make_port(spec.has_wait ? spec.wait : owner_->wait_policy()), spec});
  } catch (const std::exception& error) {
    // This rank's own trouble (its heap is full): the others have the algorithm and would wait in it.
    owner_->control().break_group(owner_->rank(), error.what());
    throw;
  }
}

void Collectives::run(const CallFacts& facts, const Call& call, const AlgorithmSpec* spec) {
  Set::Instance& instance = __builtin_expect(spec == nullptr, 1) ? set_.find(facts) : set_.find(facts, *spec);
  try {
    instance(call);
  } catch (const BrokenGroupError&) {
    throw;
  } catch (const std::exception& error) {
    // The operator's, or the interrupt hook's. This rank leaves in the middle of the call.
    const std::string text = error.what();
    owner_->fail("raised " + text.substr(0, text.find('\n')));
    throw;
  }
}

}  // namespace phicoll
