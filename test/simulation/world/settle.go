// SPDX-License-Identifier: Apache-2.0

package world

import (
	"fmt"
	"time"

	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/test/simulation/api"
)

const (
	// patience is how many things may happen before a calm world must have come to rest.
	patience = 20000
	// horizon is how far the clock is moved while waiting for that. It is beyond every deadline that a set can have here.
	horizon = 2 * time.Hour
	// quiet is how long the manager must leave pods and revisions alone for the world to be at rest although pods still crash. It is
	// longer than any deadline here.
	quiet = 15 * time.Minute
)

// Settle lets things happen, without new mischief, until nothing happens by itself any more. Pods that crash for ever and
// deadlines that are far away do not count as something that happens: only what the manager does to pods and revisions counts.
func (s *Story) Settle() error {
	s.Calm = true
	defer func() { s.Calm = false }()
	start, quietSince, judged := s.Clock.Now(), s.Clock.Now(), len(s.Server.Log())
	for range patience {
		if err := s.Bench.Violation(); err != nil {
			return err
		}
		for _, w := range s.Server.Log()[judged:] {
			if w.Actor == Actor && !tells(w) {
				quietSince = s.Clock.Now()
			}
		}
		judged = len(s.Server.Log())
		if s.Next() {
			continue
		}
		at, some := s.NextAlarm()
		if !some || s.Clock.Now().Sub(quietSince) > quiet {
			return nil
		}
		if at.Sub(start) > horizon {
			return fmt.Errorf("the world does not come to rest within %s: the manager still writes; %s", horizon, s.Summary())
		}
		s.Advance(max(at.Sub(s.Clock.Now()), 0))
	}
	return fmt.Errorf("the world does not come to rest within %d steps; %s", patience, s.Summary())
}

// tells tells whether a write only says how things are, in the status of what has pods.
func tells(w api.Write) bool { return w.Subresource == api.Status && w.Kind != api.Pods }

// ending stops the mischief, sometimes watches an unhealthy release come to a standstill, makes the last edit, and expects that
// the set becomes what was asked for.
func (s *Story) ending() error {
	if s.Random.IntN(3) == 0 && s.Set() != nil {
		s.Tell("-- the storm is over; whatever was asked for last must come to a standstill")
		users, watch := s.users.(Watchful)
		if watch {
			users.Calms()
		}
		if err := s.Settle(); err != nil {
			return fmt.Errorf("coming to a standstill: %w", err)
		}
		if watch {
			if err := users.StandsStill(); err != nil {
				return fmt.Errorf("at a standstill: %w; %s", err, s.Summary())
			}
		}
	}
	if s.Set() != nil && (s.Random.IntN(3) == 0 || s.About(Hooked) && s.Random.IntN(2) == 0) {
		if err := s.overtaken(); err != nil {
			return err
		}
	}
	s.Tell("-- the last edit")
	s.users.LastEdit()
	if err := s.Settle(); err != nil {
		return fmt.Errorf("converging: %w", err)
	}
	if err := s.users.Converged(); err != nil {
		return fmt.Errorf("after everything has settled: %w; %s", err, s.Summary())
	}
	if err := s.undisturbed(); err != nil {
		return fmt.Errorf("after everything has settled: %w; %s", err, s.Summary())
	}
	return nil
}

// undisturbed reconciles a settled world once more, also with a new process: the plan must be empty, and nothing may be written.
func (s *Story) undisturbed() error {
	for _, fresh := range []bool{false, true} {
		if fresh {
			s.Manager.Start(nil)
		}
		before := len(s.Server.Log())
		planned, steps := false, []step.Step(nil)
		s.Manager.OnPlan = func(p Plan) { planned, steps = true, append(steps, p.Steps...) }
		s.Manager.queueAll()
		for queued := s.Manager.Queued(); len(queued) > 0; queued = queued[1:] {
			if err := s.Manager.reconcile(queued[0], fault{}); err != nil {
				return err
			}
		}
		switch {
		case !planned:
			return fmt.Errorf("a settled set is not looked at")
		case len(steps) > 0:
			return fmt.Errorf("a settled set gets a plan: %T of %s, because %s", steps[0], steps[0].Subject(), steps[0].Why())
		case len(s.Server.Log()) > before:
			w := s.Server.Log()[before]
			return fmt.Errorf("a settled set is written to: %s of %s %s", w.Verb, w.Kind, w.After.GetName())
		}
	}
	return nil
}

// overtaken begins a release that the last edit overtakes, as soon as a pod is on its way.
func (s *Story) overtaken() error {
	s.Tell("-- a release that will be overtaken")
	s.Edits, s.Misfortunes, s.Deaths = 0, 0, 0
	s.users.Overtake()
	for range stormSteps {
		if _, preparing := s.Preparing(); preparing || !s.Next() {
			break
		}
		if s.Bench.Violation() != nil {
			break
		}
	}
	return s.Bench.Violation()
}
