"""AES in counter mode under an encrypted key: a client sends ciphertexts as short as their plaintexts, and the server has them as encrypted bytes.

polyfabric run examples/aes.py:decrypted --input key=43,126,21,22,40,174,210,166,171,247,21,136,9,207,79,60
"""

import polyfabric as pf

# NIST SP 800-38A, F.5.1.
CIPHERTEXT = bytes.fromhex("874d6191b620e3261bef6864990db6ce")
COUNTER = bytes.fromhex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")


@pf.program(tables="wide", key=pf.UInt(8).vector(16))
def decrypted(key: pf.Value) -> pf.Value:
    """The plaintext, to compute on."""
    return pf.aes_decrypt(key, CIPHERTEXT, counter=COUNTER)
