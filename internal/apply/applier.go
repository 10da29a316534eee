// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"slipway.dev/slipway/internal/freshness"
	"slipway.dev/slipway/internal/step"
)

// DefaultConcurrency is how many writes for one object are under way at once.
const DefaultConcurrency = 16

// UnitsPerPass is how many pods of one object are changed, and how many created, in one call of Steps. The view that the
// steps were decided on is kept in memory for as long as they take, and nothing newer is acted on, so thousands of pods
// go in several passes. What is left over has no outcome; the events of what was done call for the next look.
const UnitsPerPass = 500

// Applier executes steps. It is safe for concurrent use.
type Applier struct {
	client  client.Client
	writes  *freshness.Tracker
	options Options
	failed  failures
}

// Options are the settings of an applier; the zero value has the defaults.
type Options struct {
	// Concurrency is how many writes for one object are under way at once; 0 means DefaultConcurrency.
	Concurrency int
	// KeepFieldManagers leaves the record of who set which field of a pod (metadata.managedFields) as it is. Otherwise an
	// update in place has the server drop it, unless somebody applies the pod on the server's side: keeping it is a good
	// part of what each later write to the pod costs the server (docs/design/0003).
	KeepFieldManagers bool
}

// New returns an applier that notes its writes in the tracker.
func New(c client.Client, writes *freshness.Tracker, o Options) *Applier {
	if o.Concurrency <= 0 {
		o.Concurrency = DefaultConcurrency
	}
	return &Applier{client: c, writes: writes, options: o}
}

// Outcome is what became of one step.
type Outcome struct {
	Step step.Step
	// Err is nil when the step was taken. Its text is short enough to be shown to people; what it wraps is whole.
	Err error
}

// Steps executes the steps of a plan for the object that owns what they change. Revisions are recorded
// first, and where that fails nothing else is done, because pods must carry the name of a revision that
// exists. Then pods are changed, then deleted and then created, both with a slow start, and last history is
// forgotten. Within each of these the steps run in parallel, except that a pod and its claims are one unit:
// claims are created before their pod and deleted after it, and a step that fails ends its unit.
//
// What failed goes behind the others when it is tried again, so that a slow start never ends at the same pod.
//
// Steps that were not tried have no outcome: an earlier one of their unit or kind failed, or there were more than
// one pass takes.
func (a *Applier) Steps(ctx context.Context, owner types.UID, steps []step.Step) []Outcome {
	stages := map[step.Stage][]step.Step{}
	for _, s := range steps {
		n := step.StageOf(s)
		stages[n] = append(stages[n], s)
	}
	outcomes := a.inOrder(ctx, owner, stages[step.Recording])
	if len(outcomes) > 0 && outcomes[len(outcomes)-1].Err != nil {
		return outcomes
	}
	changes, deletions := apart(atMost(UnitsPerPass, a.failed.last(owner, units(stages[step.Changing]))))
	outcomes = append(outcomes, a.inParallel(ctx, owner, changes)...)
	outcomes = append(outcomes, a.slowStart(ctx, owner, deletions)...)
	outcomes = append(outcomes, a.slowStart(ctx, owner, atMost(UnitsPerPass, a.failed.last(owner, units(stages[step.Creating]))))...)
	a.failed.note(owner, steps, outcomes)
	return append(outcomes, a.inParallel(ctx, owner, units(stages[step.Forgetting]))...)
}

// Forget drops what is remembered of an object that is gone.
func (a *Applier) Forget(owner types.UID) { a.failed.forget(owner) }

func atMost(n int, units [][]step.Step) [][]step.Step { return units[:min(n, len(units))] }

// Errors joins what went wrong. Conflicts are left out: they mean that the view was old, and the event
// that shows the newer version leads to the next look.
func Errors(outcomes []Outcome) error {
	var failed []error
	for _, o := range outcomes {
		if o.Err != nil && !IsConflict(o.Err) {
			failed = append(failed, o.Err)
		}
	}
	return errors.Join(failed...)
}

// Conflicts tells whether a step was refused because its view was old.
func Conflicts(outcomes []Outcome) bool {
	for _, o := range outcomes {
		if o.Err != nil && IsConflict(o.Err) {
			return true
		}
	}
	return false
}

// IsConflict tells whether an error only says that the view was old: the object has changed, is gone, or
// is there already.
func IsConflict(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err)
}

func (a *Applier) inOrder(ctx context.Context, owner types.UID, steps []step.Step) []Outcome {
	var outcomes []Outcome
	for _, s := range steps {
		o := a.take(ctx, owner, s)
		outcomes = append(outcomes, o)
		if o.Err != nil {
			break
		}
	}
	return outcomes
}

func (a *Applier) inParallel(ctx context.Context, owner types.UID, units [][]step.Step) []Outcome {
	outcomes := make([][]Outcome, len(units))
	var running sync.WaitGroup
	free := make(chan struct{}, a.options.Concurrency)
	for i, unit := range units {
		free <- struct{}{}
		running.Go(func() {
			outcomes[i] = a.inOrder(ctx, owner, unit)
			<-free
		})
	}
	running.Wait()
	return slices.Concat(outcomes...)
}

func (a *Applier) take(ctx context.Context, owner types.UID, s step.Step) Outcome {
	err := a.write(ctx, owner, s)
	logger := log.FromContext(ctx).WithValues("step", fmt.Sprintf("%T", s)[len("step."):], "on", s.Subject(), "why", s.Why())
	switch {
	case err == nil:
		logger.Info("step taken")
		return Outcome{Step: s}
	case IsConflict(err):
		logger.V(1).Info("step refused, the view was old", "answer", err.Error())
	default:
		logger.Info("step failed", "error", err.Error())
	}
	return Outcome{Step: s, Err: brief{err}}
}

func (a *Applier) write(ctx context.Context, owner types.UID, s step.Step) error {
	switch s := s.(type) {
	case step.CreateRevision:
		return a.create(ctx, owner, "revision", s.Revision.DeepCopy())
	case step.CreatePod:
		return a.createPod(ctx, owner, s.Pod)
	case step.CreateClaim:
		return a.create(ctx, owner, "claim", s.Claim.DeepCopy())
	case step.DeleteClaim:
		return a.delete(ctx, owner, "claim", claimAt(s.Target), s.Target)
	case step.GiveClaim:
		return a.giveClaim(ctx, owner, s)
	case step.ResizeClaim:
		return a.resizeClaim(ctx, owner, s)
	case step.TrimPodsToDelete:
		return a.trimPodsToDelete(ctx, owner, s)
	case step.AdoptRevision:
		return a.adoptRevision(ctx, owner, s)
	case step.RenumberRevision:
		return a.renumberRevision(ctx, owner, s)
	case step.ForgetRevision:
		return a.delete(ctx, owner, "revision", revisionAt(s.Target), s.Target)
	case step.DeletePod:
		return a.delete(ctx, owner, "pod", podAt(s.Target), s.Target)
	case step.AdoptPod:
		return a.adoptPod(ctx, owner, s)
	case step.ReleasePod:
		return a.releasePod(ctx, owner, s)
	case step.PatchPod:
		return a.changePod(ctx, owner, s.Target, s.Conditions, nil, s.Patch)
	case step.SetConditions:
		_, err := a.patchConditions(ctx, owner, s.Target, s.Conditions)
		return err
	case step.CreateSet:
		return a.createSet(ctx, owner, s)
	case step.Apply:
		return a.apply(ctx, owner, s)
	case step.ChangeSet:
		return a.changeSet(ctx, owner, s)
	case step.DeleteSet:
		return a.deleteSet(ctx, owner, s)
	case step.Annotate:
		return a.annotate(ctx, owner, s)
	case step.SetFinalizers:
		return a.setFinalizers(ctx, owner, s)
	case step.UpdateInPlace:
		return a.changePod(ctx, owner, s.Target, s.Drain, s.Resize, s.Patch)
	}
	panic(fmt.Sprintf("apply: step %T cannot be taken", s))
}

func (a *Applier) create(ctx context.Context, owner types.UID, what string, object client.Object) error {
	name := object.GetName()
	if err := a.client.Create(ctx, object); err != nil {
		a.doubt(owner, object, err)
		return fmt.Errorf("creating %s %s: %w", what, name, err)
	}
	a.writes.Wrote(owner, object)
	return nil
}

func (a *Applier) delete(ctx context.Context, owner types.UID, what string, object client.Object, t step.Target) error {
	exactly := client.Preconditions{UID: &t.UID, ResourceVersion: &t.ResourceVersion}
	if err := a.client.Delete(ctx, object, exactly); err != nil {
		a.doubt(owner, object, err)
		return fmt.Errorf("deleting %s %s: %w", what, t.Name, err)
	}
	a.writes.Deleted(owner, object)
	return nil
}

// doubt notes a write that may have been made although it was answered with an error: without an answer,
// or with one that speaks of the server and not of the request. The next decision must know.
func (a *Applier) doubt(owner types.UID, object client.Object, err error) {
	var answer apierrors.APIStatus
	if errors.As(err, &answer) && answer.Status().Code < http.StatusInternalServerError && !apierrors.IsTimeout(err) {
		return
	}
	a.writes.Unsure(owner, object)
}

func metaAt(t step.Target) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: t.Namespace, Name: t.Name, UID: t.UID, ResourceVersion: t.ResourceVersion}
}
