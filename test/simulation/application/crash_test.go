// SPDX-License-Identifier: Apache-2.0

package application

import "testing"

// TestAManagerMayDieAfterEachWrite releases a second version again and again, and has the manager die after another one of its writes
// each time. What comes of it is the same.
func TestAManagerMayDieAfterEachWrite(t *testing.T) {
	for _, kind := range []string{inPlace, apart} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			for dies := 0; ; dies++ {
				s := newWorld(Hooks{}, false)
				died, err := s.dying(kind, dies)
				if err == nil {
					err = s.ends(story{ends: "4 v2"}, kind)
				}
				if err != nil {
					t.Fatalf("it dies after write %d: %v\n%s", dies+1, err, s.transcript())
				}
				if !died { // it was done before it could
					if dies < 20 {
						t.Errorf("there are %d writes", dies)
					}
					return
				}
			}
		})
	}
}

// dying makes two releases. In the second one the manager dies after a write, from 0, for an application or a rollout.
func (s *simulation) dying(kind string, dies int) (died bool, err error) {
	if err := first(s, kind); err != nil {
		return false, err
	}
	s.releases("v2")
	s.Look = func() error {
		if died || s.Manager.Queued()[0].Controller > 1 {
			return s.Manager.Reconcile()
		}
		starts, before := s.Manager.Starts, len(s.Server.Log())
		err := s.Manager.CrashAt(dies)
		died = s.Manager.Starts > starts
		dies -= len(s.Server.Log()) - before
		return err
	}
	err = s.Rest()
	return died, err
}
