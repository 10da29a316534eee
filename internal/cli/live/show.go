// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/utils/clock"
)

// refresh is how often a look is taken without a change: time alone makes a pod available, and moves ages.
const refresh = time.Second

// Frame is one look at what is shown.
type Frame struct {
	// Lines are the whole picture, at most width wide and height high (0 is no limit). For terminals.
	Lines func(width, height int) []string
	// News are what is new since the last frame. For everything else.
	News func() []string
}

// Show looks at once and after each change until look says that it is done, fails, or the
// context ends. On a terminal each frame replaces the last, at most once in Pace; elsewhere its
// news are appended, each with the time of day in front.
func Show(
	ctx context.Context, t Terminal, clk clock.WithTicker, changed <-chan struct{}, look func(now time.Time) (Frame, bool, error),
) (err error) {
	if !t.Interactive {
		return Loop{Clock: clk, Refresh: refresh}.Run(ctx, changed, func(now time.Time) (bool, error) {
			frame, done, err := look(now)
			if err != nil {
				return false, err
			}
			for _, line := range frame.News() {
				if _, err := fmt.Fprintf(t.Out, "%s %s\n", now.Format(time.TimeOnly), line); err != nil {
					return false, fmt.Errorf("writing: %w", err)
				}
			}
			return done, nil
		})
	}
	screen := NewScreen(t.Out)
	defer func() { err = errors.Join(err, screen.Close()) }()
	return Loop{Clock: clk, Pace: Pace, Refresh: refresh}.Run(ctx, changed, func(now time.Time) (bool, error) {
		frame, done, err := look(now)
		if err != nil {
			return false, err
		}
		width, height := t.Size()
		// The line behind the picture is the terminal's last one: nothing scrolls.
		return done, screen.Draw(frame.Lines(width, max(height-1, 0)))
	})
}
