// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// rolloutTrait takes a CloneSet of its name to the template that it has by now, in equal batches.
type rolloutTrait struct{ batches int }

func (rolloutTrait) name() string            { return rolloutv1alpha1.RolloutTraitKind }
func (rolloutTrait) controller() string      { return kindRollout }
func (rolloutTrait) list() client.ObjectList { return &rolloutv1alpha1.RolloutTraitList{} }

func (k rolloutTrait) fresh(key client.ObjectKey, _ int) client.Object {
	return &rolloutv1alpha1.RolloutTrait{
		ObjectMeta: objectMeta(key),
		Spec: rolloutv1alpha1.RolloutTraitSpec{
			TargetRef:   rolloutv1alpha1.WorkloadReference{APIVersion: kruisev1alpha1.GroupVersion.String(), Kind: cloneSet{}.name(), Name: key.Name},
			RolloutPlan: rolloutv1alpha1.RolloutPlan{NumBatches: ptr.To(int32(k.batches))},
		},
	}
}

// A rollout works once and is asked for nothing else.
func (rolloutTrait) scale(client.Object, int)                               {}
func (rolloutTrait) release(client.Object, string, way, intstr.IntOrString) {}

func (rolloutTrait) settled(o client.Object) bool {
	trait := o.(*rolloutv1alpha1.RolloutTrait)
	return trait.Status.ObservedGeneration >= trait.Generation && trait.Status.RollingState == rolloutv1alpha1.RolloutSucceedState
}

// rollouts are many RolloutTraits, which are made at once, each on a CloneSet of its own.
type rollouts struct {
	kind rolloutTrait
	// size is how many there are, and pods how many pods each of their sets has.
	size, pods int
}

func (rollouts) key(namespace string, i int) client.ObjectKey {
	return client.ObjectKey{Namespace: namespace, Name: fmt.Sprintf("rollout-%d", i)}
}

// largest is how many pods the largest batch has: what is left over goes to the later ones.
func (f rollouts) largest() int { return (f.pods + f.kind.batches - 1) / f.kind.batches }

// rolloutsRound measures many rollouts at once, and the manager when all of them have ended.
func (b *bench) rolloutsRound(ctx context.Context) error {
	f := b.o.rolloutsOf()
	pods := f.size * f.pods
	if b.o.wants(scenarioCeiling) {
		b.ceiling(ctx, pods)
	}
	if !b.o.wants(scenarioRollouts, scenarioRolloutsRest) {
		return nil
	}
	m, err := b.startManager(ctx)
	if err != nil {
		return err
	}
	if err := b.prepareRollouts(ctx, f, m); err != nil {
		return err
	}
	r := b.rolloutsRow(f, scenarioRollouts)
	scenario := func() error { return b.rollOut(ctx, r, f, m) }
	if !b.o.wants(scenarioRollouts) {
		if err := scenario(); err != nil {
			return fmt.Errorf("preparing %d rollouts: %w", f.size, err)
		}
	} else if !b.finish(r, scenario) {
		return context.Cause(ctx)
	}
	if !b.o.wants(scenarioRolloutsRest) {
		return nil
	}
	if err := pause(ctx, calm); err != nil {
		return err
	}
	r = b.rolloutsRow(f, scenarioRolloutsRest)
	b.finish(r, func() error { return b.rest(ctx, r, m) })
	return context.Cause(ctx)
}

func (b *bench) rolloutsRow(f rollouts, scenario string) *row {
	r := b.newRow(f.size*f.pods, f.kind.name(), scenario)
	r.note("%d RolloutTraits in %d batches, each of a CloneSet of %d pods; writes/pod has what the CloneSets cost with it", f.size, f.kind.batches, f.pods)
	return r
}

// prepareRollouts makes the sets, and gives them a new template that their partition holds back.
func (b *bench) prepareRollouts(ctx context.Context, f rollouts, m *manager) error {
	ctx, leave := orEnded(ctx, m.ended)
	defer leave()
	ctx, cancel := context.WithTimeoutCause(ctx, b.o.patience, errors.New("it takes longer than --patience"))
	defer cancel()
	b.say("  preparing %d CloneSets of %d pods", f.size, f.pods)
	sets := cloneSet{}
	each := func(do func(ctx context.Context, key client.ObjectKey) error) error {
		return parallel(ctx, b.o.workers, f.size, func(ctx context.Context, i int) error { return do(ctx, f.key(b.namespace, i)) })
	}
	err := each(func(ctx context.Context, key client.ObjectKey) error {
		return b.cluster.api.Create(ctx, sets.fresh(key, f.pods))
	})
	if err != nil {
		return fmt.Errorf("creating CloneSets: %w", err)
	}
	for i := range f.size {
		if err := b.await(ctx, sets, f.key(b.namespace, i)); err != nil {
			return err
		}
	}
	err = each(func(ctx context.Context, key client.ObjectKey) error {
		set := &kruisev1alpha1.CloneSet{}
		if err := b.cluster.api.Get(ctx, key, set); err != nil {
			return err
		}
		before := set.DeepCopy()
		sets.release(set, image(1), inPlace, intstr.FromString("100%"))
		set.Spec.UpdateStrategy.Partition = ptr.To(intstr.FromInt32(int32(f.pods)))
		return b.cluster.api.Patch(ctx, set, client.MergeFrom(before))
	})
	if err != nil {
		return fmt.Errorf("giving CloneSets a new template: %w", err)
	}
	for i := range f.size {
		if err := b.await(ctx, heldSet{}, f.key(b.namespace, i)); err != nil {
			return err
		}
	}
	return pause(ctx, settle)
}

// heldSet is a CloneSet whose new template is known and has reached no pod.
type heldSet struct{ cloneSet }

func (heldSet) settled(o client.Object) bool {
	set := o.(*kruisev1alpha1.CloneSet)
	s := set.Status
	return s.ObservedGeneration >= set.Generation && s.UpdateRevision != s.CurrentRevision && s.UpdatedReplicas == 0 &&
		s.AvailableReplicas == ptr.Deref(set.Spec.Replicas, 1)
}

// rollOut measures all rollouts at once, and checks that they were what they claim to be.
func (b *bench) rollOut(ctx context.Context, r *row, f rollouts, m *manager) error {
	before, err := b.podsWhere(ctx, "")
	if err != nil {
		return err
	}
	from, err := b.cluster.logEnd()
	if err != nil {
		return err
	}
	c := change{scenario: scenarioRollouts, makes: true, replicas: all, way: inPlace, unavailable: "100%"}
	err = b.measured(ctx, r, b.subject(m), func(ctx context.Context) error {
		err := parallel(ctx, b.o.workers, f.size, func(ctx context.Context, i int) error {
			return b.ask(ctx, f.kind, f.key(b.namespace, i), c, f.pods, image(1))
		})
		for i := 0; i < f.size && err == nil; i++ { // most have succeeded when the first one has
			err = b.await(ctx, f.kind, f.key(b.namespace, i))
		}
		return err
	})
	if err != nil {
		return err
	}
	after, err := b.podsWhere(ctx, "")
	if err != nil {
		return err
	}
	if err := check(r, c, before, after, r.Pods, image(1)); err != nil {
		return err
	}
	f.perRollout(r)
	return b.checkOverlap(r, after, f.largest(), "the largest batch", from)
}

// perRollout notes what one rollout costs beside what its CloneSet does anyway: the manager patches CloneSets for rollouts only, and
// reads them, and their revisions, for nobody else.
func (f rollouts) perRollout(r *row) {
	each := func(n float64) float64 { return n / float64(f.size) }
	if cpu, known := r.Figures[cpuTime]; known {
		r.set(cpuPerRollout, each(cpu*1000))
	}
	if r.Requests == nil {
		return
	}
	of := func(what ...string) float64 {
		sum := 0
		for _, name := range what {
			sum += r.Requests[byManager][name].Requests
		}
		return float64(sum)
	}
	r.set(rolloutWrites, each(of("patch rollouttraits", "patch rollouttraits/status", "patch clonesets")))
	r.set(rolloutStatuses, each(of("patch rollouttraits/status")))
	r.set(workloadWrites, each(of("patch clonesets")))
	r.set(rolloutReads, each(of("get clonesets", "get controllerrevisions", "list controllerrevisions", "get rollouttraits")))
}
