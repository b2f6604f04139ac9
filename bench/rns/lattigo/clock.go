package main

import (
	"runtime"
	"time"
)

// once returns the milliseconds of one call.
func once(work func() error) (float64, error) {
	start := time.Now()
	err := work()
	return time.Since(start).Seconds() * 1e3, err
}

// timed returns the milliseconds of each of `repetitions` calls, after one warm-up call.
func timed(repetitions int, work func() error) (ms []float64, err error) {
	if err = work(); err != nil {
		return nil, err
	}
	runtime.GC()
	for i := 0; i < repetitions; i++ {
		one, err := once(work)
		if err != nil {
			return nil, err
		}
		ms = append(ms, one)
	}
	return ms, nil
}
