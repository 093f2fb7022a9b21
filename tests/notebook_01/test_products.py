"""The watch sees a product of matrices however it is spelled, and leaves vector products alone."""

import math
import subprocess
import sys

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from course_utils.checks.probes.products import ProductWatch, watched

L, D = 5, 4
A = torch.arange(L * D, dtype=torch.float64).reshape(L, D)
B = torch.linspace(-1, 1, L * D, dtype=torch.float64).reshape(L, D)
W = torch.linspace(-2, 1, 3 * D * 2, dtype=torch.float64).reshape(3, D, 2)

MATRIX_PRODUCTS = {
    "at": lambda: A @ B.T,
    "mm": lambda: torch.mm(A, B.T),
    "matmul": lambda: torch.matmul(A, B.T),
    "einsum": lambda: torch.einsum("id,jd->ij", A, B),
    "bmm": lambda: torch.bmm(A[None], B.T[None]),
    "linear": lambda: F.linear(A, B),
    "linear with bias": lambda: F.linear(A, B, torch.ones(L, dtype=A.dtype)),
    "tensordot": lambda: torch.tensordot(A, B, ([1], [1])),
    "inner": lambda: torch.inner(A, B),
    "addmm": lambda: torch.addmm(torch.zeros(L, L, dtype=A.dtype), A, B.T),
    "broadcasting": lambda: (A[:, None] * B[None]).sum(-1),
    "broadcasting in place": lambda: A[:, None].expand(L, L, D).clone().mul_(B[None]),
    "differences": lambda: (A[:, None] - B[None]).pow(2).sum(-1),
    "addcmul": lambda: torch.addcmul(torch.zeros(1, dtype=A.dtype), A[:, None], B[None]),
    "vectors against a stack": lambda: A @ B[:, :, None],
    "repeated matrices": lambda: torch.bmm(A.repeat(L, 1, 1), B[:, :, None]),
    "expanded matrices": lambda: torch.bmm(A.expand(L, L, D), B[:, :, None]),
    "vmap": lambda: torch.vmap(lambda q: A @ q)(B),
    "convolution": lambda: F.conv1d(A.T[None], B[:, :, None]),
    "distances": lambda: torch.cdist(A, B),
    "the fused function": lambda: F.scaled_dot_product_attention(A[None], B[None], B[None]),
    "a projection of all tokens": lambda: A @ W,
    "multi_dot": lambda: torch.linalg.multi_dot([A, B.T, A]),
    "NumPy at": lambda: A.numpy() @ B.numpy().T,
    "NumPy at after np.array": lambda: np.array(A) @ np.array(B).T,
    "NumPy matmul": lambda: np.matmul(np.asarray(A), np.asarray(B).T),
    "NumPy dot": lambda: A.numpy().dot(B.numpy().T),
    "NumPy np.dot": lambda: np.dot(A.numpy(), B.numpy().T),
    "NumPy einsum": lambda: np.einsum("id,jd->ij", A.numpy(), B.numpy()),
    "NumPy inner": lambda: np.inner(A.numpy(), B.numpy()),
    "NumPy broadcasting": lambda: (A.numpy()[:, None] * B.numpy()[None]).sum(-1),
}

VECTOR_PRODUCTS = {
    "at": lambda: A @ B[0],
    "row times matrix": lambda: A[0] @ B.T,
    "dot": lambda: A[0] @ B[0],
    "mv": lambda: torch.mv(A, B[0]),
    "a row kept as a matrix": lambda: A[0:1] @ B.T,
    "einsum": lambda: torch.einsum("d,jd->j", A[0], B),
    "outer": lambda: torch.outer(A[0], B[0]),
    "outer as a product": lambda: A[0][:, None] @ B[0][None],
    "weights times values": lambda: (A[:, :1] * B).sum(0),
    "one query by broadcasting": lambda: (A[0] * B).sum(-1),
    "a row through all heads": lambda: A[0] @ W,
    "a row through all heads by einsum": lambda: torch.einsum("d,hdk->hk", A[0], W),
    "softmax": lambda: torch.softmax(A, -1),
    "a scale for each row": lambda: A / A.sum(-1, keepdim=True),
    "loops": lambda: sum(A[i, k] * B[j, k] for i in range(L) for j in range(L) for k in range(D)),
    "lists": lambda: [
        math.fsum(x * y for x, y in zip(q, k)) for q in A.tolist() for k in B.tolist()
    ],
    "NumPy at": lambda: A.numpy() @ B.numpy()[0],
    "NumPy dot": lambda: A.numpy()[0].dot(B.numpy()[0]),
    "NumPy einsum": lambda: np.einsum("d,jd->j", A.numpy()[0], B.numpy()),
}


@pytest.mark.parametrize("spelling", MATRIX_PRODUCTS)
def test_a_product_of_matrices_is_seen(spelling):
    with ProductWatch() as watch:
        MATRIX_PRODUCTS[spelling]()
    assert min(watch.largest) > 1, watch.products


@pytest.mark.parametrize("spelling", VECTOR_PRODUCTS)
def test_a_vector_product_is_left_alone(spelling):
    with ProductWatch() as watch:
        VECTOR_PRODUCTS[spelling]()
    assert min(watch.largest) <= 1, watch.products


def test_the_numbers_stay_the_same_under_the_watch():
    with ProductWatch() as watch:
        left = A @ B.T
        right = np.asarray(A.numpy() @ B.numpy().T)
    np.testing.assert_allclose(left.numpy(), right)
    assert (5, 5) in watch.products


def test_numpy_is_as_before_afterwards():
    before = np.array, np.asarray, torch.Tensor.numpy
    with ProductWatch():
        pass
    assert (np.array, np.asarray, torch.Tensor.numpy) == before
    assert type(A.numpy()) is np.ndarray
    assert watched(3.0, None) == 3.0


def test_watching_does_not_wake_the_compiler():
    """Importing it takes a second, and would be paid anew for every submission in the box."""
    code = (
        "import sys, torch\n"
        "from course_utils.checks.probes.products import ProductWatch\n"
        "with ProductWatch() as watch:\n"
        "    torch.ones(3, 3) @ torch.ones(3, 3)\n"
        "print(watch.largest, 'torch._dynamo' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(3, 3) False"
