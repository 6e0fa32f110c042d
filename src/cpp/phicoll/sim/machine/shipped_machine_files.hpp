#pragma once

// The machine files of sim/machines/, embedded in the library, so that the core needs no installed data.
// embed_machines.cmake writes the source.

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
