"""The similarity of an encrypted query to twenty public documents."""

import numpy as np
import polyfabric as pf

DOCUMENTS = np.random.default_rng(1).normal(size=(20, 16))
DOCUMENTS /= np.linalg.norm(DOCUMENTS, axis=1, keepdims=True)


@pf.program(query=pf.Real.vector(16), slots=32)
def program(query):
    return DOCUMENTS @ query


GIVEN = {"query": DOCUMENTS[7] * 0.9}


def clear(query):
    return [float(document @ query) for document in DOCUMENTS]
