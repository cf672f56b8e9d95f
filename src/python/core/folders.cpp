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

PyObject* quantize_folder(PyObject*, PyObject* arguments) {
  unsigned long long runtime = 0, device = 0;
  const char *input = nullptr, *output = nullptr;
  Globs include, keep, exclude, mxfp8;
  long long first_layers = 0, last_layers = 0, jobs = 0;
  diecast_quantize_folder_options options{};
  options.size = sizeof options;
  if (!PyArg_ParseTuple(
          arguments, "KKss(O!O!O!O!)(zzzzzzzz)(iLLLd)(ppppppp)", &runtime, &device, &input, &output,
          &PyList_Type, &include.list, &PyList_Type, &keep.list, &PyList_Type, &exclude.list,
          &PyList_Type, &mxfp8.list, &options.format, &options.config, &options.recipe,
          &options.experts, &options.profile, &options.four_over_six, &options.scale_layout,
          &options.input_scales, &options.e4m3_bound, &first_layers, &last_layers, &jobs,
          &options.input_scale, &options.row_scaled, &options.keep_fp8, &options.high_first,
          &options.strict, &options.force, &options.allow_nonfinite, &options.overwrite))
    return nullptr;
  options.first_layers = first_layers;
  options.last_layers = last_layers;
  options.jobs = jobs;
  if (!include.read(options.include, options.include_count) ||
      !keep.read(options.keep, options.keep_count) ||
      !exclude.read(options.exclude, options.exclude_count) ||
      !mxfp8.read(options.mxfp8, options.mxfp8_count))
    return nullptr;
  diecast_folder_report report{};
  report.size = sizeof report;
  const Ref done(none_of(
      [&] { return diecast_quantize_folder(runtime, device, input, output, &options, &report); }));
  if (!done) return nullptr;
  return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K}", "copied", report.copied, "quantized",
                       report.quantized, "dequantized", report.dequantized, "input_bytes",
                       report.input_bytes, "output_bytes", report.output_bytes, "nonfinite",
                       report.nonfinite, "cast_blocks", report.cast_blocks, "exact_blocks",
                       report.exact_blocks);
}

PyObject* verify_folder(PyObject*, PyObject* folder) {
  const char* const path = PyUnicode_AsUTF8AndSize(folder, nullptr);
  if (path == nullptr) return nullptr;
  return text_of([&](diecast_text* text) {
    return without_gil([&] { return diecast_verify_folder(path, text); });
  });
}

PyMethodDef methods[] = {{"quantize_folder", quantize_folder, METH_VARARGS, nullptr},
                         {"verify_folder", verify_folder, METH_O, nullptr},
                         {}};

}  // namespace

int add_folders(PyObject* module) { return PyModule_AddFunctions(module, methods); }

}  // namespace diecast::python
