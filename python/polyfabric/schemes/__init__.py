"""The parts that depend on the scheme: TFHE in `tfhe`, CKKS and BGV in `rns`, as two implementations of one interface.

`context` defines a client's operations, `plan` planning, execution and comparison.
"""
