// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/cli/feed"
	"slipway.dev/slipway/internal/cli/sets"
	"slipway.dev/slipway/test/audit"
)

const (
	// releaseTime bounds every release of the demo.
	releaseTime = 5 * time.Minute
	// stillness is how long a release that is held up is watched, to see that nothing more is touched.
	stillness = 5 * time.Second
)

// release is the scenario's state.
type release struct {
	*stage
	subject
	watch   followed
	changed feed.Signal
	witness *witness
	set     client.Object
	shown   *sets.View
	broken  []string
	// released are the resourceVersions of the set right after each change of its image.
	released []string
}

// inPlace releases a good image, then a broken one, then rolls forward.
func inPlace(of subject) play {
	return func(ctx context.Context, s *stage) ([]string, error) {
		ctx, cancel := context.WithCancel(ctx) // ends the watches
		defer cancel()
		r := &release{stage: s, subject: of, changed: feed.NewSignal()}
		if err := r.create(ctx); err != nil {
			return nil, err
		}

		s.begin("A new image, %s1.28: in place, so that every pod keeps its UID and its IP%s", image, of.told.good)
		if err := r.good(ctx, image+"1.28"); err != nil {
			return nil, err
		}
		first := r.released[0]
		s.begin("A broken image, %sbroken: it never becomes ready, so the release has to stop by itself", image)
		if err := r.bad(ctx, image+"broken"); err != nil {
			return nil, err
		}
		s.begin("Roll forward to %s1.29: a newer image takes over at once, the broken pods first%s", image, of.told.fix)
		if err := r.good(ctx, image+"1.29"); err != nil {
			return nil, err
		}
		err := r.judgeWhole(ctx, first)
		return r.broken, err
	}
}

func (r *release) create(ctx context.Context) (err error) {
	r.begin("%s", r.told.create)
	if err := reset(ctx, r.client); err != nil {
		return err
	}
	if r.witness, err = newWitness(r.audit); err != nil {
		return err
	}
	r.set = r.fresh()
	if err := r.client.Create(ctx, r.set); err != nil {
		return fmt.Errorf("creating %s %s: %w", r.kind, r.key(), err)
	}
	if r.watch, err = r.watched(ctx, r.client, r.key(), r.changed, r.witness.see); err != nil {
		return err
	}
	if _, err = r.follow(ctx, releaseTime, sets.View.Settled); err != nil {
		return fmt.Errorf("waiting for the first pods: %w", err)
	}
	history, err := r.testify(ctx)
	if err != nil || r.audit == "" {
		return err
	}
	w := newWrites(r.witness.since(0), history.At(0))
	r.say("API writes   %s", w)
	if w.Most > writesPerCreate {
		r.broken = append(r.broken, fmt.Sprintf("%d writes to create one pod, %d should do", w.Most, writesPerCreate))
	}
	return nil
}

// follow shows the set until enough says so of a view that is not older than the spec last written.
func (r *release) follow(ctx context.Context, limit time.Duration, enough func(sets.View) bool) (sets.View, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r.space()
	show := sets.Show{Terminal: r.terminal, Clock: r.clock(), Fold: sets.FoldAfter, Since: r.shown}
	view, err := show.Follow(ctx, r.watch, r.changed, func(v sets.View) bool {
		return v.Generation >= r.set.GetGeneration() && enough(v)
	})
	r.space()
	r.shown = &view
	return view, err
}

// good releases an image that works, to its end.
func (r *release) good(ctx context.Context, image string) error {
	e, err := r.release(ctx, image, func(ctx context.Context) error {
		view, err := r.follow(ctx, releaseTime, sets.View.Settled)
		if errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("the release is not complete after %s: %s", releaseTime, view.Headline)
		}
		return err
	})
	if err != nil {
		return err
	}
	r.account(e, image, r.replicas)
	return nil
}

// bad releases an image that does not work, until the release has stopped.
func (r *release) bad(ctx context.Context, image string) error {
	var held sets.View
	e, err := r.release(ctx, image, func(ctx context.Context) (err error) {
		held, err = r.follow(ctx, releaseTime, stopped(time.Now))
		if errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("the release has not stopped after %s: %s", releaseTime, held.Headline)
		}
		return err
	})
	if err != nil {
		return err
	}
	touched := e.history.Ever(e.window, func(p *corev1.Pod) bool { return runs(p, image) })
	r.say("It stopped: %d of %d pods got the broken image, %d are available; for %.0f seconds nothing else was touched. It waits for:",
		len(touched), r.replicas, held.Available, stillness.Seconds())
	for _, line := range reasons(held) {
		r.say("  %s", line)
	}
	e.took = 0 // most of it was spent on watching that nothing happens
	r.account(e, image, r.allowance)
	if len(touched) > r.allowance {
		r.broken = append(r.broken, fmt.Sprintf("%d pods got the broken image, %d were allowed to", len(touched), r.allowance))
	}
	return nil
}

// account tells what a release did, and notes the promises that were not kept; got is how many pods must run the image.
func (r *release) account(e evidence, image string, got int) {
	a := newAccount(e, r.replicas, r.allowance, image)
	a.Ordered = r.order
	r.lines(a.Lines())
	r.broken = append(r.broken, a.Broken(got)...)
}

// stopped says that a release has been held up for the time of stillness, or, which must not be, is complete.
func stopped(now func() time.Time) func(sets.View) bool {
	var since time.Time
	return func(v sets.View) bool {
		if v.Phase != sets.HeldUp {
			since = time.Time{}
			return v.Settled()
		}
		if since.IsZero() {
			since = now()
		}
		return now().Sub(since) >= stillness
	}
}

// reasons are what the set says about why it waits, or its pods when it says nothing.
func reasons(v sets.View) []string {
	for _, c := range v.Conditions {
		if c.Type == "Ready" && c.Status == corev1.ConditionFalse {
			return []string{fmt.Sprintf("condition %s is %s, %s:", c.Type, c.Status, c.Reason), c.Message}
		}
	}
	var lines []string
	for _, revision := range v.Revisions {
		for _, p := range revision.Pods {
			if p.Why != "" {
				lines = append(lines, fmt.Sprintf("pod %s is %s: %s", p.Name, p.State, p.Why))
			}
		}
	}
	return lines
}

// release changes the image, lets watch show what happens, and collects the evidence.
func (r *release) release(ctx context.Context, image string, watch func(context.Context) error) (evidence, error) {
	if _, err := r.testify(ctx); err != nil {
		return evidence{}, err
	}
	known := r.witness.count()
	begin := time.Now()
	set, err := r.setImage(ctx, r.client, image)
	if err != nil {
		return evidence{}, err
	}
	r.set, r.released = set, append(r.released, set.GetResourceVersion())
	if err := watch(ctx); err != nil {
		return evidence{}, err
	}
	took := time.Since(begin)
	history, err := r.testify(ctx)
	if err != nil {
		return evidence{}, err
	}
	from, err := version(set.GetResourceVersion())
	if err != nil {
		return evidence{}, err
	}
	return evidence{history: history, window: audit.Window{From: from}, writes: r.witness.since(known), took: took}, nil
}

// testify asks the witness for all that is known up to now.
func (r *release) testify(ctx context.Context) (*audit.History, error) {
	known, err := r.watch.Pods()
	if err != nil {
		return nil, err
	}
	return r.witness.testify(ctx, r.set.GetUID(), known)
}

// judgeWhole looks at the time from the first release on as one: also between releases the allowance holds.
func (r *release) judgeWhole(ctx context.Context, first string) error {
	history, err := r.testify(ctx)
	if err != nil {
		return err
	}
	from, err := version(first)
	if err != nil {
		return err
	}
	moments := history.Moments(audit.Window{From: from}, 0)
	worst, _ := audit.Worst(moments, r.replicas)
	kept := len(audit.Kept(history.At(from), history.At(0)))
	r.begin("All three releases together")
	r.say("%d of %d pods still have the UID and the IP that they began with.", kept, r.replicas)
	r.say("At most %d were unavailable at any time, %d allowed (%d states seen).", worst, r.allowance, len(moments))
	if kept != r.replicas || worst > r.allowance {
		r.broken = append(r.broken, fmt.Sprintf("over all releases %d of %d pods were kept, and %d unavailable with %d allowed",
			kept, r.replicas, worst, r.allowance))
	}
	return nil
}

func version(resourceVersion string) (uint64, error) {
	n, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the API server's resourceVersion %q is not a number, so states cannot be put in order: %w", resourceVersion, err)
	}
	return n, nil
}
