// What a tensor's type says, looked up once a type; see tensor.h.
#include "tensor.h"

namespace diecast::python {
namespace {

constexpr char kAttribute[] = "__dlpack_c_exchange_api__", kCapsule[] = "dlpack_exchange_api",
               kDispatch[] = "__torch_dispatch__";

// The reference keeps the type's address from being used again.
struct Known {
  PyObject* type = nullptr;
  const DLExchange* quick = nullptr;
  TensorType is;
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

// Whether a type of torch answers torch's calls itself. Plain ones have the function of
// torch.Tensor that says no.
bool dispatches(PyObject* type) {
  const Ref own(PyObject_GetAttrString(type, kDispatch));
  PyObject* const modules = PyImport_GetModuleDict();
  PyObject* const torch = own ? PyDict_GetItemString(modules, "torch") : nullptr;
  const Ref tensor(torch == nullptr ? nullptr : PyObject_GetAttrString(torch, "Tensor"));
  const Ref plain(tensor ? PyObject_GetAttrString(tensor.get(), kDispatch) : nullptr);
  PyErr_Clear();
  return own && plain && own.get() != plain.get();
}

TensorType look_up(PyObject* type) {
  if (attribute_name == nullptr) attribute_name = PyUnicode_InternFromString(kAttribute);
  const Ref capsule(PyObject_GetAttr(type, attribute_name));
  TensorType found;
  if (capsule && PyCapsule_IsValid(capsule.get(), kCapsule))
    found.exchange = table_of(capsule.get());
  PyErr_Clear();
  found.dispatches = dispatches(type);
  return found;
}

// The table of a type, where it needs nothing else.
const DLExchange* quick_table(const TensorType& is) {
  const bool quick = is.exchange != nullptr && !is.dispatches &&
                     is.exchange->view_from_object != nullptr &&
                     is.exchange->current_stream != nullptr;
  return quick ? is.exchange : nullptr;
}

}  // namespace

TensorType type_of_tensor(PyObject* object) {
  auto* const type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  for (int i = 0; i < known_count; ++i)
    if (known[i].type == type) return known[i].is;
  const TensorType found = look_up(type);
  if (known_count < static_cast<int>(sizeof known / sizeof *known))
    known[known_count++] = {Py_NewRef(type), quick_table(found), found};
  return found;
}

// A type that was never asked for is of no call that was made.
[[gnu::hot]] const DLExchange* quick_table_of(PyObject* object) {
  auto* const type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  for (int i = 0; i < known_count; ++i)
    if (known[i].type == type) return known[i].quick;
  return nullptr;
}

}  // namespace diecast::python
