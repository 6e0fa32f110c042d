# Writes OUTPUT, a C++ source with the text of every file of FOLDER: -DFOLDER=... -DOUTPUT=... -P embed_machines.cmake
file(GLOB files ${FOLDER}/*.json)
list(SORT files)
set(entries "")
set(count 0)
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  string(APPEND entries "    {\"${name}\", R\"phicoll(${text})phicoll\"},\n")
  math(EXPR count "${count} + 1")
endforeach()
file(WRITE ${OUTPUT} "// Written by embed_machines.cmake from sim/machines/.
#include \"phicoll/sim/machine/shipped_machine_files.hpp\"

namespace phicoll {
namespace sim {

const ShippedMachineFile shipped_machine_files[] = {
${entries}};
const int shipped_machine_file_count = ${count};

}  // namespace sim
}  // namespace phicoll
")
