#pragma once

// The machine files that come with phicoll, as the build found them in sim/machines/: the core needs no
// installed data. The source is written by embed_machines.cmake.

namespace phicoll {
namespace sim {

struct ShippedMachineFile {
  const char* name;  ///< of the file, without `.json`
  const char* text;
};

extern const ShippedMachineFile shipped_machine_files[];
extern const int shipped_machine_file_count;

}  // namespace sim
}  // namespace phicoll
