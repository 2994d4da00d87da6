# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""plugin/xla/ffi_abi.h against the header of XLA that jaxlib brings: sizes, offsets, numbers."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from python_case import skip

try:
    import jax
    FOLDER = jax.ffi.include_dir()
except (ImportError, AttributeError) as error:
    skip(f"needs JAX 0.5 or newer: {error}")

ROOT = pathlib.Path(__file__).resolve().parents[2]
# ours: (XLA's, {our member: XLA's})
STRUCTS = {
    "xla_extension_t": ("XLA_FFI_InternalExtension", {"struct_size": "struct_size", "type": "type", "next": "next"}),
    "xla_version_t": ("XLA_FFI_Api_Version", {"struct_size": "struct_size", "major": "major_version", "minor": "minor_version"}),
    "xla_metadata_t": ("XLA_FFI_Metadata", {"struct_size": "struct_size", "version": "api_version", "traits": "traits"}),
    "xla_metadata_extension_t": ("XLA_FFI_Metadata_Extension", {"base": "extension_base", "metadata": "metadata"}),
    "xla_error_args_t": ("XLA_FFI_Error_Create_Args", {"struct_size": "struct_size", "message": "message", "code": "errc"}),
    "xla_stream_args_t": ("XLA_FFI_Stream_Get_Args", {"struct_size": "struct_size", "context": "ctx", "stream": "stream"}),
    "xla_api_t": ("XLA_FFI_Api", {"struct_size": "struct_size", "version": "api_version", "error_create": "XLA_FFI_Error_Create",
                                  "stream_get": "XLA_FFI_Stream_Get"}),
    "xla_buffer_t": ("XLA_FFI_Buffer", {"struct_size": "struct_size", "dtype": "dtype", "data": "data", "rank": "rank", "dims": "dims"}),
    "xla_list_t": ("XLA_FFI_Args", {"struct_size": "struct_size", "size": "size", "types": "types", "items": "args"}),
    "xla_text_t": ("XLA_FFI_ByteSpan", {"data": "ptr", "size": "len"}),
    "xla_scalar_t": ("XLA_FFI_Scalar", {"dtype": "dtype", "value": "value"}),
    "xla_attributes_t": ("XLA_FFI_Attrs", {"size": "size", "types": "types", "names": "names", "items": "attrs"}),
    "xla_frame_t": ("XLA_FFI_CallFrame", {"struct_size": "struct_size", "extension": "extension_start", "api": "api", "context": "ctx",
                                          "stage": "stage", "arguments": "args", "results": "rets", "attributes": "attrs"}),
}
WHOLE = {"xla_extension_t", "xla_version_t", "xla_buffer_t", "xla_list_t", "xla_text_t", "xla_scalar_t", "xla_attributes_t",
         "xla_error_args_t", "xla_stream_args_t"}  # whose sizes must agree, too
NUMBERS = {"XLA_PRED": "XLA_FFI_DataType_PRED", "XLA_S32": "XLA_FFI_DataType_S32", "XLA_S64": "XLA_FFI_DataType_S64",
           "XLA_U8": "XLA_FFI_DataType_U8", "XLA_U32": "XLA_FFI_DataType_U32", "XLA_U64": "XLA_FFI_DataType_U64",
           "XLA_F32": "XLA_FFI_DataType_F32", "XLA_EXECUTE": "XLA_FFI_ExecutionStage_EXECUTE",
           "XLA_INVALID_ARGUMENT": "XLA_FFI_Error_Code_INVALID_ARGUMENT", "XLA_RESOURCE_EXHAUSTED": "XLA_FFI_Error_Code_RESOURCE_EXHAUSTED",
           "XLA_UNIMPLEMENTED": "XLA_FFI_Error_Code_UNIMPLEMENTED", "XLA_INTERNAL": "XLA_FFI_Error_Code_INTERNAL",
           "XLA_EXTENSION_METADATA": "XLA_FFI_Extension_Metadata", "XLA_KIND_BUFFER": "XLA_FFI_ArgType_BUFFER",
           "XLA_ATTR_SCALAR": "XLA_FFI_AttrType_SCALAR", "XLA_API_MAJOR": "XLA_FFI_API_MAJOR",
           "XLA_TRAIT_CAPTURABLE": "XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE"}


def compiles(assertions):
    text = '#include "xla/ffi_abi.h"\n#include "xla/ffi/api/c_api.h"\n' + "\n".join(f'_Static_assert({each}, "{each}");' for each in assertions)
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "abi.c")
        source.write_text(text + "\n", encoding="utf-8")
        done = subprocess.run([os.environ.get("LACUNA_CC", "cc"), "-std=c11", "-fsyntax-only", f"-I{ROOT / 'plugin'}", f"-I{FOLDER}", source],
                              capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


class Abi(unittest.TestCase):
    def test_structs_and_numbers(self):
        checks = [f"offsetof({ours}, {mine}) == offsetof({theirs}, {other})"
                  for ours, (theirs, members) in STRUCTS.items() for mine, other in members.items()]
        checks += [f"sizeof({ours}) == sizeof({STRUCTS[ours][0]})" for ours in sorted(WHOLE)]
        checks += [f"(int){ours} == (int){theirs}" for ours, theirs in NUMBERS.items()]
        status, errors = compiles(checks)
        self.assertEqual(status, 0, errors[-2000:])

    def test_a_wrong_offset_would_be_seen(self):
        status, errors = compiles(["offsetof(xla_buffer_t, data) == offsetof(XLA_FFI_Buffer, rank)"])
        self.assertNotEqual(status, 0)
        self.assertIn("static assertion failed", errors)


if __name__ == "__main__":
    sys.exit(unittest.main())
