/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * lacuna::_linear, the product of lacuna_blas.torch by PyTorch's stable C ABI: no interpreter between the
 * dispatcher and the library.
 *
 * The functions of that ABI (torch/csrc/inductor/aoti_torch/c/shim.h, kept binary compatible from PyTorch 2.9
 * on) are declared here and found in the PyTorch that the process has loaded, so that nothing of PyTorch is
 * needed to build, and one library serves its versions. */
#include "lacuna/lacuna.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { DIMENSIONS = 8 };

typedef struct tensor tensor_t; /* owned by whoever got it */
typedef uint64_t stable_value_t;

/* How a call runs, and what came of it: the caller's, one for each thread, of which the operator gets the
 * address. */
typedef struct lacuna_torch_call {
    lac_ctx_t *ctx;
    lac_meta_t *known, *scanned; /* of the weight and of the input, or NULL */
    int32_t may_decline;
    int32_t outcome; /* out: 0; 1: best left to PyTorch; -1: not for this way, or it failed. Then nothing was
                        computed */
    int32_t skipped; /* out: nonzero where the route skips zeros, or is a dense one of ours that won over
                        cuBLAS */
} lacuna_torch_call_t;

/* The part of the ABI that is used; 0 is success. */
static struct {
    int32_t (*data_ptr)(tensor_t *tensor, void **data);
    int32_t (*dim)(tensor_t *tensor, int64_t *dim);
    int32_t (*sizes)(tensor_t *tensor, int64_t **sizes);
    int32_t (*dtype)(tensor_t *tensor, int32_t *dtype);
    int32_t (*device_type)(tensor_t *tensor, int32_t *type);
    int32_t (*device_index)(tensor_t *tensor, int32_t *index);
    int32_t (*contiguous)(tensor_t *tensor, bool *contiguous);
    int32_t (*empty)(int64_t dim, const int64_t *sizes, const int64_t *strides, int32_t dtype,
                     int32_t device_type, int32_t device_index, tensor_t **made);
    int32_t (*release)(tensor_t *tensor);
    int32_t (*copy)(tensor_t *to, tensor_t *from, int32_t non_blocking); /* which is repeated to fit */
    int32_t (*dtype_f32)(void);
    int32_t (*dtype_f16)(void);
    int32_t (*dtype_bf16)(void);
    int32_t (*dtype_bool)(void);
    int32_t (*device_cpu)(void);
    int32_t (*device_cuda)(void);
    int32_t (*fragment)(const char *space, const char *file, uint32_t line, void **library);
    int32_t (*implement)(const char *space, const char *key, const char *file, uint32_t line, void **library);
    int32_t (*define)(void *library, const char *schema);
    int32_t (*attach)(void *library, const char *name, void (*kernel)(stable_value_t *, uint64_t, uint64_t));
} torch;

static const struct {
    const char *name;
    size_t at;
} symbols[] = {{"aoti_torch_get_data_ptr", 0},
               {"aoti_torch_get_dim", 1},
               {"aoti_torch_get_sizes", 2},
               {"aoti_torch_get_dtype", 3},
               {"aoti_torch_get_device_type", 4},
               {"aoti_torch_get_device_index", 5},
               {"aoti_torch_is_contiguous", 6},
               {"aoti_torch_empty_strided", 7},
               {"aoti_torch_delete_tensor_object", 8},
               {"aoti_torch_copy_", 9},
               {"aoti_torch_dtype_float32", 10},
               {"aoti_torch_dtype_float16", 11},
               {"aoti_torch_dtype_bfloat16", 12},
               {"aoti_torch_dtype_bool", 13},
               {"aoti_torch_device_type_cpu", 14},
               {"aoti_torch_device_type_cuda", 15},
               {"aoti_torch_library_init_fragment", 16},
               {"aoti_torch_library_init_impl", 17},
               {"aoti_torch_library_def", 18},
               {"aoti_torch_library_impl", 19}};
_Static_assert(sizeof torch == sizeof symbols / sizeof *symbols * sizeof(void *),
               "a symbol for each function, in their order");

enum { NO_ELEMENT = -1 };

/* What the views of one tensor need. */
typedef struct operand {
    void *data;
    int64_t dim, *sizes;
    int32_t dtype, type, index;
    int element; /* a lac_dt_t, or NO_ELEMENT */
    bool contiguous;
} operand_t;

static int element_of(int32_t dtype)
{
    return dtype == torch.dtype_f32()    ? (int)LAC_F32
           : dtype == torch.dtype_bool() ? (int)LAC_U8
           : dtype == torch.dtype_f16()  ? (int)LAC_F16
           : dtype == torch.dtype_bf16() ? (int)LAC_BF16
                                         : NO_ELEMENT;
}

static bool is_half(int element)
{
    return element == LAC_F16 || element == LAC_BF16;
}

static bool read_operand(tensor_t *tensor, operand_t *x)
{
    if (torch.data_ptr(tensor, &x->data) | torch.dim(tensor, &x->dim) | torch.sizes(tensor, &x->sizes) |
        torch.dtype(tensor, &x->dtype) | torch.device_type(tensor, &x->type) |
        torch.device_index(tensor, &x->index) | torch.contiguous(tensor, &x->contiguous))
        return false;
    x->element = element_of(x->dtype);
    return x->contiguous;
}

static bool same_place(const operand_t *x, const operand_t *y)
{
    return x->type == y->type && x->index == y->index;
}

/* True where these are operands of a linear layer that the library can read as they lie. */
static bool fits(const operand_t *input, const operand_t *weight, const operand_t *bias, bool has_bias)
{
    bool number =
        weight->element == LAC_F32 || (is_half(weight->element) && weight->type == torch.device_cuda());
    bool types = number && (input->element == weight->element || input->element == LAC_U8);
    bool place = (input->type == torch.device_cpu() || input->type == torch.device_cuda()) &&
                 same_place(input, weight);
    bool shapes = input->dim >= 1 && input->dim <= DIMENSIONS && weight->dim == 2 &&
                  input->sizes[input->dim - 1] == weight->sizes[1];
    if (!types || !place || !shapes || !has_bias) return types && place && shapes;
    return bias->element == weight->element && same_place(bias, weight) && bias->dim == 1 &&
           bias->sizes[0] == weight->sizes[0];
}

static tensor_t *make_output(const operand_t *input, const operand_t *weight)
{
    int64_t sizes[DIMENSIONS], strides[DIMENSIONS], step = 1;
    tensor_t *made = NULL;
    for (int64_t i = input->dim - 1; i >= 0; i--) {
        sizes[i] = i == input->dim - 1 ? weight->sizes[0] : input->sizes[i];
        strides[i] = step;
        step *= sizes[i] > 1 ? sizes[i] : 1;
    }
    return torch.empty(input->dim, sizes, strides, weight->dtype, input->type, input->index, &made) ? NULL
                                                                                                    : made;
}

/* bias: of an epilogue; added: `out` holds one already, to which the product is added. */
static void multiply(const operand_t *input, const operand_t *weight, const void *bias, bool added, void *out,
                     lacuna_torch_call_t *call)
{
    const float one = 1.0f;
    int64_t k = weight->sizes[1], n = weight->sizes[0], m = 1;
    for (int64_t i = 0; i + 1 < input->dim; i++) m *= input->sizes[i];
    lac_space_t space = input->type == torch.device_cpu() ? LAC_HOST : LAC_DEVICE;
    lac_dt_t number = (lac_dt_t)weight->element;
    lac_obj_t a = lac_obj_rowmajor((lac_dt_t)input->element, m, k, input->data, k > 1 ? k : 1),
              b = lac_obj_rowmajor(number, n, k, weight->data, k > 1 ? k : 1),
              c = lac_obj_rowmajor(number, m, n, out, n > 1 ? n : 1);
    lac_decision_t decision = {.route = ""};
    lac_call_opts_t options = {
        .size = sizeof options, .decision = &decision, .may_decline = call->may_decline || added};
    lac_epilogue_t epilogue = {.size = sizeof epilogue, .bias = bias};
    a.space = b.space = c.space = space;
    b.trans = LAC_TRANS;
    a.meta = call->scanned;
    b.meta = call->known;
    lac_status_t status = bias ? lac_gemm_epilogue(call->ctx, NULL, &a, &b, NULL, &c, &epilogue, &options)
                               : lac_gemm_ex(call->ctx, NULL, &a, &b, added ? &one : NULL, &c, &options);
    if (status) return; /* outcome -1 */
    /* cuBLAS rounds a product of halves before it adds what is there: PyTorch's has the bias in its epilogue.
     */
    bool left = options.declined || (added && !strcmp(decision.route, "dense"));
    call->outcome = left;
    if (left) return;
    call->skipped = decision.side[0] || !strcmp(decision.route, "stream") || !strcmp(decision.route, "tiles");
}

/* _linear(Tensor input, Tensor weight, Tensor bias, int call) -> Tensor */
static void linear(stable_value_t *stack, uint64_t inputs, uint64_t outputs)
{
    tensor_t *tensors[3], *out = NULL;
    operand_t x[3];
    lacuna_torch_call_t *call;
    (void)inputs, (void)outputs;
    memcpy(tensors, stack, sizeof tensors);
    memcpy(&call, stack + 3, sizeof call);
    call->outcome = -1;
    call->skipped = 0;
    bool read =
        read_operand(tensors[0], &x[0]) && read_operand(tensors[1], &x[1]) && read_operand(tensors[2], &x[2]);
    /* Without a bias it is empty. */
    bool has_bias = read && !(x[2].dim == 1 && x[2].sizes[0] == 0 && x[1].dim == 2 && x[1].sizes[0] != 0);
    bool added = has_bias && is_half(x[1].element); /* no epilogue takes halves */
    if (read && fits(&x[0], &x[1], &x[2], has_bias)) {
        if (added && !call->known)
            call->outcome = 1; /* what zeros would save is less than another launch */
        else
            out = make_output(&x[0], &x[1]);
    }
    if (out) {
        void *data = NULL;
        if (!torch.data_ptr(out, &data) && !(added && torch.copy(out, tensors[2], 0)))
            multiply(&x[0], &x[1], has_bias && !added ? x[2].data : NULL, added, data, call);
    }
    if (!out) { /* what is returned must be a tensor */
        const int64_t none = 0, one = 1;
        torch.empty(1, &none, &one, torch.dtype_f32(), torch.device_cpu(), 0, &out);
    }
    for (int i = 0; i < 3; i++) torch.release(tensors[i]);
    memcpy(stack, &out, sizeof out);
}

static const char *define(const char *libtorch)
{
    static void *definition, *implementation;
    void *loaded = dlopen(libtorch, RTLD_LAZY | RTLD_NOLOAD);
    if (!loaded) return "it is not loaded";
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *found = dlsym(loaded, symbols[i].name);
        if (!found) return symbols[i].name;
        memcpy((char *)&torch + symbols[i].at * sizeof found, &found, sizeof found);
    }
    if (torch.fragment("lacuna", __FILE__, __LINE__, &definition) ||
        torch.define(definition, "_linear(Tensor input, Tensor weight, Tensor bias, int call) -> Tensor"))
        return "its definition failed";
    if (torch.implement("lacuna", "CompositeExplicitAutograd", __FILE__, __LINE__, &implementation) ||
        torch.attach(implementation, "_linear", linear))
        return "its implementation failed";
    return NULL;
}

/* For lacuna_blas.torch, once: defines the operator in the PyTorch whose libtorch_cpu.so this is. Returns
 * NULL, or what is missing. */
EXPORT extern const char *(*const lacuna_torch_define)(const char *libtorch);
const char *(*const lacuna_torch_define)(const char *libtorch) = define;
