// The Lattigo peer: reads one JSON request per line and writes one JSON answer per line.
//
// A request prepares a parameter set (keys, ciphertexts) or measures one operation on the last prepared set.
// Each measured result is decrypted and compared with the computation in the clear.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Request is a request of the harness. Fields that an action does not use are empty.
type Request struct {
	Do          string `json:"do"`
	Scheme      string `json:"scheme"`
	LogN        int    `json:"log_n"`
	LogQ        []int  `json:"log_q"`
	LogP        []int  `json:"log_p"`
	LogScale    int    `json:"log_scale"`
	Rotations   []int  `json:"rotations"`
	Op          string `json:"op"`
	Repetitions int    `json:"repetitions"`
}

// Answer has a failure or the measured numbers.
type Answer struct {
	Failure string  `json:"failure,omitempty"`
	Version string  `json:"version,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
	LogQ    float64 `json:"log_q,omitempty"`
	LogP    float64 `json:"log_p,omitempty"`
	Digits  int     `json:"digits,omitempty"`
	// Milliseconds of each repetition.
	Ms []float64 `json:"ms,omitempty"`
	// Largest error of a decrypted slot; wrong slots for exact schemes.
	Error float64 `json:"error"`
	// Bits of precision of a bootstrapping, in the worst slot and on average.
	PrecisionMin  float64 `json:"precision_min,omitempty"`
	PrecisionMean float64 `json:"precision_mean,omitempty"`
	LevelsLeft    int     `json:"levels_left,omitempty"`
	PeakGiB       float64 `json:"peak_gib,omitempty"`
}

// Side is a prepared parameter set.
type Side interface {
	// Measure runs `op` `repetitions` times.
	Measure(op string, repetitions int) (Answer, error)
}

func main() {
	runtime.GOMAXPROCS(1)
	var side Side
	input := bufio.NewScanner(os.Stdin)
	output := json.NewEncoder(os.Stdout)
	for input.Scan() {
		var request Request
		answer, err := Answer{}, json.Unmarshal(input.Bytes(), &request)
		if err == nil {
			answer, err = handle(&side, &request)
		}
		if err != nil {
			answer.Failure = err.Error()
		}
		answer.PeakGiB = peakGiB()
		if err := output.Encode(answer); err != nil {
			os.Exit(1)
		}
	}
}

func handle(side *Side, request *Request) (answer Answer, err error) {
	switch request.Do {
	case "hello":
		answer.Version = version()
	case "prepare":
		start := time.Now()
		*side = nil
		runtime.GC()
		switch request.Scheme {
		case "ckks":
			*side, answer, err = newCkks(request)
		case "bgv":
			*side, answer, err = newBgv(request)
		case "bootstrapping":
			*side, answer, err = newBootstrapping()
		case "ntt":
			*side, answer, err = newTransform(request)
		default:
			err = fmt.Errorf("unknown scheme %q", request.Scheme)
		}
		answer.Seconds = time.Since(start).Seconds()
	case "measure":
		if *side == nil {
			return answer, fmt.Errorf("no parameter set is prepared for %q", request.Op)
		}
		return (*side).Measure(request.Op, request.Repetitions)
	default:
		err = fmt.Errorf("unknown action %q", request.Do)
	}
	return
}

// peakGiB is the peak memory of this process.
func peakGiB() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(status), "\n") {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == "VmHWM:" {
			kib, _ := strconv.ParseFloat(fields[1], 64)
			return kib / (1 << 20)
		}
	}
	return 0
}
