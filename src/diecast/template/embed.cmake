# Writes a folder's templates and device headers as C++ byte arrays: any text of any length comes
# through unchanged, which string literals (64 KiB, their own delimiters) do not promise. Called as
#   cmake -DOUTPUT=embedded_data.cpp -DTEMPLATES_DIR=.../templates -DTABLE=embedded_files -P embed.cmake
# at build time, with every *.cu and device/*.h of the folder as dependencies. TABLE: the function
# that gives them.
cmake_minimum_required(VERSION 3.22)
if(NOT OUTPUT OR NOT TEMPLATES_DIR OR NOT TABLE)
  message(FATAL_ERROR "embed.cmake needs -DOUTPUT=FILE, -DTEMPLATES_DIR=FOLDER and -DTABLE=FUNCTION")
endif()
get_filename_component(TEMPLATES_DIR ${TEMPLATES_DIR} ABSOLUTE)

file(GLOB files RELATIVE ${TEMPLATES_DIR} ${TEMPLATES_DIR}/*.cu ${TEMPLATES_DIR}/device/*.h)
list(SORT files)

string(REPEAT "[0-9a-f]" 64 row)  # 32 bytes a line
set(arrays "")
set(table "")
set(number 0)
foreach(name IN LISTS files)
  file(READ ${TEMPLATES_DIR}/${name} hex HEX)
  string(REGEX REPLACE "(${row})" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
  file(SIZE ${TEMPLATES_DIR}/${name} size)
  string(APPEND arrays "const unsigned char file_${number}[] = {\n${hex}0};\n")
  string(APPEND table "    {\"${name}\", file_${number}, ${size}},\n")
  math(EXPR number "${number} + 1")
endforeach()

file(WRITE ${OUTPUT}.new "// Generated from a folder of templates; see embed.cmake.
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
