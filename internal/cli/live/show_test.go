// SPDX-License-Identifier: Apache-2.0

package live

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
)

func numbered(n *int, last int) func(time.Time) (Frame, bool, error) {
	return func(time.Time) (Frame, bool, error) {
		*n++
		i := *n
		return Frame{
			Lines: func(width, height int) []string { return []string{fmt.Sprintf("frame %d of %dx%d", i, width, height)} },
			News:  func() []string { return []string{fmt.Sprintf("news %d", i), "more"} },
		}, i == last, nil
	}
}

func TestShowOnATerminalReplaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		n := 0
		term := Terminal{Out: &out, Interactive: true, Size: func() (int, int) { return 80, 24 }}
		if err := Show(t.Context(), term, clock.RealClock{}, make(chan struct{}), numbered(&n, 3)); err != nil {
			t.Fatal(err)
		}
		got, hidden := emulate(t, out.String())
		if diff := cmp.Diff([]string{"frame 3 of 80x23"}, got); diff != "" || hidden {
			t.Errorf("cursor hidden: %t; terminal (-want +got):\n%s", hidden, diff)
		}
	})
}

func TestShowElsewhereAppends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		n := 0
		changed := make(chan struct{}, 1)
		changed <- struct{}{}
		at := time.Now().Format(time.TimeOnly)
		if err := Show(t.Context(), Terminal{Out: &out}, clock.RealClock{}, changed, numbered(&n, 2)); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("%[1]s news 1\n%[1]s more\n%[1]s news 2\n%[1]s more\n", at)
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("lines (-want +got):\n%s", diff)
		}
	})
}

func TestShowGivesTheErrorOfTheLook(t *testing.T) {
	gone := errors.New("gone")
	for _, interactive := range []bool{true, false} {
		var out bytes.Buffer
		term := Terminal{Out: &out, Interactive: interactive, Size: func() (int, int) { return 0, 0 }}
		err := Show(t.Context(), term, clock.RealClock{}, nil, func(time.Time) (Frame, bool, error) { return Frame{}, false, gone })
		if !errors.Is(err, gone) {
			t.Errorf("interactive %t: error %v, want %v", interactive, err, gone)
		}
	}
}
