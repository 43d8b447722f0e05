// Prints the offsets of a CPython version from its internal headers, for
// cpython/layouts/layout_tables.cc.
//
//   cc -I PREFIX/include/python3.X scripts/cpython_offsets.c -o offsets && ./offsets
//
// With -DPy_GIL_DISABLED it prints the table of the free-threaded build (3.13 and later).
// The lines of each group are the designated initialisers of the struct of the same name in
// cpython/layouts/layout.h; scripts/check_cpython_layouts compares them with the tables.
// It uses only offsetof and links nothing of CPython. The headers must be those of a release build.
#define Py_BUILD_CORE 1
#include <Python.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "frameobject.h"
#if PY_MINOR_VERSION >= 10
#include "internal/pycore_gil.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_pystate.h"
#include "internal/pycore_runtime.h"
#elif PY_MINOR_VERSION >= 8
#include "internal/pycore_pystate.h"
#elif PY_MINOR_VERSION == 7
#include "internal/pystate.h"
#endif
#if PY_MINOR_VERSION == 9
#include "internal/pycore_interp.h"
#include "internal/pycore_runtime.h"
#endif
#if PY_MINOR_VERSION >= 11
#include "internal/pycore_code.h"
#include "internal/pycore_dict.h"
#include "internal/pycore_frame.h"
#include "internal/pycore_moduleobject.h"
#else
// From Objects/dict-common.h and Objects/moduleobject.c, which are not installed.
typedef struct {
  PyObject_HEAD PyObject* md_dict;
} PyModuleObject;
struct _dictkeysobject {
  Py_ssize_t dk_refcnt;
  Py_ssize_t dk_size;
  void* dk_lookup;
  Py_ssize_t dk_usable;
  Py_ssize_t dk_nentries;
  char dk_indices[];
};
#endif
#if PY_MINOR_VERSION >= 14
#include "internal/pycore_interpframe.h"
#endif

#define GROUP(name) printf("    ." #name " = {\n")
#define END() printf("    },\n")
#define ROW(name, value) printf("      ." #name " = %zu,\n", (size_t)(value))
#define FIELD(name, type, member) ROW(name, offsetof(type, member))

// Before 3.7 there was no _PyRuntime: detect.cc finds the variables by their names.
static void print_runtime(void) {
#if PY_MINOR_VERSION >= 7
  GROUP(runtime);
  FIELD(interpreters_head, _PyRuntimeState, interpreters.head);
#if PY_MINOR_VERSION <= 8
  FIELD(finalizing, _PyRuntimeState, finalizing);
#else
  FIELD(finalizing, _PyRuntimeState, _finalizing);
#endif
#if PY_MINOR_VERSION == 7
  FIELD(main_thread, _PyRuntimeState, ceval.pending.main_thread);
#elif PY_MINOR_VERSION <= 10
  FIELD(main_thread, _PyRuntimeState, main_thread);
#endif
#if PY_MINOR_VERSION <= 11
  FIELD(tstate_current, _PyRuntimeState, gilstate.tstate_current);
  FIELD(gil, _PyRuntimeState, ceval.gil);
#endif
#if PY_MINOR_VERSION <= 8
  FIELD(collecting, _PyRuntimeState, gc.collecting);
#endif
  END();
#else
  printf("    .runtime = {},\n");
#endif
}

static void print_interpreter(void) {
  GROUP(interpreter);
  FIELD(next, PyInterpreterState, next);
#if PY_MINOR_VERSION >= 7
  FIELD(id, PyInterpreterState, id);
#endif
#if PY_MINOR_VERSION >= 11
  FIELD(threads_head, PyInterpreterState, threads.head);
#else
  FIELD(threads_head, PyInterpreterState, tstate_head);
#endif
#if PY_MINOR_VERSION >= 12
  FIELD(modules, PyInterpreterState, imports.modules);
  FIELD(gil, PyInterpreterState, ceval.gil);
#else
  FIELD(modules, PyInterpreterState, modules);
#endif
#if PY_MINOR_VERSION >= 9 && PY_MINOR_VERSION <= 12
  FIELD(collecting, PyInterpreterState, gc.collecting);
#endif
  END();
}

static void print_collector(void) {
#if PY_MINOR_VERSION >= 8 && !defined(Py_GIL_DISABLED)
  const size_t generations = offsetof(struct _gc_runtime_state, generations);
#if PY_MINOR_VERSION >= 13
  printf("    .collector = {.generations = %zu},\n", generations);
#else
  printf("    .collector = {.lists = %zu},\n",
         offsetof(struct _gc_runtime_state, collecting) - generations);
#endif
#endif
}

static void print_gil(void) {
#if PY_MINOR_VERSION >= 7
  GROUP(gil);
  FIELD(last_holder, struct _gil_runtime_state, last_holder);
  FIELD(locked, struct _gil_runtime_state, locked);
#ifdef Py_GIL_DISABLED
  FIELD(enabled, struct _gil_runtime_state, enabled);
#endif
  ROW(size, sizeof(struct _gil_runtime_state));
  END();
#else
  printf("    .gil = {},\n");
#endif
}

static void print_thread(void) {
  GROUP(thread);
  FIELD(next, PyThreadState, next);
  FIELD(interp, PyThreadState, interp);
#if PY_MINOR_VERSION <= 10
  FIELD(frame, PyThreadState, frame);
#elif PY_MINOR_VERSION <= 12
  FIELD(cframe, PyThreadState, cframe);
  FIELD(frame, _PyCFrame, current_frame);
#else
  FIELD(frame, PyThreadState, current_frame);
#endif
  FIELD(thread_id, PyThreadState, thread_id);
#if PY_MINOR_VERSION >= 11
  FIELD(native_thread_id, PyThreadState, native_thread_id);
#endif
#if PY_MINOR_VERSION >= 15
  FIELD(base_frame, PyThreadState, base_frame);
#endif
  END();
}

static void print_frame(void) {
  GROUP(frame);
#if PY_MINOR_VERSION <= 10
  FIELD(previous, PyFrameObject, f_back);
  FIELD(code, PyFrameObject, f_code);
  FIELD(instruction, PyFrameObject, f_lasti);
#if PY_MINOR_VERSION <= 9
  FIELD(stack_top, PyFrameObject, f_stacktop);
#else
  FIELD(stack_top, PyFrameObject, f_stackdepth);
#endif
  FIELD(stack_base, PyFrameObject, f_valuestack);
#if PY_MINOR_VERSION <= 9
  FIELD(executing, PyFrameObject, f_executing);
#else
  FIELD(executing, PyFrameObject, f_state);
#endif
  FIELD(globals, PyFrameObject, f_globals);
  FIELD(localsplus, PyFrameObject, f_localsplus);
#else
  FIELD(previous, _PyInterpreterFrame, previous);
#if PY_MINOR_VERSION >= 13
  FIELD(code, _PyInterpreterFrame, f_executable);
  FIELD(instruction, _PyInterpreterFrame, instr_ptr);
#else
  FIELD(code, _PyInterpreterFrame, f_code);
  FIELD(instruction, _PyInterpreterFrame, prev_instr);
#endif
#if PY_MINOR_VERSION == 11
  FIELD(is_entry, _PyInterpreterFrame, is_entry);
#endif
  FIELD(owner, _PyInterpreterFrame, owner);
#if PY_MINOR_VERSION >= 14 && defined(Py_GIL_DISABLED)
  FIELD(tlbc_index, _PyInterpreterFrame, tlbc_index);
#endif
#if PY_MINOR_VERSION >= 14
  FIELD(stack_top, _PyInterpreterFrame, stackpointer);
#else
  FIELD(stack_top, _PyInterpreterFrame, stacktop);
#endif
  FIELD(globals, _PyInterpreterFrame, f_globals);
  FIELD(localsplus, _PyInterpreterFrame, localsplus);
  FIELD(object, _PyInterpreterFrame, frame_obj);
#endif
  FIELD(line, PyFrameObject, f_lineno);
  END();
}

static void print_code(void) {
  GROUP(code);
  FIELD(filename, PyCodeObject, co_filename);
  FIELD(name, PyCodeObject, co_name);
#if PY_MINOR_VERSION >= 11
  FIELD(qualname, PyCodeObject, co_qualname);
#endif
#if PY_MINOR_VERSION <= 9
  FIELD(line_table, PyCodeObject, co_lnotab);
#else
  FIELD(line_table, PyCodeObject, co_linetable);
#endif
  FIELD(first_line, PyCodeObject, co_firstlineno);
  FIELD(constants, PyCodeObject, co_consts);
  FIELD(names, PyCodeObject, co_names);
#if PY_MINOR_VERSION >= 11
  FIELD(exceptions, PyCodeObject, co_exceptiontable);
  FIELD(local_names, PyCodeObject, co_localsplusnames);
  FIELD(local_kinds, PyCodeObject, co_localspluskinds);
  FIELD(instructions, PyCodeObject, co_code_adaptive);
#if PY_MINOR_VERSION >= 14 && defined(Py_GIL_DISABLED)
  FIELD(thread_code, PyCodeObject, co_tlbc);
#endif
#else
  FIELD(bytecode, PyCodeObject, co_code);
  FIELD(local_names, PyCodeObject, co_varnames);
  FIELD(cell_names, PyCodeObject, co_cellvars);
  FIELD(free_names, PyCodeObject, co_freevars);
#endif
  ROW(size, sizeof(PyCodeObject));
  END();
}

// A bit field has no offset; the position of the bit of a 1 gives it.
static size_t kind_shift(void) {
  PyASCIIObject text;
  unsigned state = 0;
  size_t shift = 0;
  memset(&text, 0, sizeof text);
  text.state.kind = 1;
  memcpy(&state, &text.state, sizeof state);
  while (state > 1) {
    state >>= 1;
    ++shift;
  }
  return shift;
}

static void print_object(void) {
  GROUP(object);
  FIELD(type, PyObject, ob_type);
  FIELD(size, PyVarObject, ob_size);
  FIELD(type_name, PyTypeObject, tp_name);
  FIELD(type_flags, PyTypeObject, tp_flags);
  FIELD(type_basic_size, PyTypeObject, tp_basicsize);
  FIELD(type_dict_offset, PyTypeObject, tp_dictoffset);
  FIELD(function_code, PyFunctionObject, func_code);
  FIELD(type_cached_keys, PyHeapTypeObject, ht_cached_keys);
  FIELD(str_length, PyASCIIObject, length);
  FIELD(str_state, PyASCIIObject, state);
  ROW(str_kind_shift, kind_shift());
  ROW(str_ascii_data, sizeof(PyASCIIObject));
  ROW(str_compact_data, sizeof(PyCompactUnicodeObject));
  FIELD(bytes_data, PyBytesObject, ob_sval);
  FIELD(tuple_items, PyTupleObject, ob_item);
  FIELD(list_items, PyListObject, ob_item);
#if PY_MINOR_VERSION >= 12
  FIELD(int_tag, PyLongObject, long_value.lv_tag);
  FIELD(int_digits, PyLongObject, long_value.ob_digit);
#else
  FIELD(int_tag, PyVarObject, ob_size);
  FIELD(int_digits, PyLongObject, ob_digit);
#endif
  FIELD(float_value, PyFloatObject, ob_fval);
  FIELD(dict_used, PyDictObject, ma_used);
  FIELD(dict_keys, PyDictObject, ma_keys);
  FIELD(dict_values, PyDictObject, ma_values);
  FIELD(module_dict, PyModuleObject, md_dict);
  FIELD(cell_value, PyCellObject, ob_ref);
  FIELD(set_mask, PySetObject, mask);
  FIELD(set_table, PySetObject, table);
  FIELD(weakref_target, PyWeakReference, wr_object);
  ROW(head, sizeof(PyObject));
  END();
}

static void print_generator(void) {
  GROUP(generator);
#if PY_MINOR_VERSION <= 10
  FIELD(frame, PyGenObject, gi_frame);
#else
  FIELD(frame, PyGenObject, gi_iframe);
  FIELD(state, PyGenObject, gi_frame_state);
#endif
  END();
}

static void print_keys(void) {
  GROUP(keys);
#if PY_MINOR_VERSION >= 11
  FIELD(size, struct _dictkeysobject, dk_log2_size);
  FIELD(index_bytes, struct _dictkeysobject, dk_log2_index_bytes);
  FIELD(kind, struct _dictkeysobject, dk_kind);
#else
  FIELD(size, struct _dictkeysobject, dk_size);
#endif
  FIELD(count, struct _dictkeysobject, dk_nentries);
  FIELD(indices, struct _dictkeysobject, dk_indices);
#if PY_MINOR_VERSION >= 11
  FIELD(first_value, struct _dictvalues, values);
#else
  ROW(first_value, 0);
#endif
  END();
}

int main(void) {
  printf("// CPython %s\n", PY_VERSION);
  print_runtime();
  print_interpreter();
  print_collector();
  print_gil();
  print_thread();
  print_frame();
  print_code();
  print_object();
  print_generator();
  print_keys();
  return 0;
}
