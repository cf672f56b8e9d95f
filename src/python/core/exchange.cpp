// DLPack's C table of a type, looked up once a type; see tensor.h.
#include "tensor.h"

namespace diecast::python {
namespace {

constexpr char kAttribute[] = "__dlpack_c_exchange_api__", kCapsule[] = "dlpack_exchange_api";

// A type and its table. The reference keeps the type's address from being used again.
struct Known {
  PyObject* type = nullptr;
  const DLExchange* exchange = nullptr;
};
// Few types are tensors: torch.Tensor and Parameter. The global lock guards it.
Known known[64];
int known_count = 0;
PyObject* attribute_name = nullptr;

// The table of our major version, which may be an older one behind a newer.
const DLExchange* table_of(PyObject* capsule) {
  const auto* header =
      static_cast<const DLExchangeHeader*>(PyCapsule_GetPointer(capsule, kCapsule));
  while (header != nullptr && header->version.major != 1) header = header->previous;
  return reinterpret_cast<const DLExchange*>(header);
}

const DLExchange* look_up(PyObject* type) {
  if (attribute_name == nullptr) attribute_name = PyUnicode_InternFromString(kAttribute);
  const Ref capsule(PyObject_GetAttr(type, attribute_name));
  const DLExchange* found = nullptr;
  if (capsule && PyCapsule_IsValid(capsule.get(), kCapsule)) found = table_of(capsule.get());
  PyErr_Clear();
  return found;
}

}  // namespace

const DLExchange* exchange_of(PyObject* object) {
  auto* const type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  for (int i = 0; i < known_count; ++i)
    if (known[i].type == type) return known[i].exchange;
  const DLExchange* const found = look_up(type);
  if (known_count < static_cast<int>(sizeof known / sizeof *known))
    known[known_count++] = {Py_NewRef(type), found};
  return found;
}

}  // namespace diecast::python
