# Writes files of a folder as C++ byte arrays: any text of any length comes through unchanged, which
# string literals (64 KiB, their own delimiters) do not promise. Called at build time as
#   cmake -DOUTPUT=embedded_files.cpp -DFOLDER=.../templates -DFILES=*.cu,*/*.cu,device/*/*.h
#         -DTABLE=embedded_files -P embed.cmake
# with those files as dependencies. TABLE: the function that gives them.
cmake_minimum_required(VERSION 3.22)
if(NOT OUTPUT OR NOT FOLDER OR NOT FILES OR NOT TABLE)
  message(FATAL_ERROR "embed.cmake needs -DOUTPUT=FILE, -DFOLDER=FOLDER, -DFILES=PATTERN,... and -DTABLE=FUNCTION")
endif()
get_filename_component(FOLDER ${FOLDER} ABSOLUTE)

string(REPLACE "," ";" patterns ${FILES})
list(TRANSFORM patterns PREPEND ${FOLDER}/)
file(GLOB files RELATIVE ${FOLDER} ${patterns})
list(SORT files)

string(REPEAT "[0-9a-f]" 64 row)  # 32 bytes a line
set(arrays "")
set(table "")
set(number 0)
foreach(name IN LISTS files)
  file(READ ${FOLDER}/${name} hex HEX)
  string(REGEX REPLACE "(${row})" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
  file(SIZE ${FOLDER}/${name} size)
  string(APPEND arrays "const unsigned char file_${number}[] = {\n${hex}0};\n")
  string(APPEND table "    {\"${name}\", file_${number}, ${size}},\n")
  math(EXPR number "${number} + 1")
endforeach()

file(WRITE ${OUTPUT}.new "// Generated from files of a folder; see embed.cmake.
#include <diecast/template/embedded_file.h>

namespace diecast {
const EmbeddedFile* ${TABLE}();
namespace {
${arrays}const EmbeddedFile files[] = {
${table}    {nullptr, nullptr, 0}};
}  // namespace
const EmbeddedFile* ${TABLE}() { return files; }
}  // namespace diecast
")
file(RENAME ${OUTPUT}.new ${OUTPUT})
