// What kernels of linear layers take that find experts by id as well: a map of ids, and a word that counts those that are
// unexpected.
/* diecast
use      <diecast/device/linear/expert_result.h>
size     global_experts                                  // that ids count, where they are mapped
arg      expert_map in i32   [global_experts]  optional  // the expert of this weight for each of all, or none, as -1
arg      unexpected inout u32  [1]  optional             // to which the ids are added that are neither of an expert nor -1
arg      global_experts
require  FORM == indexed || !HAS_EXPERT_MAP              // ids are mapped, and nothing else
require  FORM == indexed || !HAS_UNEXPECTED              // ids are counted, and nothing else
sample   global_experts {9}
*/
#pragma once

#include <diecast/device/linear/expert_result.h>
