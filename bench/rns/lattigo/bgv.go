package main

import (
	"fmt"
	"math/rand"

	"github.com/tuneinsight/lattigo/v6/core/rlwe"
	"github.com/tuneinsight/lattigo/v6/schemes/bgv"
)

const plaintextModulus = 65537

type bgvSide struct {
	params    bgv.Parameters
	encoder   *bgv.Encoder
	decryptor *rlwe.Decryptor
	evaluator *bgv.Evaluator
	rotations []int
	x, y      []uint64
	ctX, ctY  *rlwe.Ciphertext
}

func residues(count int) []uint64 {
	values := make([]uint64, count)
	for i := range values {
		values[i] = rand.Uint64() % plaintextModulus
	}
	return values
}

func newBgv(request *Request) (Side, Answer, error) {
	var answer Answer
	params, err := bgv.NewParametersFromLiteral(bgv.ParametersLiteral{
		LogN: request.LogN, LogQ: request.LogQ, LogP: request.LogP, PlaintextModulus: plaintextModulus,
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
	side := &bgvSide{
		params:    params,
		encoder:   bgv.NewEncoder(params),
		decryptor: rlwe.NewDecryptor(params, secret),
		evaluator: bgv.NewEvaluator(params, keys),
		rotations: request.Rotations,
		x:         residues(params.MaxSlots()),
		y:         residues(params.MaxSlots()),
	}
	encryptor := rlwe.NewEncryptor(params, secret)
	for _, pair := range []struct {
		values     []uint64
		ciphertext **rlwe.Ciphertext
	}{{side.x, &side.ctX}, {side.y, &side.ctY}} {
		plaintext := bgv.NewPlaintext(params, params.MaxLevel())
		if err = side.encoder.Encode(pair.values, plaintext); err != nil {
			return nil, answer, err
		}
		if *pair.ciphertext, err = encryptor.EncryptNew(plaintext); err != nil {
			return nil, answer, err
		}
	}
	answer.LogQ, answer.LogP = params.LogQ(), params.LogP()
	answer.Digits = (params.QCount() + params.PCount() - 1) / params.PCount()
	return side, answer, nil
}

func (side *bgvSide) Measure(op string, repetitions int) (answer Answer, err error) {
	params, evaluator := side.params, side.evaluator
	result := bgv.NewCiphertext(params, 1, params.MaxLevel())
	row := params.MaxSlots() / 2
	var expected func(i int) uint64
	switch op {
	case "multiply":
		answer.Ms, err = timed(repetitions, func() error { return evaluator.MulRelin(side.ctX, side.ctY, result) })
		expected = func(i int) uint64 { return side.x[i] * side.y[i] % plaintextModulus }
	case "rotate":
		by := side.rotations[0]
		answer.Ms, err = timed(repetitions, func() error { return evaluator.RotateColumns(side.ctX, by, result) })
		expected = func(i int) uint64 { return side.x[i-i%row+(i+by)%row] }
	default:
		err = fmt.Errorf("unknown BGV operation %q", op)
	}
	if err != nil {
		return
	}
	values := make([]uint64, params.MaxSlots())
	if err = side.encoder.Decode(side.decryptor.DecryptNew(result), values); err != nil {
		return
	}
	for i, value := range values {
		if value != expected(i) {
			answer.Error++
		}
	}
	return
}
