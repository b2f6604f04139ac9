"""What depends on the scheme: elements, with TFHE, and slots, with CKKS and BGV, as two adapters below one skeleton.

`context` is what a client does, `plan` what is planned, executed and compared; `elements` and `slots` do it.
"""
