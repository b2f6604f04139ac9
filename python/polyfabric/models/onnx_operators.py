"""Every operator of ONNX: how it is computed on encrypted rows, or what to use instead.

Operators on public numbers alone are evaluated when the model is read, whatever they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

How = Literal["shape", "selection", "matrix", "function", "product", "composite", "client", "trees", "refused"]
"""How an operator is computed; `MEANINGS` explains it."""

MEANINGS: dict[How, str] = {
    "shape": "changes the shape alone, at no cost",
    "selection": "moves numbers to public places; becomes part of a matrix",
    "matrix": "a public matrix and a sum; consecutive ones are one matrix, for one level",
    "function": "a polynomial of `degree` on an interval",
    "product": "exact product of encrypted numbers, for a level more",
    "composite": "several of the others",
    "client": "at the end of the model, computed by the client from decrypted scores",
    "trees": "comparisons and tables of TFHE, of the model's own input",
    "refused": "not computed",
}


@dataclass(frozen=True)
class Operator:
    """An operator's row: how it is computed, and its limits; for a refused one, what to use instead."""

    name: str
    how: How
    note: str = ""


_POSITIVE = "its numbers must keep one side of 0"
_PUBLIC = "the other operand must be public"
_FACTOR = "or a product, if both operands are encrypted"

_ROWS: tuple[tuple[How, str, str], ...] = (
    ("shape", "Cast CastLike Dropout Flatten Identity Reshape Squeeze Unsqueeze", ""),
    ("shape", "Shape Size", "a public result"),
    ("selection", "Compress Concat DepthToSpace Expand Gather GatherElements GatherND Pad", "public indices and sizes"),
    ("selection", "ReverseSequence Slice SpaceToDepth Split Tile Transpose Trilu", "public indices and sizes"),
    ("selection", "CenterCropPad ScatterElements ScatterND TensorScatter", "public indices, without a reduction"),
    ("selection", "Where", "a public condition"),
    ("matrix", "Add Sub Neg Sum Mean ReduceMean ReduceSum CumSum", ""),
    ("matrix", "AveragePool GlobalAveragePool BatchNormalization", "with public parameters"),
    ("matrix", "Conv ConvTranspose Col2Im Resize", "public weights"),
    ("matrix", "Einsum", "one encrypted operand; for two, MatMul"),
    ("matrix", "Scaler LinearRegressor", "of `ai.onnx.ml`"),
    ("matrix", "MatMul Gemm", f"public weights, {_FACTOR}: of m x k by k x n in m·k·n slots"),
    ("matrix", "Mul", f"a public operand, {_FACTOR}"),
    ("matrix", "Div", f"a public divisor; else a product with the divisor's reciprocal, where {_POSITIVE}"),
    ("function", "Relu LeakyRelu PRelu Elu Selu Celu Gelu Swish Mish HardSigmoid HardSwish ThresholdedRelu Shrink", ""),
    ("function", "Sigmoid Tanh Softplus Softsign Erf Exp Abs Clip", ""),
    ("function", "Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh", ""),
    ("function", "Sqrt Log Reciprocal", _POSITIVE),
    ("function", "Pow", "a public exponent; 2 is exact"),
    ("function", "Max Min", f"of two numbers; {_PUBLIC}"),
    (
        "composite",
        "Softmax LogSoftmax",
        "exponentials about the mean, and their sum's reciprocal; at the end, work of the client",
    ),
    (
        "composite",
        "LayerNormalization InstanceNormalization GroupNormalization",
        "squares, and 1 / sqrt of the variance",
    ),
    ("composite", "RMSNormalization MeanVarianceNormalization", "squares, and 1 / sqrt of the mean"),
    ("composite", "LpNormalization", "p=2: squares, and 1 / sqrt of the sum"),
    ("composite", "ReduceL2", "squares, and the root of the sum, which must not come close to 0"),
    ("composite", "ReduceSumSquare", "exact"),
    ("composite", "ReduceLogSum ReduceLogSumExp", "the logarithm of a sum, which must not come close to 0"),
    ("client", "ArgMax Normalizer ArrayFeatureExtractor ZipMap LinearClassifier", ""),
    ("trees", "TreeEnsembleClassifier TreeEnsembleRegressor", "of `ai.onnx.ml`"),
    ("refused", "MaxPool LpPool MaxUnpool", "AveragePool, which is linear"),
    ("refused", "GlobalMaxPool MaxRoiPool RoiAlign", "GlobalAveragePool, which is linear"),
    ("refused", "ReduceMax ReduceMin TopK", "a mean, or return the numbers and let the client choose"),
    ("refused", "ReduceL1 GlobalLpPool", "ReduceL2, or Abs and ReduceSum"),
    ("refused", "ReduceProd CumProd Det", "Mul of pairs"),
    ("refused", "ArgMin Hardmax", "ArgMax as the last operator, which the client computes"),
    (
        "refused",
        "LSTM GRU RNN",
        "a convolution over the sequence, or the cells written out as Gemm, Sigmoid, Tanh and Mul",
    ),
    (
        "refused",
        "If Loop Scan SequenceMap",
        "a model without branches and loops on encrypted values: export it with fixed sizes",
    ),
    (
        "refused",
        "Attention LinearAttention FlexAttention CausalConvWithState RotaryEmbedding SwiGLU",
        "its parts, MatMul, Softmax, Mul and Slice: export with opset_version=20",
    ),
    (
        "refused",
        "Equal Greater GreaterOrEqual Less LessOrEqual Sign",
        "activations such as Relu and Clip, of one number",
    ),
    ("refused", "And Or Not Xor IsInf IsNaN NonZero", "activations such as Relu and Clip, of one number"),
    ("refused", "Ceil Floor Round Mod", "the numbers without rounding"),
    (
        "refused",
        "BitCast BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor",
        "a program of your own on integers, pf.UInt(bits)",
    ),
    (
        "refused",
        "QuantizeLinear DynamicQuantizeLinear DequantizeLinear QLinearConv QLinearMatMul ConvInteger MatMulInteger",
        "the model before quantisation",
    ),
    ("refused", "LRN", "BatchNormalization, whose parameters are public"),
    ("refused", "AffineGrid GridSample DeformConv", "Resize or Conv, with public places"),
    (
        "refused",
        "Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike",
        "public numbers: export in evaluation mode",
    ),
    (
        "refused",
        "DFT STFT MelWeightMatrix BlackmanWindow HammingWindow HannWindow",
        "MatMul with the transform's public matrix, or let the client transform",
    ),
    (
        "refused",
        "NonMaxSuppression ImageDecoder Unique",
        "the model up to this operator, and let the client do the rest",
    ),
    (
        "refused",
        "Constant ConstantOfShape EyeLike Range",
        "public operands, on which it is evaluated when the model is read",
    ),
    (
        "refused",
        "OneHot TfIdfVectorizer RegexFullMatch StringConcat StringNormalizer StringSplit Binarizer CastMap CategoryMapper"
        " DictVectorizer FeatureVectorizer Imputer LabelEncoder OneHotEncoder",
        "numbers that the client prepares before encryption",
    ),
    (
        "refused",
        "ConcatFromSequence SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength"
        " SplitToSequence Optional OptionalGetElement OptionalHasElement",
        "tensors, with Concat and Split",
    ),
    ("refused", "SVMClassifier SVMRegressor", "a linear model, or trees"),
    ("refused", "TreeEnsemble", "TreeEnsembleClassifier or TreeEnsembleRegressor of ai.onnx.ml"),
    (
        "refused",
        "NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss Adagrad Adam Gradient Momentum",
        "the trained model, without its loss",
    ),
)

OPERATORS: dict[str, Operator] = {
    name: Operator(name, how, note) for how, names, note in _ROWS for name in names.split()
}
"""All operators by name."""


def named(*hows: How) -> frozenset[str]:
    """The operators that are computed in one of these ways."""
    return frozenset(name for name, operator in OPERATORS.items() if operator.how in hows)


def instead(name: str) -> str:
    """What to use instead of an operator that is not computed."""
    operator = OPERATORS.get(name)
    if operator is not None and operator.how == "refused":
        return operator.note
    if operator is not None and operator.how == "client":
        return "it only as the last operator, which the client computes"
    if operator is not None:
        return f"it as the table says: {operator.note or 'one encrypted operand'}"
    return "operators of standard ONNX: docs/onnx-operators.md lists those that are computed"


def by_meaning() -> list[tuple[How, str, list[tuple[str, str]]]]:
    """The table for readers: of each way its meaning, and its operators with equal notes together."""
    found = []
    for how in get_args(How):
        rows: dict[str, list[str]] = {}
        for own, names, note in _ROWS:
            if own == how:
                rows.setdefault(note, []).extend(names.split())
        found.append(
            (how, MEANINGS[how], [(", ".join(f"`{name}`" for name in names), note) for note, names in rows.items()])
        )
    return found
