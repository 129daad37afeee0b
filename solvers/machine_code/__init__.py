"""Programs as machine code: terms lowered to LLVM, kernels of the search, the visited table, object code.

What a search does with this code is in `kraftcheck.solvers.search`, `kraftcheck.solvers.blocks` and
`kraftcheck.solvers.walks`.
"""
