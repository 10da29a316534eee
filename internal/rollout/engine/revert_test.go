// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// hanging are rollouts that revert by what begins it, and whose version from before is broken, too.
func hanging() map[string]*cluster {
	all := map[string]*cluster{}
	for mode, w := range map[string]World{"in place": newWorld(), "two objects": twoObjects(10), "a scale": scaling(20, 5)} {
		w.Rollout.Plan.FailurePolicy = rolloutv1alpha1.RevertOnFailure
		all[mode] = newCluster(w)
	}
	return all
}

// spoils has neither version become available any more once it reverts; and says when to do so.
func spoils(c *cluster, deleted bool) {
	if s := &c.world.Rollout.Status; c.in(BatchVerifying) && s.CurrentBatch == 2 {
		if deleted {
			c.world.Rollout.Deleting, c.world.Rollout.RevertOnDelete = true, true
		} else {
			c.world.Rollout.Annotations = map[string]string{rolloutv1alpha1.AnnotationRevert: s.Take()}
		}
	}
	if c.in(Failing) || c.in(Deleting) {
		c.broken = true
		for _, s := range []Side{Target, Source} {
			if w := c.side(s); w != nil {
				w.Available, w.UpdatedAvailable, w.Ready = 0, 0, 0
			}
		}
		if c.world.Source != nil {
			c.world.Source.Seen = false // nothing comes of what is asked for
		}
		if c.world.Rollout.Status.Running.Mode == rolloutv1alpha1.ScaleMode {
			c.world.Target.Seen = false
		}
	}
}

func TestARevertThatHangsSaysSoAndAPersonCanEndIt(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		for mode, c := range hanging() {
			t.Run(map[bool]string{true: "deleted, ", false: ""}[deleted]+mode, func(t *testing.T) {
				var stalled, aborted time.Duration
				c.run(time.Hour, func(c *cluster) {
					spoils(c, deleted)
					s := &c.world.Rollout.Status
					since := c.now.Sub(start)
					if stalled == 0 && conditionIs(*s, rolloutv1alpha1.ConditionStalled, "RevertStalled") {
						stalled = since
						if !contains(s.Message, "the revert has made no progress for 10m0s") || !contains(s.Message, "slipway rollout abort") {
							t.Errorf("it does not say what to do: %s", s.Message)
						}
					}
					if since > 1000*time.Second && aborted == 0 {
						aborted = since
						if !c.in(Failing) && !c.in(Deleting) || !c.world.Target.Held {
							t.Errorf("it has ended by itself, in %s", StateOf(s))
						}
						c.world.Rollout.Annotations = map[string]string{rolloutv1alpha1.AnnotationAbort: s.Take()}
					}
				})
				if stalled < 600*time.Second || stalled > 700*time.Second {
					t.Errorf("it says so after %s", stalled)
				}
				if c.world.Target.Held || deleted != c.gone || !deleted && !c.in(Failed) {
					t.Errorf("it is in %s, held %t, gone %t:\n%s", StateOf(&c.world.Rollout.Status), c.world.Target.Held, c.gone, c.transcript())
				}
				if !contains(c.transcript(), "a person has ended the revert") {
					t.Errorf("nobody is told:\n%s", c.transcript())
				}
			})
		}
	}
}

func TestARevertThatGoesOnIsNotStalled(t *testing.T) {
	w := newWorld()
	w.Rollout.Plan.ProgressDeadlineSeconds = ptr.To[int32](30)
	c := newCluster(w)
	steps := 0
	c.run(time.Hour, func(c *cluster) {
		s := &c.world.Rollout.Status
		if c.in(BatchVerifying) && s.CurrentBatch == 2 {
			c.world.Rollout.Annotations = map[string]string{rolloutv1alpha1.AnnotationRevert: s.Take()}
		}
		if w := &c.world.Target; c.in(Failing) && w.Template == w.Before.Template { // a pod every 20 seconds
			steps++
			w.Updated, w.UpdatedAvailable = min(w.Asked, steps/20), min(w.Asked, steps/20)
		}
		if conditionIs(*s, rolloutv1alpha1.ConditionStalled, "RevertStalled") {
			t.Errorf("it is stalled: %s", s.Message)
		}
	})
	if !c.in(Failed) || steps < 100 {
		t.Errorf("it is in %s after %d looks", StateOf(&c.world.Rollout.Status), steps)
	}
}

func TestARevertWhosePodsComeBackForAMomentIsStalled(t *testing.T) {
	w := newWorld()
	w.Rollout.Plan.ProgressDeadlineSeconds = ptr.To[int32](30)
	c := newCluster(w)
	steps, stalled := 0, false
	c.run(10*time.Minute, func(c *cluster) {
		s := &c.world.Rollout.Status
		if c.in(BatchVerifying) && s.CurrentBatch == 2 {
			c.world.Rollout.Annotations = map[string]string{rolloutv1alpha1.AnnotationRevert: s.Take()}
		}
		if w := &c.world.Target; c.in(Failing) && w.Template == w.Before.Template { // one for ten seconds, and none for ten
			steps++
			w.Updated, w.UpdatedAvailable = steps/10%2, steps/10%2
		}
		stalled = stalled || conditionIs(*s, rolloutv1alpha1.ConditionStalled, "RevertStalled")
	})
	if !stalled || steps < 100 {
		t.Errorf("stalled is %t after %d looks:\n%s", stalled, steps, c.transcript())
	}
}

func TestARevertWithoutADeadlineIsNeverStalled(t *testing.T) {
	w := newWorld()
	w.Rollout.Plan.ProgressDeadlineSeconds = ptr.To[int32](0)
	w.Rollout.Status = started(Failing)
	w.Rollout.Status.Ending, w.Rollout.Status.WaitingFor = rolloutv1alpha1.RevertEnding, rolloutv1alpha1.WaitingForPods
	w.Rollout.Status.LastProgressTime = &metav1.Time{Time: start}
	w.Target.Template = "old"
	if p := Next(w, start.Add(24*time.Hour)); conditionIs(p.Status, rolloutv1alpha1.ConditionStalled, "RevertStalled") {
		t.Errorf("it is stalled: %s", p.Status.Message)
	}
}

// A template that a person sets while a rollout brings back another one is newer than that.
func TestATemplateThatIsSetDuringARevertIsNotOverwritten(t *testing.T) {
	for sentence, c := range map[string]struct {
		template string
		back     bool // the template from before is there already
		deleting bool
		want     bool // it is brought back
	}{
		"the new version, and nothing was done yet":     {"new", false, false, true},
		"another one, before anything was done":         {"newest", false, false, false},
		"another one, afterwards":                       {"newest", true, false, false},
		"the new version once more":                     {"new", true, false, false},
		"deleted: nothing was done yet":                 {"new", false, true, true},
		"deleted: another one, before anything is done": {"newest", false, true, false},
		"deleted: another one, afterwards":              {"newest", true, true, false},
		"deleted: the new version once more":            {"new", true, true, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld()
			w.Rollout.Status = started(Failing)
			if c.deleting {
				w.Rollout.Status.RollingState = rolloutv1alpha1.RolloutDeletingState
			}
			w.Rollout.Status.Ending = rolloutv1alpha1.RevertEnding
			w.Rollout.Deleting, w.Rollout.RevertOnDelete = c.deleting, c.deleting
			w.Target.Template, w.Target.Before.Back = c.template, c.back
			w.Target.Asked, w.Target.Updated = 3, 0
			played := newCluster(w)
			played.world.Target.Held, played.world.Rollout.Finalizer = true, true
			brought := false
			played.run(time.Minute, func(c *cluster) {
				for _, a := range Next(c.observed(), c.now).Actions {
					if _, is := a.(BringBack); is {
						brought = true
					}
				}
			})
			if brought != c.want {
				t.Errorf("it is brought back: %t, want %t:\n%s", brought, c.want, played.transcript())
			}
			switch {
			case c.deleting && !played.gone:
				t.Errorf("it is still there:\n%s", played.transcript())
			case !c.deleting && !c.want && !played.in(Succeeded):
				t.Errorf("what is newer is not rolled out: it is in %s:\n%s", StateOf(&played.world.Rollout.Status), played.transcript())
			}
		})
	}
}
