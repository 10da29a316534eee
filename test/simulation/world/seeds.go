// SPDX-License-Identifier: Apache-2.0

package world

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"slipway.dev/slipway/test/golden"
)

var (
	seeds         = flag.Uint64("seeds", 0, "how many random stories TestRandom plays; 0 plays as many as the package has chosen")
	oneSeed       = flag.Uint64("seed", 0, "play and tell this story only; 0 plays many")
	fromSeed      = flag.Uint64("from", 1, "the first seed of TestRandom")
	maxFail       = flag.Int("failures", 5, "stop after so many failing stories")
	tail          = flag.Int("tail", 40, "how many lines of a failing story are shown")
	mutationSeeds = flag.Uint64("mutation-seeds", 0, "within how many stories of its theme a mutation must be caught; 0 is as many as the package has chosen")
)

// Main runs the tests of a package of stories. A story makes much garbage and keeps little, so collecting less often makes thousands of
// them a third faster. Loggers that wait to be told where to write are kept for ever, so they are told.
func Main(m *testing.M) {
	log.SetLogger(logr.Discard())
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// Player plays the story of a seed and returns the first violation. It tells what happens, if tell is not nil.
type Player func(seed uint64, tell func(format string, args ...any)) error

const (
	// usual is how many stories a package plays that chooses no other number.
	usual = 3000
	// usualMutation is within how many of them a mutation must be caught.
	usualMutation = 100
)

// PlayMany plays many stories, as the flags say. A failing one is played again, to be told.
func PlayMany(t *testing.T, play Player) {
	t.Helper()
	PlayAbout(t, usual, play)
}

// PlayAbout is PlayMany for stories that take another time: it plays so many when the flags do not say how many.
func PlayAbout(t *testing.T, count uint64, play Player) {
	t.Helper()
	if *seeds != 0 {
		count = *seeds
	}
	if *oneSeed != 0 {
		if err := play(*oneSeed, t.Logf); err != nil {
			t.Errorf("seed %d: %v", *oneSeed, err)
		}
		return
	}
	var failures atomic.Int64
	shards := uint64(runtime.GOMAXPROCS(0))
	for shard := range shards {
		t.Run(fmt.Sprintf("shard %d of %d", shard+1, shards), func(t *testing.T) {
			t.Parallel()
			for seed := *fromSeed + shard; seed < *fromSeed+count && failures.Load() < int64(*maxFail); seed += shards {
				if err := play(seed, nil); err != nil {
					failures.Add(1)
					t.Errorf("seed %d: %v\n%s", seed, err, lastLines(play, seed, *tail))
				}
			}
		})
	}
}

// lastLines plays a story again and returns its end.
func lastLines(play Player, seed uint64, count int) string {
	var lines []string
	_ = play(seed, func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) })
	if left := len(lines) - count; left > 0 {
		lines = append([]string{fmt.Sprintf("(%d lines before)", left)}, lines[left:]...)
	}
	return strings.Join(lines, "\n")
}

// PlayTwice plays some stories twice: a seed that tells another story each time would be of no use to anybody.
func PlayTwice(t *testing.T, play Player) {
	t.Helper()
	for seed := range uint64(20) {
		first, second := lastLines(play, seed, 1<<20), lastLines(play, seed, 1<<20)
		if diff := cmp.Diff(strings.Split(first, "\n"), strings.Split(second, "\n")); diff != "" {
			t.Errorf("seed %d tells two stories (-first +second):\n%s", seed, diff)
		}
	}
}

// CompareGolden compares a transcript with the one that is checked in as testdata/<name>.golden, or writes that one.
func CompareGolden(t *testing.T, name, got string) {
	t.Helper()
	golden.Text(t, name+".golden", got)
}

// Catch plays stories with a fault in the manager until one breaks the rule that the fault offends: until a violation has one of the
// words.
func Catch(t *testing.T, play func(seed uint64) error, words []string) {
	t.Helper()
	CatchWithin(t, usualMutation, play, words)
}

// CatchWithin is Catch for faults that few stories show: it plays so many when the flags do not say how many.
func CatchWithin(t *testing.T, count uint64, play func(seed uint64) error, words []string) {
	t.Helper()
	if *mutationSeeds != 0 {
		count = *mutationSeeds
	}
	others := map[string]int{}
	for seed := uint64(1); seed <= count; seed++ {
		err := play(seed)
		if err == nil {
			continue
		}
		for _, w := range words {
			if strings.Contains(err.Error(), w) {
				t.Logf("seed %d: %v", seed, err)
				return
			}
		}
		others[err.Error()]++
	}
	t.Errorf("no story of %d shows the fault by its rule; it shows by others: %v", count, others)
}
