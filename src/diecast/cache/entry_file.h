// An entry's file: kind, owner and size are checked where it is opened, and all of it is read into
// a private copy, of which no other process can change what was checked.
#pragma once

#include <diecast/base/file.h>
#include <diecast/cache/entry.h>
#include <sys/stat.h>

#include <functional>

namespace diecast {

struct EntryFile {
  Descriptor file;
  struct stat status = {};
  EntryFault fault = EntryFault::none;
  int error = 0;  // 0 or -errno, with fault unreadable; -ENOENT: there is no such entry
};

// `open` gives the descriptor or -errno; it is asked twice where a network file system has lost a
// handle.
EntryFile open_entry_file(FileSystem& files, const std::function<Descriptor()>& open);

// What decode_entry says of its bytes, or why there are none; an error goes to `entry`.
DecodedEntry read_entry_file(FileSystem& files, EntryFile& entry, const ArtifactKey* key,
                             Bytes& bytes);

}  // namespace diecast
