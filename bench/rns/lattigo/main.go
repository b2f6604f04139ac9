// The peer Lattigo, driven over its standard streams: one JSON request a line in, one JSON answer a line out.
//
// A request prepares a parameter set (keys, ciphertexts) or measures one operation of the set that was prepared last.
// Every measured operation is decrypted and compared with the same computation in the clear.
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

// Request is what the harness asks. Fields that an action does not use stay empty.
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

// Answer is what comes back: a failure, or the figures of what was done.
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
	// Bits of precision of the worst slot and on average, of a bootstrapping.
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
			err = fmt.Errorf("there is no scheme %q here", request.Scheme)
		}
		answer.Seconds = time.Since(start).Seconds()
	case "measure":
		if *side == nil {
			return answer, fmt.Errorf("nothing is prepared to measure %q on", request.Op)
		}
		return (*side).Measure(request.Op, request.Repetitions)
	default:
		err = fmt.Errorf("there is no action %q here", request.Do)
	}
	return
}

// peakGiB is the most memory that this process has held.
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
