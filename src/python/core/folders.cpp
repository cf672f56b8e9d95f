// Checkpoints: quantizing folders, and asking whether engines would load them.
#include <vector>

#include "runtime.h"

namespace diecast::python {
namespace {

// Globs of a list of texts, which lives until the call returns.
struct Globs {
  PyObject* list = nullptr;
  std::vector<const char*> texts;

  bool read(const char* const*& to, std::size_t& count) {
    for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
      texts.push_back(PyUnicode_AsUTF8AndSize(PyList_GetItem(list, i), nullptr));
      if (texts.back() == nullptr) return false;
    }
    to = texts.data();
    count = texts.size();
    return true;
  }
};

// Options in four tuples: globs, words, numbers and flags.
struct FolderOptions {
  Globs include, keep, exclude, mxfp8;
  diecast_quantize_folder_options given{};

  bool read(PyObject* globs, PyObject* words, PyObject* numbers, PyObject* flags) {
    given.size = sizeof given;
    long long first_layers = 0, last_layers = 0, jobs = 0;
    if (!PyArg_ParseTuple(globs, "O!O!O!O!", &PyList_Type, &include.list, &PyList_Type, &keep.list,
                          &PyList_Type, &exclude.list, &PyList_Type, &mxfp8.list) ||
        !PyArg_ParseTuple(words, "zzzzzzzz", &given.format, &given.config, &given.recipe,
                          &given.experts, &given.profile, &given.four_over_six, &given.scale_layout,
                          &given.input_scales) ||
        !PyArg_ParseTuple(numbers, "iLLLd", &given.e4m3_bound, &first_layers, &last_layers, &jobs,
                          &given.input_scale) ||
        !PyArg_ParseTuple(flags, "ppppppp", &given.row_scaled, &given.keep_fp8, &given.high_first,
                          &given.strict, &given.force, &given.allow_nonfinite, &given.overwrite))
      return false;
    given.first_layers = first_layers;
    given.last_layers = last_layers;
    given.jobs = jobs;
    return include.read(given.include, given.include_count) &&
           keep.read(given.keep, given.keep_count) &&
           exclude.read(given.exclude, given.exclude_count) &&
           mxfp8.read(given.mxfp8, given.mxfp8_count);
  }
};

PyObject* quantize_folder(PyObject*, PyObject* arguments) {
  unsigned long long runtime = 0, device = 0;
  const char *input = nullptr, *output = nullptr;
  PyObject *globs = nullptr, *words = nullptr, *numbers = nullptr, *flags = nullptr;
  FolderOptions options;
  if (!PyArg_ParseTuple(arguments, "KKssO!O!O!O!", &runtime, &device, &input, &output,
                        &PyTuple_Type, &globs, &PyTuple_Type, &words, &PyTuple_Type, &numbers,
                        &PyTuple_Type, &flags) ||
      !options.read(globs, words, numbers, flags))
    return raise_not_parsed("quantize_folder");
  diecast_folder_report report{};
  report.size = sizeof report;
  const Ref done(none_of([&] {
    return diecast_quantize_folder(runtime, device, input, output, &options.given, &report);
  }));
  if (!done) return nullptr;
  return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K}", "copied", report.copied, "quantized",
                       report.quantized, "dequantized", report.dequantized, "input_bytes",
                       report.input_bytes, "output_bytes", report.output_bytes, "nonfinite",
                       report.nonfinite, "cast_blocks", report.cast_blocks, "exact_blocks",
                       report.exact_blocks);
}

PyObject* plan_folder(PyObject*, PyObject* arguments) {
  const char* input = nullptr;
  PyObject *globs = nullptr, *words = nullptr, *numbers = nullptr, *flags = nullptr;
  FolderOptions options;
  if (!PyArg_ParseTuple(arguments, "sO!O!O!O!", &input, &PyTuple_Type, &globs, &PyTuple_Type,
                        &words, &PyTuple_Type, &numbers, &PyTuple_Type, &flags) ||
      !options.read(globs, words, numbers, flags))
    return raise_not_parsed("quantize_folder");
  return text_of([&](diecast_text* text) {
    return without_gil([&] { return diecast_plan_folder(input, &options.given, text); });
  });
}

PyObject* verify_folder(PyObject*, PyObject* folder) {
  const char* const path = PyUnicode_AsUTF8AndSize(folder, nullptr);
  if (path == nullptr) return nullptr;
  return text_of([&](diecast_text* text) {
    return without_gil([&] { return diecast_verify_folder(path, text); });
  });
}

PyMethodDef methods[] = {{"quantize_folder", quantize_folder, METH_VARARGS, nullptr},
                         {"plan_folder", plan_folder, METH_VARARGS, nullptr},
                         {"verify_folder", verify_folder, METH_O, nullptr},
                         {}};

}  // namespace

int add_folders(PyObject* module) { return PyModule_AddFunctions(module, methods); }

}  // namespace diecast::python
