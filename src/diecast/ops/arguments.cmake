# Writes a header with a structure for each template of a folder: a member for each `arg` line, of the
# line's name and kind, in the kernel's order. So an op gives a kernel's arguments by name. Called as
#   cmake -DOUTPUT=kernel_arguments.h -DTEMPLATES_DIR=.../templates -P arguments.cmake
# at build time, with every *.cu and device header of the folder as a dependency.
cmake_minimum_required(VERSION 3.22)
if(NOT OUTPUT OR NOT TEMPLATES_DIR)
  message(FATAL_ERROR "arguments.cmake needs -DOUTPUT=FILE and -DTEMPLATES_DIR=FOLDER")
endif()

# quantize_mx: QuantizeMx
function(camel_case name out)
  string(REPLACE "_" ";" words ${name})
  set(result "")
  foreach(word IN LISTS words)
    string(SUBSTRING ${word} 0 1 first)
    string(SUBSTRING ${word} 1 -1 rest)
    string(TOUPPER ${first} first)
    string(APPEND result ${first}${rest})
  endforeach()
  set(${out} ${result} PARENT_SCOPE)
endfunction()

# The member of an `arg` line, whose words these are: its name, what it is, of which type.
function(member_of name what type out)
  if(what MATCHES "^(in|out|inout)$")
    if(type MATCHES "^[A-Z]")
      set(result "AnyTensor ${name};")
    else()
      set(result "TensorOf<DType::${type}> ${name}{};")
    endif()
  elseif(what MATCHES "^(struct|tensor_map)$")
    set(result "Structure ${name};")
  elseif(what STREQUAL "")
    set(result "Size ${name};")
  else()
    set(result "Scalar<DType::${what}> ${name};")
  endif()
  set(${out} "${result}" PARENT_SCOPE)
endfunction()

# The `arg` lines of a header, those of the files that it uses where it uses them. The words of each
# line alone: what stands behind them may have brackets, which CMake's lists mistake.
function(argument_lines file out)
  file(READ ${file} text)
  set(word "[A-Za-z0-9_]*")
  string(REGEX MATCHALL "\n(arg[ \t]+${word}[ \t]*${word}[ \t]*${word}|use[ \t]+<diecast/[a-z0-9_/.]+>)"
         lines "${text}")
  set(result "")
  foreach(line IN LISTS lines)
    if(line MATCHES "use[ \t]+<diecast/(.*)>")
      argument_lines(${TEMPLATES_DIR}/${CMAKE_MATCH_1} used)
      list(APPEND result ${used})
    else()
      list(APPEND result "${line}")
    endif()
  endforeach()
  set(${out} "${result}" PARENT_SCOPE)
endfunction()

set(structures "")
set(visits "")
file(GLOB_RECURSE templates ${TEMPLATES_DIR}/*.cu)
foreach(file IN LISTS templates)
  get_filename_component(name ${file} NAME_WE)
  camel_case(${name} structure)
  argument_lines(${file} lines)
  set(members "")
  set(names "")
  set(places "")
  set(count 0)
  foreach(line IN LISTS lines)
    set(word "([A-Za-z0-9_]*)")
    string(REGEX MATCH "arg[ \t]+${word}[ \t]*${word}[ \t]*${word}" words "${line}")
    set(argument ${CMAKE_MATCH_1})
    member_of("${argument}" "${CMAKE_MATCH_2}" "${CMAKE_MATCH_3}" member)
    string(APPEND members "  ${member}\n")
    string(APPEND places "    static constexpr std::size_t ${argument} = ${count};\n")
    list(APPEND names ${argument})
    math(EXPR count "${count} + 1")
  endforeach()
  string(APPEND visits "  visit(std::type_identity<${structure}>{});\n")
  list(JOIN names ", " list)
  list(JOIN names "\", \"" quoted)
  string(APPEND structures "
struct ${structure} {
  static constexpr std::string_view kTemplate = \"${name}\";
  static constexpr std::array<std::string_view, ${count}> kNames = {\"${quoted}\"};
  struct At {  // where an argument stands
${places}  };
${members}
  std::array<KernelArgument, ${count}> in_order() const { return {${list}}; }
};
")
endforeach()

file(WRITE ${OUTPUT}.new "// Generated from the \"arg\" lines of the templates; see arguments.cmake.
#pragma once

#include <diecast/launch/argument.h>

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

namespace diecast::args {
${structures}
// Calls `visit(std::type_identity<Structure>{})` for each of them.
template <class Visit>
void for_each(Visit&& visit) {
${visits}}
}  // namespace diecast::args
")
file(RENAME ${OUTPUT}.new ${OUTPUT})
