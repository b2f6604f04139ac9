package main

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand"
	"runtime/debug"

	"github.com/tuneinsight/lattigo/v6/circuits/ckks/bootstrapping"
	"github.com/tuneinsight/lattigo/v6/core/rlwe"
	"github.com/tuneinsight/lattigo/v6/ring"
	"github.com/tuneinsight/lattigo/v6/schemes/ckks"
)

// version is the version of the linked Lattigo module.
func version() string {
	const module = "github.com/tuneinsight/lattigo/v6"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dependency := range info.Deps {
			if dependency.Path == module {
				return "Lattigo " + dependency.Version
			}
		}
	}
	return "Lattigo"
}

type ckksSide struct {
	params    ckks.Parameters
	encoder   *ckks.Encoder
	decryptor *rlwe.Decryptor
	evaluator *ckks.Evaluator
	rotations []int
	x, y      []complex128
	ctX, ctY  *rlwe.Ciphertext
	ptY       *rlwe.Plaintext
}

func slots(count int) []complex128 {
	values := make([]complex128, count)
	for i := range values {
		values[i] = complex(2*rand.Float64()-1, 2*rand.Float64()-1)
	}
	return values
}

func newCkks(request *Request) (Side, Answer, error) {
	var answer Answer
	params, err := ckks.NewParametersFromLiteral(ckks.ParametersLiteral{
		LogN: request.LogN, LogQ: request.LogQ, LogP: request.LogP, LogDefaultScale: request.LogScale,
	})
	if err != nil {
		return nil, answer, err
	}
	generator := rlwe.NewKeyGenerator(params)
	secret := generator.GenSecretKeyNew()
	galois := []*rlwe.GaloisKey{}
	for _, rotation := range request.Rotations {
		galois = append(galois, generator.GenGaloisKeyNew(params.GaloisElement(rotation), secret))
	}
	keys := rlwe.NewMemEvaluationKeySet(generator.GenRelinearizationKeyNew(secret), galois...)
	side := &ckksSide{
		params:    params,
		encoder:   ckks.NewEncoder(params),
		decryptor: rlwe.NewDecryptor(params, secret),
		evaluator: ckks.NewEvaluator(params, keys),
		rotations: request.Rotations,
		x:         slots(params.MaxSlots()),
		y:         slots(params.MaxSlots()),
	}
	encryptor := rlwe.NewEncryptor(params, secret)
	plaintext := ckks.NewPlaintext(params, params.MaxLevel())
	if err = side.encoder.Encode(side.x, plaintext); err != nil {
		return nil, answer, err
	}
	if side.ctX, err = encryptor.EncryptNew(plaintext); err != nil {
		return nil, answer, err
	}
	side.ptY = ckks.NewPlaintext(params, params.MaxLevel())
	if err = side.encoder.Encode(side.y, side.ptY); err != nil {
		return nil, answer, err
	}
	if side.ctY, err = encryptor.EncryptNew(side.ptY); err != nil {
		return nil, answer, err
	}
	answer.LogQ, answer.LogP = params.LogQ(), params.LogP()
	answer.Digits = (params.QCount() + params.PCount() - 1) / params.PCount()
	return side, answer, nil
}

func (side *ckksSide) error(ciphertext *rlwe.Ciphertext, expected func(i int) complex128) (float64, error) {
	values := make([]complex128, side.params.MaxSlots())
	if err := side.encoder.Decode(side.decryptor.DecryptNew(ciphertext), values); err != nil {
		return 0, err
	}
	worst := 0.0
	for i, value := range values {
		worst = math.Max(worst, cmplx.Abs(value-expected(i)))
	}
	return worst, nil
}

func (side *ckksSide) Measure(op string, repetitions int) (answer Answer, err error) {
	params, evaluator, count := side.params, side.evaluator, side.params.MaxSlots()
	result := ckks.NewCiphertext(params, 1, params.MaxLevel())
	var expected func(i int) complex128
	switch op {
	case "multiply":
		lower := ckks.NewCiphertext(params, 1, params.MaxLevel()-1)
		answer.Ms, err = timed(repetitions, func() error {
			if err := evaluator.MulRelin(side.ctX, side.ctY, result); err != nil {
				return err
			}
			return evaluator.Rescale(result, lower)
		})
		result, expected = lower, func(i int) complex128 { return side.x[i] * side.y[i] }
	case "multiply plain":
		answer.Ms, err = timed(repetitions, func() error { return evaluator.Mul(side.ctX, side.ptY, result) })
		expected = func(i int) complex128 { return side.x[i] * side.y[i] }
	case "rotate":
		by := side.rotations[0]
		answer.Ms, err = timed(repetitions, func() error { return evaluator.Rotate(side.ctX, by, result) })
		expected = func(i int) complex128 { return side.x[(i+by)%count] }
	case "rotate hoisted":
		results := map[int]*rlwe.Ciphertext{}
		for _, rotation := range side.rotations {
			results[rotation] = ckks.NewCiphertext(params, 1, params.MaxLevel())
		}
		answer.Ms, err = timed(repetitions, func() error {
			return evaluator.RotateHoisted(side.ctX, side.rotations, results)
		})
		by := side.rotations[len(side.rotations)-1]
		result, expected = results[by], func(i int) complex128 { return side.x[(i+by)%count] }
	default:
		err = fmt.Errorf("unknown CKKS operation %q", op)
	}
	if err != nil {
		return
	}
	answer.Error, err = side.error(result, expected)
	return
}

type bootstrappingSide struct {
	params    ckks.Parameters
	encoder   *ckks.Encoder
	encryptor *rlwe.Encryptor
	decryptor *rlwe.Decryptor
	evaluator *bootstrapping.Evaluator
}

// newBootstrapping prepares the set N16QP1546H192H32 with all slots.
func newBootstrapping() (Side, Answer, error) {
	var answer Answer
	set := bootstrapping.N16QP1546H192H32
	params, err := ckks.NewParametersFromLiteral(set.SchemeParams)
	if err != nil {
		return nil, answer, err
	}
	full, err := bootstrapping.NewParametersFromLiteral(params, set.BootstrappingParams)
	if err != nil {
		return nil, answer, err
	}
	secret := rlwe.NewKeyGenerator(params).GenSecretKeyNew()
	keys, _, err := full.GenEvaluationKeys(secret)
	if err != nil {
		return nil, answer, err
	}
	evaluator, err := bootstrapping.NewEvaluator(full, keys)
	if err != nil {
		return nil, answer, err
	}
	outer := full.BootstrappingParameters
	answer.LogQ, answer.LogP = outer.LogQ(), outer.LogP()
	answer.Digits = (outer.QCount() + outer.PCount() - 1) / outer.PCount()
	return &bootstrappingSide{
		params:    params,
		encoder:   ckks.NewEncoder(params),
		encryptor: rlwe.NewEncryptor(params, secret),
		decryptor: rlwe.NewDecryptor(params, secret),
		evaluator: evaluator,
	}, answer, nil
}

func (side *bootstrappingSide) Measure(op string, repetitions int) (answer Answer, err error) {
	if op != "bootstrap" {
		return answer, fmt.Errorf("unknown bootstrapping operation %q", op)
	}
	values := slots(side.params.MaxSlots())
	plaintext := ckks.NewPlaintext(side.params, 0)
	if err = side.encoder.Encode(values, plaintext); err != nil {
		return
	}
	ciphertext, err := side.encryptor.EncryptNew(plaintext)
	if err != nil {
		return
	}
	var result *rlwe.Ciphertext
	// One bootstrapping is long enough to need no warm-up.
	for i := 0; i < repetitions; i++ {
		ms, err := once(func() (err error) {
			result, err = side.evaluator.Bootstrap(ciphertext.CopyNew())
			return
		})
		if err != nil {
			return answer, err
		}
		answer.Ms = append(answer.Ms, ms)
	}
	decrypted := make([]complex128, len(values))
	if err = side.encoder.Decode(side.decryptor.DecryptNew(result), decrypted); err != nil {
		return
	}
	sum := 0.0
	for i := range values {
		for _, difference := range []float64{real(decrypted[i] - values[i]), imag(decrypted[i] - values[i])} {
			magnitude := math.Max(math.Abs(difference), 0x1p-60)
			answer.Error = math.Max(answer.Error, magnitude)
			sum -= math.Log2(magnitude)
		}
	}
	answer.PrecisionMin = -math.Log2(answer.Error)
	answer.PrecisionMean = sum / float64(2*len(values))
	answer.LevelsLeft = result.Level()
	return
}

type transformSide struct {
	limb *ring.Ring
}

// newTransform prepares one limb with the first prime of `log_q`.
func newTransform(request *Request) (Side, Answer, error) {
	var answer Answer
	generator := ring.NewNTTFriendlyPrimesGenerator(uint64(request.LogQ[0]), 2<<request.LogN)
	prime, err := generator.NextDownstreamPrime()
	if err != nil {
		return nil, answer, err
	}
	limb, err := ring.NewRing(1<<request.LogN, []uint64{prime})
	if err != nil {
		return nil, answer, err
	}
	answer.LogQ = math.Log2(float64(prime))
	return &transformSide{limb}, answer, nil
}

func (side *transformSide) Measure(op string, repetitions int) (answer Answer, err error) {
	if op != "ntt" {
		return answer, fmt.Errorf("unknown transform operation %q", op)
	}
	const batch = 32 // transforms per measured time: a single one is close to the clock's resolution
	polynomial, values, back := side.limb.NewPoly(), side.limb.NewPoly(), side.limb.NewPoly()
	prime := side.limb.ModuliChain()[0]
	for i := range polynomial.Coeffs[0] {
		polynomial.Coeffs[0][i] = rand.Uint64() % prime
	}
	answer.Ms, err = timed(repetitions, func() error {
		for i := 0; i < batch; i++ {
			side.limb.NTT(polynomial, values)
		}
		return nil
	})
	for i := range answer.Ms {
		answer.Ms[i] /= batch
	}
	side.limb.INTT(values, back)
	for i := range back.Coeffs[0] {
		if back.Coeffs[0][i] != polynomial.Coeffs[0][i] {
			answer.Error++
		}
	}
	return
}
