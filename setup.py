"""Build the native CPU kernels as one shared library, where a C++ compiler is there. Everything else: pyproject.toml.

The library has a plain C interface and is loaded by ctypes; without it the eager twins run, so a failed build is a
warning, not an error.
"""

from pathlib import Path

from setuptools import Extension, setup

NATIVE = Path("src/armillary/kernels/native")


def native_extensions() -> list[Extension]:
    """One optional extension from all C++ files, or none when there are no sources."""
    sources = sorted(str(path) for path in NATIVE.glob("*.cpp"))
    if not sources:
        return []
    kernels = Extension(
        "armillary.kernels._native",
        sources=sources,
        depends=sorted(str(path) for path in NATIVE.glob("*.hpp")),
        language="c++",
        # No -march: each kernel names its instruction set itself and is chosen at run time.
        extra_compile_args=["-O3", "-g0", "-std=c++17", "-pthread"],
        extra_link_args=["-pthread"],
        optional=True,
    )
    return [kernels]


setup(ext_modules=native_extensions())
