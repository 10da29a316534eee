// SPDX-License-Identifier: Apache-2.0

package campaign

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/test/audit"
	"slipway.dev/slipway/test/faults/judge"
	"slipway.dev/slipway/test/ground"
	"slipway.dev/slipway/test/receiver"
)

const (
	// lookEvery is the time between two looks at something that tells nobody when it changes.
	lookEvery = 100 * time.Millisecond
	// patience is how long an operation may take, the fault included.
	patience = 5 * time.Minute
	// quiet is how long nothing may be written or asked when all is settled; calm is what the last writes get before.
	quiet = 1500 * time.Millisecond
	calm  = 1500 * time.Millisecond
	// mostAsked is how many requests a manager may send in that time: events about what was done go out late.
	mostAsked = 5
	// A pod is made with 2 writes, updated or made again with 3. Faults may cost some again.
	mostWrites, mostTries = 8, 30
)

// story is one fault's: the sets live through all operations.
type story struct {
	*plane
	*Options
	fault    *fault
	random   *rand.Rand
	seed     uint64
	managers []*manager
	tales    []*tale
	// follower sees what the audit log may not tell of.
	follower *audit.Follower
	// operation is the one that is under way.
	operation string
	// hooks are called by rollouts.
	hooks *receiver.Receiver
}

// tale is the part of a story that one kind plays.
type tale struct {
	kind, namespace string
	sets            []*subject
	version         int
}

func newStory(p *plane, f *fault, o *Options, seed uint64) *story {
	return &story{plane: p, Options: o, fault: f, seed: seed, random: rand.New(rand.NewPCG(seed, 2))}
}

// tell plays all operations, and returns a cell for each kind of those that were asked for.
func (s *story) tell(ctx context.Context) (cells []Cell, err error) {
	s.events = nil
	defer func() { err = errors.Join(err, s.end(context.WithoutCancel(ctx))) }()
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	for _, operation := range Operations {
		wanted := slices.Contains(s.Operations, operation)
		if !wanted && operation != Create {
			continue // the sets must be there for anything else
		}
		if operation != Create && !slices.ContainsFunc(s.tales, func(t *tale) bool { return does(t.kind, operation) }) {
			continue
		}
		played, err := s.play(ctx, operation, wanted)
		if wanted {
			cells = append(cells, slices.DeleteFunc(slices.Clone(played), func(c Cell) bool { return !does(c.Kind, operation) })...)
		}
		if err != nil {
			return cells, fmt.Errorf("%s: %w", operation, err)
		}
		if slices.ContainsFunc(played, func(c Cell) bool { return !c.Finished }) {
			return cells, fmt.Errorf("%s did not finish, so nothing comes after it", operation)
		}
	}
	return cells, nil
}

// begin makes the namespaces, those who are not to be touched, and the managers.
func (s *story) begin(ctx context.Context) (err error) {
	if s.hooks, err = receiver.Start(); err != nil {
		return fmt.Errorf("listening for webhooks: %w", err)
	}
	if s.follower, err = audit.Follow(ctx, s.watches); err != nil {
		return err
	}
	for _, kind := range s.Kinds {
		made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "fault-" + s.fault.name + "-"}}
		if err := s.api.Create(ctx, made); err != nil {
			return fmt.Errorf("making a namespace: %w", err)
		}
		t := &tale{kind: kind, namespace: made.Name, sets: subjects(kind, made.Name), version: 1}
		s.tales = append(s.tales, t)
		err := s.until(ctx, patience, func(ctx context.Context) error { // without it every pod is refused
			return s.api.Get(ctx, client.ObjectKey{Namespace: made.Name, Name: "default"}, &corev1.ServiceAccount{})
		})
		if err != nil {
			return fmt.Errorf("waiting for the namespace: %w", err)
		}
		owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: made.Name, Name: "somebody"}}
		if err := s.api.Create(ctx, owner); err != nil {
			return fmt.Errorf("making somebody who has pods: %w", err)
		}
		for _, pod := range bystanders(kind, owner) {
			if err := s.api.Create(ctx, pod); err != nil {
				return fmt.Errorf("making a pod of somebody else: %w", err)
			}
		}
	}
	for i, name := range []string{"a", "b"}[:s.fault.managers] {
		program := s.program(ground.Manager)
		if s.fault.name == clocksApart && i == 1 {
			program = s.program(ahead)
		}
		m, err := newManager(s.plane, name, program, s.seed+uint64(i), s.fault.flags...)
		if err != nil {
			return err
		}
		s.managers = append(s.managers, m)
	}
	return s.until(ctx, patience, func(ctx context.Context) error {
		_, err := s.leader(ctx)
		return err
	})
}

// end stops the managers and removes what they worked on.
func (s *story) end(ctx context.Context) error {
	var errs []error
	for _, t := range s.tales {
		errs = append(errs, s.endRollouts(ctx, t))
	}
	for _, t := range s.tales { // the sets first, or their pods would be missed and made again
		for _, object := range []client.Object{&kruisev1alpha1.CloneSet{}, &kruisev1beta1.StatefulSet{}} {
			errs = append(errs, s.api.DeleteAllOf(ctx, object, client.InNamespace(t.namespace)))
		}
		errs = append(errs, s.api.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.namespace}}))
	}
	for _, m := range s.managers {
		errs = append(errs, m.stop())
	}
	if s.hooks != nil {
		s.hooks.Close()
	}
	if s.follower != nil {
		s.follower.Stop()
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("cleaning up: %w", err)
	}
	return nil
}

// play changes the specs, has the fault strike if it is to, waits until everything is settled, and judges.
func (s *story) play(ctx context.Context, operation string, strikes bool) ([]Cell, error) {
	s.operation = operation
	since := time.Now()
	var cells []Cell
	for _, again := range phases(operation) {
		if strikes && s.fault.before != nil {
			if err := s.fault.before(ctx, s); err != nil {
				return cells, fmt.Errorf("before the operation: %w", err)
			}
		}
		began := time.Now()
		if err := s.change(ctx, operation, again); err != nil {
			return cells, err
		}
		var struck error
		over := make(chan struct{})
		go func() {
			defer close(over)
			if strikes && s.fault.strike != nil {
				struck = s.fault.strike(ctx, s)
			}
		}()
		played := s.await(ctx, operation, began, over)
		<-over
		for i := range cells {
			played[i].Seconds += cells[i].Seconds
		}
		cells = played
		if struck != nil {
			return cells, fmt.Errorf("the fault: %w", struck)
		}
		if slices.ContainsFunc(cells, func(c Cell) bool { return !c.Finished }) {
			break
		}
	}
	return cells, s.verdict(ctx, cells, since)
}

// phases are the changes that an operation consists of: a scaling goes down, and up again.
func phases(operation string) []bool {
	if operation == Scale {
		return []bool{false, true}
	}
	return []bool{false}
}

// change writes the specs of an operation. A scaling has two parts: down, and up again.
func (s *story) change(ctx context.Context, operation string, again bool) error {
	for _, t := range s.tales {
		t.version++
		if operation != Create && !does(t.kind, operation) {
			continue
		}
		for _, subject := range t.sets {
			var refused error
			err := s.until(ctx, patience, func(ctx context.Context) (err error) {
				defer func() {
					if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) { // to try again would not help
						refused, err = err, nil
					}
				}()
				if operation == Create {
					return client.IgnoreAlreadyExists(s.api.Create(ctx, subject.object))
				}
				if err := s.api.Get(ctx, client.ObjectKeyFromObject(subject.object), subject.object); err != nil {
					return err
				}
				if operation == Rollout && (t.kind == Deployment || subject.rollout != nil) {
					return s.beginRollout(ctx, t, subject)
				}
				before, ok := subject.object.DeepCopyObject().(client.Object)
				if !ok {
					return errors.New("a copy of a set is no object")
				}
				switch {
				case operation == Scale && again:
					scale(subject.object, subject.high)
				case operation == Scale:
					scale(subject.object, subject.low)
				default:
					release(subject.object, t.version, operation == Recreate)
				}
				if operation == Rollout {
					hold(subject.object)
				}
				if err := s.api.Patch(ctx, subject.object, client.MergeFrom(before)); err != nil || operation != Rollout {
					return err
				}
				return s.beginRollout(ctx, t, subject)
			})
			if err := errors.Join(err, refused); err != nil {
				return fmt.Errorf("changing %s: %w", subject.object.GetName(), err)
			}
		}
	}
	return nil
}

// await waits until the fault is over and all sets are settled, and says when each kind was.
func (s *story) await(ctx context.Context, operation string, began time.Time, over <-chan struct{}) []Cell {
	cells := make([]Cell, len(s.tales))
	for i, t := range s.tales {
		cells[i] = Cell{Fault: s.fault.name, Kind: t.kind, Operation: operation}
	}
	look := func(ctx context.Context) error {
		var missing []error
		select {
		case <-over:
		default:
			missing = append(missing, errors.New("the fault is not over"))
		}
		for i, t := range s.tales {
			lacks := s.lacks(ctx, t)
			if ctx.Err() != nil {
				break
			}
			c := &cells[i]
			switch c.Waiting = lacks; {
			case lacks != "":
				c.Finished, c.Seconds = false, time.Since(began).Seconds()
				missing = append(missing, errors.New(lacks))
			case !c.Finished:
				c.Finished, c.Seconds = true, time.Since(began).Seconds()
			}
		}
		return errors.Join(missing...)
	}
	_ = s.until(ctx, patience, look) // what is missing stands in the cells
	return cells
}

// lacks says what the sets of a kind still lack.
func (s *story) lacks(ctx context.Context, t *tale) string {
	var lacks []string
	for _, subject := range t.sets {
		now, ok := subject.object.DeepCopyObject().(client.Object)
		if !ok {
			return "a copy of a set is no object"
		}
		if err := s.api.Get(ctx, client.ObjectKeyFromObject(subject.object), now); err != nil {
			return err.Error()
		}
		for _, lack := range []string{settled(now), s.lacksRollout(ctx, subject)} {
			if lack != "" {
				lacks = append(lacks, lack)
			}
		}
	}
	return strings.Join(lacks, "; ")
}

// seen are the states of a kind's pods that somebody saw: the audit log may not tell of all.
func (s *story) seen(t *tale) []audit.Sighting { return s.follower.Seen(t.namespace, time.Now()) }

// verdict waits until nobody has anything left to do, and fills the cells with what was broken since a time.
func (s *story) verdict(ctx context.Context, cells []Cell, since time.Time) error {
	pause(ctx, calm+s.fault.lag)
	from, asked := time.Now(), s.asked()
	pause(ctx, quiet)
	to := time.Now()
	asked = s.asked() - asked
	if err := s.follower.Look(ctx); err != nil {
		return err
	}
	if err := s.read(); err != nil {
		return err
	}
	late, err := judge.CheckLease(s.events, ground.Manager, since)
	if err != nil {
		return fmt.Errorf("judging the lease: %w", err)
	}
	for i, t := range s.tales {
		c := &cells[i]
		o := judge.Options{
			Product: ground.Manager, Namespace: t.namespace, Since: since, Lag: max(s.fault.lag, time.Second),
			MostWrites: mostWrites, MostTries: mostTries, Finished: c.Finished,
		}
		if c.Broken, err = judge.Check(s.events, s.seen(t), o); err != nil {
			return fmt.Errorf("judging %s: %w", t.kind, err)
		}
		if c.Operation == Rollout {
			found, err := s.judgeRollouts(t, o, to)
			if err != nil {
				return err
			}
			c.Broken = append(c.Broken, found...)
		}
		if c.Finished {
			c.Broken = append(c.Broken, judge.CheckSilence(s.events, ground.Manager, t.namespace, from, to)...)
		}
		if i == 0 { // what is not about one kind is told once
			c.Broken = append(c.Broken, late...)
			if asked > mostAsked {
				c.Broken = append(c.Broken, judge.Finding{
					Invariant: judge.Silence, At: to, Object: "managers", Detail: fmt.Sprintf("%d requests in %s, and everything is settled", asked, quiet),
				})
			}
		}
		for _, n := range judge.CountWrites(s.events, ground.Manager, t.namespace, since) {
			c.Writes, c.Tries = max(c.Writes, n.Accepted), max(c.Tries, n.All)
		}
	}
	return nil
}
