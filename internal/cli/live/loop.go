// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"time"

	"k8s.io/utils/clock"
)

// Pace is the least time between two drawings on a terminal: five times a second.
const Pace = 200 * time.Millisecond

// Loop calls draw at once, then after changes, until draw says that it is done.
type Loop struct {
	Clock clock.WithTicker
	// Pace is the least time between two drawings; changes meanwhile become one drawing.
	Pace time.Duration
	// Refresh draws again after that time without a change, since ages go on; 0 never does.
	Refresh time.Duration
}

// Run returns nil when draw was done, draw's error, or the context's error when it ended.
func (l Loop) Run(ctx context.Context, changed <-chan struct{}, draw func(now time.Time) (done bool, err error)) error {
	for {
		now := l.Clock.Now()
		if done, err := draw(now); done || err != nil {
			return err
		}
		if err := l.pause(ctx, l.Pace-l.Clock.Since(now)); err != nil {
			return err
		}
		var idle <-chan time.Time
		var timer clock.Timer
		if l.Refresh > 0 {
			timer = l.Clock.NewTimer(l.Refresh)
			idle = timer.C()
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-idle:
		}
		if timer != nil {
			timer.Stop()
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

func (l Loop) pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := l.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C():
		return nil
	}
}
