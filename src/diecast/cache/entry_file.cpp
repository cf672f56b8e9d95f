// Opening and reading entries; see entry_file.h.
#include <diecast/cache/entry_file.h>
#include <diecast/cache/entry_header.h>
#include <diecast/cache/trusted_directory.h>
#include <errno.h>

#include <algorithm>

namespace diecast {

EntryFile open_entry_file(FileSystem& files, const std::function<Descriptor()>& open) {
  EntryFile out;
  for (int tries = 0; tries < 2; ++tries) {
    out.file = open();
    out.error = out.file.number();
    if (out.error >= 0) out.error = std::min(files.status(out.file.number(), &out.status), 0);
    if (out.error != -ESTALE) break;
  }
  if (out.error == -ELOOP || out.error == -ENXIO) {  // a symbolic link; a socket
    out.fault = EntryFault::not_a_file;
  } else if (out.error < 0) {
    out.fault = EntryFault::unreadable;
  } else if (!S_ISREG(out.status.st_mode)) {
    out.fault = EntryFault::not_a_file;
  } else if (!is_private(out.status)) {
    out.fault = EntryFault::not_private;
  } else if (out.status.st_size < static_cast<off_t>(kHeaderBytes)) {
    out.fault = EntryFault::too_short;
  } else if (out.status.st_size > static_cast<off_t>(kEntryLimit)) {
    out.fault = EntryFault::bad_length;
  }
  return out;
}

DecodedEntry read_entry_file(FileSystem& files, EntryFile& entry, const ArtifactKey* key,
                             Bytes& bytes) {
  DecodedEntry out;
  out.fault = entry.fault;
  if (out.fault != EntryFault::none) return out;
  bytes.resize(static_cast<std::size_t>(entry.status.st_size));
  entry.error = read_exactly(files, entry.file.number(), bytes.data(), bytes.size(), 0);
  if (entry.error >= 0) return decode_entry(bytes, key);
  out.fault = EntryFault::unreadable;
  return out;
}

}  // namespace diecast
