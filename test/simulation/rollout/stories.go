// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/workload"
	"slipway.dev/slipway/test/simulation/world"
)

// operation is what a rollout does.
type operation string

const (
	rollsOut   operation = "rollout"
	scalesUp   operation = "scale-up"
	scalesDown operation = "scale-down"
)

var operations = []operation{rollsOut, scalesUp, scalesDown}

// sizes are those before and after. Both differ by the five pods that the batches divide.
func (o operation) sizes() (from, to int) {
	switch o {
	case scalesUp:
		return 2, 7
	case scalesDown:
		return 8, 3
	case rollsOut:
	}
	return 5, 5
}

// names of the workloads. Of Deployments the second one is new, and the third one newer still.
const (
	first  = world.SetName
	second = "web-2"
	third  = "web-3"
)

// telling is a story of one kind and operation while it is told.
type telling struct {
	*simulation
	op operation
}

// story is one way that a rollout can go.
type story struct {
	name string
	// plan is changed for it; nil leaves it.
	plan func(*telling, *rolloutv1alpha1.RolloutPlan)
	// app is the new version; empty for v2.
	app string
	// then is what happens after the rollout was created. It is nil when nothing does.
	then func(*telling) error
	// ends is how it ends.
	ends end
}

// end is how a story ends: the state, and the pods. Left are pods that are left as they were in the middle.
type end struct {
	state rolloutv1alpha1.RollingState
	pods  podsAfter
}

// gone is the end of a rollout that was deleted.
const gone rolloutv1alpha1.RollingState = "gone"

type podsAfter string

const (
	allNew   podsAfter = "all are new"
	allOld   podsAfter = "all are as before"
	someNew  podsAfter = "some are new"
	noneLeft podsAfter = "none is left"
	newest   podsAfter = "what came last is reached"
)

// stories are all of them, in the order in which they are told.
var stories = []story{
	{name: "succeeds", ends: end{rolloutv1alpha1.RolloutSucceedState, allNew}},
	{name: "is paused and resumed", then: pausedAndResumed, ends: end{rolloutv1alpha1.RolloutSucceedState, allNew}},
	{name: "waits at a partition, then goes on", plan: func(_ *telling, p *rolloutv1alpha1.RolloutPlan) { p.BatchPartition = replicas(0) }, then: partitionThenMore, ends: end{rolloutv1alpha1.RolloutSucceedState, allNew}},
	{name: "is superseded in the middle", then: superseded, ends: end{rolloutv1alpha1.RolloutSucceedState, newest}},
	{name: "is reverted by a person", then: inTheMiddle(func(t *telling) { t.tells(rolloutv1alpha1.AnnotationRevert) }), ends: end{rolloutv1alpha1.RolloutFailedState, allOld}},
	{name: "is deleted in the middle", then: inTheMiddle(deleteRollout), ends: end{gone, someNew}},
	{name: "is deleted in the middle with revertOnDelete", plan: func(_ *telling, p *rolloutv1alpha1.RolloutPlan) { p.RevertOnDelete = true }, then: inTheMiddle(deleteRollout), ends: end{gone, allOld}},
	{name: "its workload is deleted under it", then: inTheMiddle(deleteWorkload), ends: end{rolloutv1alpha1.RolloutFailedState, noneLeft}},
	{name: "an autoscaler changes the number of pods under it", then: inTheMiddle(autoscale), ends: end{rolloutv1alpha1.RolloutSucceedState, newest}},
	{name: "misses its deadline and fails", plan: deadline(rolloutv1alpha1.FailOnFailure), app: "v2-broken", then: stuckFor(nil), ends: end{rolloutv1alpha1.RolloutFailedState, someNew}},
	{name: "misses its deadline and waits", plan: deadline(rolloutv1alpha1.PauseOnFailure), app: "v2-slow-90s", then: stuckFor(raiseDeadline), ends: end{rolloutv1alpha1.RolloutSucceedState, allNew}},
	{name: "misses its deadline and is reverted", plan: deadline(rolloutv1alpha1.RevertOnFailure), app: "v2-broken", then: stuckFor(nil), ends: end{rolloutv1alpha1.RolloutFailedState, allOld}},
	{name: "its metric fails, and it fails", plan: metric(rolloutv1alpha1.FailOnFailure), then: badMetric(nil), ends: end{rolloutv1alpha1.RolloutFailedState, someNew}},
	{name: "its metric fails, and it waits", plan: metric(rolloutv1alpha1.PauseOnFailure), then: badMetric(retry), ends: end{rolloutv1alpha1.RolloutSucceedState, allNew}},
	{name: "its metric fails, and it is reverted", plan: metric(rolloutv1alpha1.RevertOnFailure), then: badMetric(nil), ends: end{rolloutv1alpha1.RolloutFailedState, allOld}},
}

// cannot says why there are no stories of an operation for a kind; empty when there are.
func (s subject) cannot(op operation) string {
	if s.daemons() && op != rollsOut {
		return "a DaemonSet has a pod on each node that it is for, and no number to be scaled by"
	}
	return ""
}

// pairs tells whether the rollout has two workloads.
func (t *telling) pairs() bool { return t.pair() && t.op == rollsOut }

// tell tells a story, and returns its transcript.
func tell(of subject, op operation, st story, mutation Hooks) (string, error) {
	t := &telling{newSimulation(of, mutation), op}
	t.make()
	if err := t.Rest(); err != nil {
		return "", fmt.Errorf("before the rollout: %w", err)
	}
	t.Begins()
	t.begin(st)
	err := t.play(st)
	return t.transcript(), err
}

// make makes the workloads that are there before.
func (t *telling) make() {
	from, _ := t.op.sizes()
	t.Must(t.Server.Create("user", t.newWorkload(first, int32(from), "v1")))
	if t.pairs() {
		t.Must(t.Server.Create("user", t.newWorkload(second, 0, "v2")))
	}
}

func (t *telling) play(st story) error {
	if st.then != nil {
		if err := st.then(t); err != nil {
			return err
		}
	}
	if err := t.Rest(); err != nil {
		return err
	}
	return t.check(st.ends)
}

// begin gives the workload its new template, and creates the rollout.
func (t *telling) begin(st story) {
	app := st.app
	if app == "" || t.op != rollsOut {
		app = "v2"
	}
	rollout := &rolloutv1alpha1.RolloutTrait{
		ObjectMeta: metav1.ObjectMeta{Namespace: world.Namespace, Name: world.SetName},
		Spec:       rolloutv1alpha1.RolloutTraitSpec{TargetRef: t.ref(first), RolloutPlan: rolloutv1alpha1.RolloutPlan{RolloutBatches: batches("1", "40%", "")}},
	}
	switch {
	case t.pairs():
		rollout.Spec.TargetRef, rollout.Spec.SourceRef = t.ref(second), []rolloutv1alpha1.WorkloadReference{t.ref(first)}
		if app != "v2" {
			t.change(second, func(o client.Object) { setApp(o, app) })
		}
	case t.op == rollsOut:
		t.change(first, func(o client.Object) {
			setApp(o, app)
			holdBack(o)
		})
		t.Say("user      gives %s the template %s, held back", first, app)
	default:
		_, to := t.op.sizes()
		rollout.Spec.RolloutPlan.TargetSize = replicas(to)
	}
	if st.plan != nil {
		st.plan(t, &rollout.Spec.RolloutPlan)
	}
	t.Say("user      creates the rollout: %s", describePlan(rollout))
	t.Must(t.Server.Create("user", rollout))
}

// batches are so many pods each, or shares of all; empty is the rest.
func batches(sizes ...string) []rolloutv1alpha1.RolloutBatch {
	found := make([]rolloutv1alpha1.RolloutBatch, len(sizes))
	for i, size := range sizes {
		if size != "" {
			found[i].Replicas = ptr.To(intstr.Parse(size))
		}
	}
	return found
}

// middle waits until the second batch is on its way.
func (t *telling) middle() error {
	return t.Until("the middle", func() bool {
		r := t.trait()
		return r != nil && r.Status.CurrentBatch == 1 && r.Status.BatchRollingState == rolloutv1alpha1.BatchVerifyingState
	})
}

func inTheMiddle(do func(*telling)) func(*telling) error {
	return func(t *telling) error {
		if err := t.middle(); err != nil {
			return err
		}
		do(t)
		return nil
	}
}

func (t *telling) plan(says string, change func(*rolloutv1alpha1.RolloutPlan)) {
	t.edit(says, func(r *rolloutv1alpha1.RolloutTrait) { change(&r.Spec.RolloutPlan) })
}

func pausedAndResumed(t *telling) error {
	if err := t.middle(); err != nil {
		return err
	}
	t.plan("pauses it", func(p *rolloutv1alpha1.RolloutPlan) { p.Paused = true })
	if err := t.Pass(time.Minute); err != nil {
		return err
	}
	t.plan("resumes it", func(p *rolloutv1alpha1.RolloutPlan) { p.Paused = false })
	return nil
}

func partitionThenMore(t *telling) error {
	for _, next := range []*int32{replicas(1), nil} {
		err := t.Until("the partition", func() bool {
			r := t.trait()
			return r != nil && r.Status.WaitingFor == rolloutv1alpha1.WaitingAtPartition && r.Status.CurrentBatch == valueOf(r.Spec.RolloutPlan.BatchPartition)
		})
		if err != nil {
			return err
		}
		if err := t.Pass(time.Minute); err != nil {
			return err
		}
		says := "removes the partition"
		if next != nil {
			says = fmt.Sprintf("sets the partition to %d", *next)
		}
		t.plan(says, func(p *rolloutv1alpha1.RolloutPlan) { p.BatchPartition = next })
	}
	return nil
}

// superseded asks for something newer: a template, a third Deployment, or another size.
func superseded(t *telling) error {
	if err := t.middle(); err != nil {
		return err
	}
	switch {
	case t.pairs():
		t.Must(t.Server.Create("user", t.newWorkload(third, 0, "v3")))
		t.edit("wants web-3 instead", func(r *rolloutv1alpha1.RolloutTrait) { r.Spec.TargetRef = t.ref(third) })
	case t.op == rollsOut:
		t.Say("user      gives %s the template v3, held back", first)
		t.change(first, func(o client.Object) {
			setApp(o, "v3")
			if f := workload.FieldsOf(o); !f.Positions && f.Paused != nil {
				*f.Paused = true
			}
		})
	default:
		size := map[operation]int{scalesUp: 9, scalesDown: 1}[t.op]
		t.plan(fmt.Sprintf("wants %d pods instead", size), func(p *rolloutv1alpha1.RolloutPlan) { p.TargetSize = replicas(size) })
	}
	return nil
}

func deleteRollout(t *telling) {
	t.Say("user      deletes the rollout")
	t.Remove(api.RolloutTraits, world.SetName)
}

func deleteWorkload(t *telling) {
	name := t.trait().Spec.TargetRef.Name
	t.Say("user      deletes %s %s", t.subject.kind, name)
	t.Remove(t.stored, name)
}

// autoscale changes the number of pods, or of nodes.
func autoscale(t *telling) {
	if t.daemons() {
		t.Say("cluster   has a node more")
		newNode(t.World, 5)
		t.change(first, func(o client.Object) { o.SetAnnotations(world.Merged(o.GetAnnotations(), "nodes", "6")) })
		return
	}
	size := map[operation]int32{rollsOut: 8, scalesUp: 6, scalesDown: 6}[t.op]
	t.Say("autoscaler asks %s for %d pods", first, size)
	t.change(first, func(o client.Object) { *workload.FieldsOf(o).Replicas = &size })
}

// deadline is of a minute, and has the policy decide.
func deadline(policy rolloutv1alpha1.FailurePolicy) func(*telling, *rolloutv1alpha1.RolloutPlan) {
	return func(_ *telling, p *rolloutv1alpha1.RolloutPlan) {
		p.ProgressDeadlineSeconds, p.FailurePolicy = replicas(60), policy
	}
}

// stuckFor keeps a rollout from its end: by a version that is never ready or not soon, by nodes that are full, or by a controller that
// does nothing. After the deadline somebody may mend it.
func stuckFor(mend func(*telling)) func(*telling) error {
	return func(t *telling) error {
		switch t.op {
		case scalesUp:
			t.Say("cluster   has no room for another pod")
			t.full = true
		case scalesDown:
			t.Say("cluster   the controller of %s is out of order", t.subject.kind)
			t.stopped = true
		case rollsOut:
		}
		err := t.Until("the deadline", func() bool {
			r := t.trait()
			return r != nil && r.Status.Failure != nil && r.Status.Failure.Reason == "DeadlineMissed"
		})
		if err != nil {
			return err
		}
		if err := t.Pass(time.Minute); err != nil {
			return err
		}
		if t.full || t.stopped {
			t.Say("cluster   works again")
			t.full, t.stopped = false, false
		}
		if mend != nil {
			mend(t)
		}
		return nil
	}
}

func raiseDeadline(t *telling) {
	t.plan("raises the deadline", func(p *rolloutv1alpha1.RolloutPlan) { p.ProgressDeadlineSeconds = replicas(600) })
}

// metric is asked every ten seconds.
func metric(policy rolloutv1alpha1.FailurePolicy) func(*telling, *rolloutv1alpha1.RolloutPlan) {
	return func(_ *telling, p *rolloutv1alpha1.RolloutPlan) {
		p.FailurePolicy = policy
		p.CanaryMetric = []rolloutv1alpha1.CanaryMetric{errorRate()}
	}
}

func errorRate() rolloutv1alpha1.CanaryMetric {
	return rolloutv1alpha1.CanaryMetric{
		Name: "errors", Interval: &metav1.Duration{Duration: 10 * time.Second},
		MetricsRange: &rolloutv1alpha1.MetricsExpectedRange{Max: world.Number(errorsAllowed)},
		TemplateRef:  rolloutv1alpha1.MetricTemplateReference{Name: template},
	}
}

// badMetric has the metric go out of range in the second batch.
func badMetric(mend func(*telling)) func(*telling) error {
	return func(t *telling) error {
		if err := t.middle(); err != nil {
			return err
		}
		t.Say("metric    is out of range")
		t.errors = errorsAllowed + 4
		err := t.Until("the failure of the metric", func() bool {
			r := t.trait()
			return r != nil && r.Status.Failure != nil && r.Status.Failure.Reason == "MetricFailed"
		})
		if err != nil || mend == nil {
			return err
		}
		if err := t.Pass(time.Minute); err != nil {
			return err
		}
		t.Say("metric    is in range")
		t.errors = 0
		mend(t)
		return nil
	}
}

func retry(t *telling) { t.tells(rolloutv1alpha1.AnnotationRetry) }
