// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout/hook"
	"slipway.dev/slipway/internal/rollout/measure"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/kube"
	"slipway.dev/slipway/test/simulation/workload"
	"slipway.dev/slipway/test/simulation/world"
)

// tale is one random story of a rollout of one kind.
type tale struct {
	*world.Story
	of   *kind
	kube *kube.Controllers
	// full: no node has room. errors are what the metric gives.
	full   bool
	errors float64
	made   int // templates so far
	// closing: the last edit was made. last: so was the last rollout, which must succeed.
	closing, last bool
}

var _ world.Users = &tale{}

// The themes. A story about smooth rollouts has neither misfortunes nor broken versions, so that what serves can be held against it.
const smooth world.Theme = "smooth rollouts"

var themes = []world.Theme{world.Anything, smooth}

// Run plays the story of a seed. It returns the first violation, with what had happened at that point; nil if there is none.
func Run(seed uint64, mutation Hooks, tell func(format string, args ...any)) error {
	chosen := rand.New(rand.NewPCG(seed, 0x0b1ec7))
	return play(seed, subjects[chosen.IntN(len(subjects))], mutation, tell)
}

// play plays the story of a seed about a kind.
func play(seed uint64, of subject, mutation Hooks, tell func(format string, args ...any)) error {
	k := &kind{subject: of, mutation: mutation}
	s := &tale{Story: world.NewStory(seed, "", themes, k, tell), of: k}
	s.Tell("-- %s", of.name)
	s.kube = &kube.Controllers{World: s.World}
	s.Wakes = s.kube.Wakes
	s.Place = func(pod *corev1.Pod) (string, bool) { return place(s.World, pod, s.full) }
	return s.Play(s)
}

func (s *tale) trait() *rolloutv1alpha1.RolloutTrait { return typed(s.Set()) }

func (s *tale) workload(name string) client.Object {
	return s.Server.Get(s.of.stored, types.NamespacedName{Namespace: world.Namespace, Name: name})
}

// change is a write of a workload by somebody who is not the manager.
func (s *tale) change(name, says string, change func(client.Object)) {
	stored, err := s.Server.Modify("user", s.of.stored, types.NamespacedName{Namespace: world.Namespace, Name: name}, api.Main, change)
	s.Must(stored, err)
	s.Tell("user: %s %s: %+v", says, name, workload.SpecOf(stored))
}

func (s *tale) edit(change func(*rolloutv1alpha1.RolloutTrait)) {
	s.Edit(func(o client.Object) { change(typed(o)) })
}

// Begin makes the workload, or both.
func (s *tale) Begin() {
	s.of.furnish(s.World)
	if s.About(smooth) {
		s.Misfortunes = 0
	}
	s.Edits += 3
	s.furnishWorkloads()
}

// furnishWorkloads makes the workloads that are not there.
func (s *tale) furnishWorkloads() {
	names := []string{first}
	if s.of.pair() {
		names = append(names, second)
	}
	for _, name := range names {
		if s.workload(name) != nil {
			continue
		}
		n := 1 + s.Random.IntN(6)
		if name == second {
			n = s.Random.IntN(3)
		}
		o := s.of.newWorkload(name, int32(n), s.app())
		s.Must(s.Server.Create("user", o))
		s.Tell("user: makes %s %s: %+v", s.of.stored, name, workload.SpecOf(o))
	}
}

// app is a new version, mostly a healthy one.
func (s *tale) app() string {
	s.made++
	return s.SomeVersion(s.made, s.made == 1 || s.closing || s.About(smooth))
}

// newRollout asks for a rollout of some kind.
func (s *tale) newRollout() {
	s.furnishWorkloads()
	t := &rolloutv1alpha1.RolloutTrait{
		ObjectMeta: metav1.ObjectMeta{Namespace: world.Namespace, Name: world.SetName},
		Spec:       rolloutv1alpha1.RolloutTraitSpec{TargetRef: s.of.ref(first), RolloutPlan: s.plan()},
	}
	switch {
	case !s.of.daemons() && s.Random.IntN(3) == 0 && !s.closing:
		t.Spec.RolloutPlan.TargetSize = replicas(s.Random.IntN(9))
		t.Spec.RolloutPlan.RolloutBatches, t.Spec.RolloutPlan.NumBatches = nil, replicas(1+s.Random.IntN(3))
	case s.of.pair():
		from, to := first, second
		if workload.SpecOf(s.workload(second)).Replicas > workload.SpecOf(s.workload(first)).Replicas {
			from, to = second, first
		}
		t.Spec.TargetRef, t.Spec.SourceRef = s.of.ref(to), []rolloutv1alpha1.WorkloadReference{s.of.ref(from)}
		app := s.app()
		s.change(to, "gives a template to", func(o client.Object) { setApp(o, app) })
		if s.closing { // one that is in the middle of an update to a broken version would never be at rest
			s.change(from, "mends", func(o client.Object) { setApp(o, app+"-before") })
		}
	default:
		s.newTemplate()
	}
	s.Create(t)
}

// newTemplate gives the workload another template, and holds it back, mostly.
func (s *tale) newTemplate() {
	app := s.app()
	hold := s.closing || s.Random.IntN(8) > 0
	s.change(first, "gives a template to", func(o client.Object) {
		setApp(o, app)
		if hold {
			holdBack(o)
		}
	})
}

// plan is some plan.
func (s *tale) plan() rolloutv1alpha1.RolloutPlan {
	r := s.Random
	p := rolloutv1alpha1.RolloutPlan{RolloutBatches: [][]rolloutv1alpha1.RolloutBatch{
		batches("20%", ""), batches("1%", "30%", "50%", ""), batches("50%", ""), batches(""),
	}[r.IntN(4)]}
	if r.IntN(4) == 0 {
		p.RolloutBatches, p.NumBatches = nil, replicas(1+r.IntN(4))
	}
	for i := range p.RolloutBatches {
		if r.IntN(4) == 0 {
			p.RolloutBatches[i].MaxUnavailable = world.Percent(10 * r.IntN(4))
		}
		if r.IntN(6) == 0 {
			p.RolloutBatches[i].InstanceInterval = replicas(1 + r.IntN(10))
		}
	}
	p.RolloutStrategy = []rolloutv1alpha1.RolloutStrategyType{"", rolloutv1alpha1.IncreaseFirst, rolloutv1alpha1.DecreaseFirst}[r.IntN(3)]
	p.FailurePolicy = []rolloutv1alpha1.FailurePolicy{"", rolloutv1alpha1.FailOnFailure, rolloutv1alpha1.PauseOnFailure, rolloutv1alpha1.RevertOnFailure}[r.IntN(4)]
	p.RevertOnDelete = r.IntN(3) == 0
	if r.IntN(2) == 0 {
		p.ProgressDeadlineSeconds = replicas(30 + r.IntN(100))
	}
	if s.closing {
		p.RolloutBatches, p.NumBatches = nil, replicas(1+r.IntN(3)) // these add up for every size
		if s.of.positions() {
			p.NumBatches = replicas(1) // a set that goes by positions does not pass by a broken pod that no batch has reached
		}
		p.FailurePolicy, p.ProgressDeadlineSeconds = rolloutv1alpha1.FailOnFailure, nil
	} else if r.IntN(4) == 0 {
		p.BatchPartition = replicas(r.IntN(2))
	}
	if r.IntN(3) == 0 {
		p.CanaryMetric = []rolloutv1alpha1.CanaryMetric{errorRate()}
	}
	for _, of := range []rolloutv1alpha1.HookType{
		rolloutv1alpha1.InitializeRolloutHook, rolloutv1alpha1.PreBatchRolloutHook, rolloutv1alpha1.PostBatchRolloutHook, rolloutv1alpha1.FinalizeRolloutHook,
	} {
		if r.IntN(4) == 0 {
			p.RolloutWebhooks = append(p.RolloutWebhooks, rolloutv1alpha1.RolloutWebhook{Type: of, Name: "gate", URL: "http://hooks.test"})
		}
	}
	return p
}

// EditOnce is one thing that a person, or another program, does.
func (s *tale) EditOnce() {
	s.Edits--
	t := s.trait()
	switch {
	case t == nil:
		s.newRollout()
	case t.DeletionTimestamp != nil:
		s.fromOutside(t)
	case t.Status.RollingState.IsFinal():
		s.afterwards(t)
	case s.Random.IntN(3) == 0:
		s.fromOutside(t)
	default:
		s.edit(s.changePlan)
	}
}

// afterwards is what follows a rollout that has ended.
func (s *tale) afterwards(t *rolloutv1alpha1.RolloutTrait) {
	if s.Random.IntN(3) == 0 && t.Status.RollingState == rolloutv1alpha1.RolloutFailedState {
		s.say(rolloutv1alpha1.AnnotationRetry)
		return
	}
	s.Remove(api.RolloutTraits, world.SetName)
	s.Edits++
}

// say is what a person says about the try, or the step, that is under way.
func (s *tale) say(key string) {
	s.edit(func(t *rolloutv1alpha1.RolloutTrait) {
		value := t.Status.Take()
		if key == rolloutv1alpha1.AnnotationApprove {
			value = t.Status.Step()
		}
		t.Annotations = world.Merged(t.Annotations, key, value)
		s.Tell("user: says %s=%s", key, value)
	})
}

// changePlan is one thing that may be changed in a plan that is carried out.
func (s *tale) changePlan(t *rolloutv1alpha1.RolloutTrait) {
	p, r := &t.Spec.RolloutPlan, s.Random
	switch n := r.IntN(12); {
	case n < 4:
		p.Paused = !p.Paused
	case n < 6:
		if p.BatchPartition != nil && r.IntN(2) == 0 {
			p.BatchPartition = replicas(int(*p.BatchPartition) + 1)
		} else {
			p.BatchPartition = nil
		}
	case n < 7:
		p.FailurePolicy = []rolloutv1alpha1.FailurePolicy{rolloutv1alpha1.FailOnFailure, rolloutv1alpha1.PauseOnFailure, rolloutv1alpha1.RevertOnFailure}[r.IntN(3)]
	case n < 8:
		p.RevertOnDelete = !p.RevertOnDelete
	case n < 9:
		p.ProgressDeadlineSeconds = replicas(r.IntN(200))
	case n < 10 && t.Status.Running != nil && t.Status.Running.TargetSize != nil:
		p.TargetSize = replicas(r.IntN(9))
	default:
		key := []string{
			rolloutv1alpha1.AnnotationAbort, rolloutv1alpha1.AnnotationRevert, rolloutv1alpha1.AnnotationRetry, rolloutv1alpha1.AnnotationApprove,
		}[r.IntN(4)]
		value := t.Status.Take()
		if key == rolloutv1alpha1.AnnotationApprove {
			value = t.Status.Step()
		}
		t.Annotations = world.Merged(t.Annotations, key, value)
		s.Tell("user: says %s=%s", key, value)
	}
}

// fromOutside is what happens to a rollout.
func (s *tale) fromOutside(t *rolloutv1alpha1.RolloutTrait) {
	r := s.Random
	switch n := r.IntN(16); {
	case n < 3 && t.DeletionTimestamp == nil:
		s.Remove(api.RolloutTraits, world.SetName)
	case n < 6 && s.workload(first) != nil:
		if s.of.daemons() {
			newNode(s.World, len(s.Server.List(api.Nodes)))
			s.Tell("nodes: there is another one")
			return
		}
		size := int32(r.IntN(9))
		s.change(first, "resizes", func(o client.Object) { *workload.FieldsOf(o).Replicas = &size })
	case n < 8 && !s.of.pair() && s.workload(first) != nil:
		s.newTemplate()
	case n < 9 && r.IntN(2) == 0 && s.workload(first) != nil:
		s.Remove(s.of.stored, first)
	case n < 11 && !s.About(smooth):
		s.full = !s.full
		s.Tell("nodes: are full: %t", s.full)
	case n < 13:
		s.of.stopped = !s.of.stopped
		s.Tell("controllers: are out of order: %t", s.of.stopped)
	default:
		s.errors = errorsAllowed + 1 - s.errors
		s.Tell("metric: gives %v", s.errors)
	}
}

// DisturbPod is one misfortune of a pod.
func (s *tale) DisturbPod(pod *corev1.Pod) { s.LosePod(pod) }

// Chores are what goes on besides: the controllers of Kubernetes, and the answers of webhooks and metrics.
func (s *tale) Chores(add func(weight int, do func())) {
	s.kube.Stopped = s.of.stopped
	if act := s.kube.Step(); act != nil {
		add(s.Weights.Reconcile, act)
	}
	if r := s.of.calls.open(); r != nil {
		add(s.Weights.Reconcile, func() {
			switch n := s.Random.IntN(20); {
			case s.closing || n > 3:
				s.of.judge.called(r.key, true)
				s.of.calls.answer(r, hook.Answer{Passed: true})
			case n == 0:
				s.of.calls.answer(r, hook.Answer{Message: "no"})
			default:
				s.of.calls.again(r, "503")
			}
			s.Tell("webhook: answers %s: %+v", r.key, r.Report)
		})
	}
	if r := s.of.samples.open(); r != nil {
		add(s.Weights.Reconcile, func() {
			s.of.judge.measured(r.key, s.errors <= errorsAllowed)
			s.of.samples.answer(r, measure.Of(s.errors))
			s.Tell("metric: answers %s: %v", r.key, s.errors)
		})
	}
	if s.closing && s.Calm && !s.last {
		s.close(add)
	}
}
