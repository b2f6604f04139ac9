"""Two encrypted matrices, multiplied: marks of pupils times weights of exams."""

import numpy as np
import polyfabric as pf

PUPILS, EXAMS, COURSES = 12, 6, 4


@pf.program(marks=pf.Real.matrix(PUPILS, EXAMS), weights=pf.Real.matrix(EXAMS, COURSES))
def program(marks, weights):
    grades = marks @ weights
    return {"grades": grades, "means": grades.mean(axis=0)}


RANDOM = np.random.default_rng(5)
GIVEN = {"marks": RANDOM.uniform(0, 1, (PUPILS, EXAMS)), "weights": RANDOM.dirichlet(np.ones(EXAMS), COURSES).T}


def clear(marks, weights):
    grades = [[sum(a * b for a, b in zip(row, column, strict=True)) for column in weights.T] for row in marks]
    return {"grades": grades, "means": [sum(column) / PUPILS for column in zip(*grades, strict=True)]}
