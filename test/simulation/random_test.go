// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"flag"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	seeds    = flag.Uint64("seeds", 3000, "how many random stories TestRandom plays")
	oneSeed  = flag.Uint64("seed", 0, "play and tell this story only; 0 plays many")
	fromSeed = flag.Uint64("from", 1, "the first seed of TestRandom")
	maxFail  = flag.Int("failures", 5, "stop after so many failing stories")
	tail     = flag.Int("tail", 40, "how many lines of a failing story are shown")
)

// TestRandom plays many stories. A failing one is played again, to be told.
func TestRandom(t *testing.T) {
	if *oneSeed != 0 {
		if err := Run(*oneSeed, Hooks{}, t.Logf); err != nil {
			t.Errorf("seed %d: %v", *oneSeed, err)
		}
		return
	}
	var failures atomic.Int64
	shards := uint64(runtime.GOMAXPROCS(0))
	for shard := range shards {
		t.Run(fmt.Sprintf("shard %d of %d", shard+1, shards), func(t *testing.T) {
			t.Parallel()
			for seed := *fromSeed + shard; seed < *fromSeed+*seeds && failures.Load() < int64(*maxFail); seed += shards {
				if err := Run(seed, Hooks{}, nil); err != nil {
					failures.Add(1)
					t.Errorf("seed %d: %v\n%s", seed, err, lastLines(seed, Hooks{}, *tail))
				}
			}
		})
	}
}

// lastLines plays a story again and returns its end.
func lastLines(seed uint64, hooks Hooks, count int) string {
	var lines []string
	_ = Run(seed, hooks, func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) })
	if left := len(lines) - count; left > 0 {
		lines = append([]string{fmt.Sprintf("(%d lines before)", left)}, lines[left:]...)
	}
	return strings.Join(lines, "\n")
}

// A seed that tells another story each time would be of no use to anybody.
func TestTheSameSeedTellsTheSameStory(t *testing.T) {
	for seed := range uint64(20) {
		first, second := lastLines(seed, Hooks{}, 1<<20), lastLines(seed, Hooks{}, 1<<20)
		if diff := cmp.Diff(strings.Split(first, "\n"), strings.Split(second, "\n")); diff != "" {
			t.Errorf("seed %d tells two stories (-first +second):\n%s", seed, diff)
		}
	}
}
