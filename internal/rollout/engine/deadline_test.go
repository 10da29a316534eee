// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"
	"time"

	"k8s.io/utils/ptr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// A rollout that hangs is given up after its deadline. What it waits for in between takes none of that time, and gives none back.
func TestWaitingTakesNoTimeOfTheDeadlineAndGivesNoneBack(t *testing.T) {
	between := func(from, to time.Duration, set func(*cluster, bool)) func(*cluster) {
		return func(c *cluster) {
			at := c.now.Sub(start)
			set(c, at >= from && at < to)
		}
	}
	pause := func(c *cluster, is bool) {
		if c.world.Rollout.Plan.Paused != is {
			c.edit(func(r *Rollout) { r.Plan.Paused = is })
		}
	}
	for sentence, c := range map[string]struct {
		each func(*cluster)
		// want is when it is given up, within a few seconds of the model.
		want time.Duration
	}{
		"nothing in between":      {func(*cluster) {}, 600 * time.Second},
		"paused once":             {between(400*time.Second, 1400*time.Second, pause), 1600 * time.Second},
		"paused at once":          {between(0, 1000*time.Second, pause), 1600 * time.Second},
		"paused again and again":  {func(c *cluster) { pause(c, int(c.now.Sub(start).Seconds())/100%2 == 1) }, 1200 * time.Second},
		"progress begins it anew": {after(400*time.Second, func(c *cluster) { c.world.Target.UpdatedAvailable = 1 }), 1000 * time.Second},
		"also behind a pause":     {all(between(300*time.Second, 400*time.Second, pause), after(500*time.Second, func(c *cluster) { c.world.Target.UpdatedAvailable = 1 })), 1100 * time.Second},
		"pods that are available for a moment, again and again": {func(c *cluster) { c.world.Target.UpdatedAvailable = int(c.now.Sub(start).Seconds()) / 30 % 2 }, 630 * time.Second},
		"pods that come and go": {func(c *cluster) {
			c.world.Target.Updated = min(c.world.Target.Updated, int(c.now.Sub(start).Seconds())/30%3)
		}, 660 * time.Second},
		"a status without a count": {func(c *cluster) { c.world.Rollout.Status.StillSeconds = 0 }, 600 * time.Second},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld()
			w.Rollout.Plan.RolloutBatches = batchesOf(4, nil)
			played := newCluster(w)
			played.broken = true
			var given time.Duration
			played.run(time.Hour, func(now *cluster) {
				c.each(now)
				if given == 0 && now.in(Failing) {
					given = now.now.Sub(start)
				}
			})
			if !played.in(Failed) || given < c.want || given > c.want+15*time.Second {
				t.Errorf("it is in %s, and was given up after %s, want %s", StateOf(&played.world.Rollout.Status), given, c.want)
			}
		})
	}
}

// after runs something the first time that a story is so old.
func after(age time.Duration, do func(*cluster)) func(*cluster) {
	said := false
	return func(c *cluster) {
		if !said && c.now.Sub(start) >= age {
			said = true
			do(c)
		}
	}
}

func TestARetryHasTheWholeDeadline(t *testing.T) {
	w := newWorld()
	w.Rollout.Plan.FailurePolicy = rolloutv1alpha1.PauseOnFailure
	w.Rollout.Status = started(BatchVerifying)
	w.Rollout.Status.StillSeconds, w.Rollout.Status.WaitingFor = 500, rolloutv1alpha1.WaitingForPerson
	w.Rollout.Status.Failure = &rolloutv1alpha1.RolloutFailure{Reason: "DeadlineMissed", Message: "late", Generation: 1}
	w.Rollout.Annotations = map[string]string{rolloutv1alpha1.AnnotationRetry: w.Rollout.Status.Take()}
	w.Target.Asked, w.Target.Updated = 3, 3
	w.Rollout.Plan.ProgressDeadlineSeconds = ptr.To[int32](600)
	if p := Next(w, start.Add(time.Hour)); p.Status.StillSeconds != 0 || p.LookAgain != 600*time.Second {
		t.Errorf("%d s are used up, and it looks again in %s", p.Status.StillSeconds, p.LookAgain)
	}
}
