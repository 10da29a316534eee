// SPDX-License-Identifier: Apache-2.0

package campaign

import (
	"context"
	"errors"
	"time"
)

// asked is how many requests the managers have sent.
func (s *story) asked() int64 {
	var n int64
	for _, m := range s.managers {
		n += m.proxy.Requests()
	}
	return n
}

// until tries until it works, for so long.
func (s *story) until(ctx context.Context, long time.Duration, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		if !pause(ctx, lookEvery) {
			return errors.Join(ctx.Err(), err)
		}
	}
}

// pause waits, and is false when ctx ends before.
func pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
