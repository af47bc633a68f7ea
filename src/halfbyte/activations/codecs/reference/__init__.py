"""Every kernel in plain torch operations: the truth that native kernels equal bit for bit, and what runs on
devices other than the CPU.
"""
