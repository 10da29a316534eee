// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
)

func TestLoopPace(t *testing.T) {
	ms := time.Millisecond
	for sentence, test := range map[string]struct {
		loop    Loop
		changes []time.Duration
		want    []time.Duration
	}{
		"it draws at once, and never again without a change": {
			Loop{Pace: 200 * ms}, nil, []time.Duration{0}},
		"a change long after the last drawing is drawn at once": {
			Loop{Pace: 200 * ms}, []time.Duration{500 * ms}, []time.Duration{0, 500 * ms}},
		"changes soon after a drawing wait and become one": {
			Loop{Pace: 200 * ms}, []time.Duration{10 * ms, 20 * ms, 190 * ms, 210 * ms}, []time.Duration{0, 200 * ms, 400 * ms}},
		"without a pace each change is drawn": {
			Loop{}, []time.Duration{10 * ms, 20 * ms}, []time.Duration{0, 10 * ms, 20 * ms}},
		"it refreshes when nothing changes": {
			Loop{Pace: 200 * ms, Refresh: 300 * ms}, []time.Duration{1300 * ms}, []time.Duration{0, 500 * ms, 1000 * ms, 1300 * ms, 1800 * ms}},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				test.loop.Clock = clock.RealClock{}
				start := time.Now()
				ctx, cancel := context.WithDeadline(t.Context(), start.Add(1900*ms))
				defer cancel()
				changed := make(chan struct{}, 1)
				go func() {
					for _, at := range test.changes {
						time.Sleep(time.Until(start.Add(at)))
						select {
						case changed <- struct{}{}:
						default:
						}
					}
				}()
				var got []time.Duration
				err := test.loop.Run(ctx, changed, func(now time.Time) (bool, error) {
					got = append(got, now.Sub(start))
					return false, nil
				})
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("error %v, want the context's", err)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("drawings (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestLoopEnds(t *testing.T) {
	broken := errors.New("broken")
	for sentence, test := range map[string]struct {
		done      bool
		err, want error
	}{
		"when the drawing is done":      {done: true},
		"with the error of the drawing": {err: broken, want: broken},
		"done and broken is broken":     {done: true, err: broken, want: broken},
	} {
		t.Run(sentence, func(t *testing.T) {
			err := Loop{Clock: clock.RealClock{}}.Run(t.Context(), nil, func(time.Time) (bool, error) { return test.done, test.err })
			if !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
		})
	}
}
