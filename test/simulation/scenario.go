// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/cloneset/plan"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/test/node"
	"slipway.dev/slipway/test/simulation/api"
)

// Scenario is a release that is told line by line, in a world where nothing is late and nothing fails.
type Scenario struct {
	// Set is what the user creates.
	Set *kruisev1alpha1.CloneSet
	// Moments follow one after the other.
	Moments []Moment
}

// Moment is something that a person does.
type Moment struct {
	// After is how many passes with steps are waited for; 0 waits until the world has come to rest.
	After int
	// Says tells it in the transcript.
	Says string
	// Edit changes the spec; Pods changes pods, in the order of their names. Either may be nil.
	Edit func(*kruisev1alpha1.CloneSet)
	Pods func([]*corev1.Pod)
}

// story is a scenario while it is told.
type story struct {
	*world
	lines  []string
	passes int
	last   *plan.Plan
	was    string // the members at the start of the running pass
}

// Tell plays a scenario and returns its transcript. An error is a violation of a rule, or a world that does not come to rest.
func Tell(s Scenario) (string, error) {
	t := &story{world: newWorld(1, Hooks{}, nil)}
	t.model = node.Model{ReadyDelay: 2 * time.Second, RestartDelay: time.Second, CrashAfter: time.Second, BackOff: 10 * time.Second, MaxBackOff: 5 * time.Minute,
		ResizeDelay: time.Second, Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}}
	t.manager.planned = func(p plan.Plan) { t.last = &p }
	t.create(s.Set)
	t.say("user creates the set: %s", describeSpec(t.set()))
	t.manager.start(nil)
	for _, m := range s.Moments {
		if err := t.wait(m.After); err != nil {
			return t.text(), err
		}
		t.happen(m)
	}
	if err := t.wait(0); err != nil {
		return t.text(), err
	}
	t.end()
	return t.text(), nil
}

func (t *story) say(format string, args ...any) {
	t.lines = append(t.lines, t.clock.Now().Format("15:04:05 ")+fmt.Sprintf(format, args...))
}

func (t *story) text() string { return strings.Join(t.lines, "\n") + "\n" }

func (t *story) happen(m Moment) {
	t.say("%s", t.summary())
	if m.Edit != nil {
		t.edit(m.Edit)
		t.say("user %s: %s", m.Says, describeSpec(t.set()))
	}
	if m.Pods == nil {
		return
	}
	before := t.pods()
	copies := make([]*corev1.Pod, 0, len(before))
	for _, pod := range before {
		copies = append(copies, pod.DeepCopy())
	}
	m.Pods(copies)
	for i, pod := range copies {
		if !reflect.DeepEqual(pod, before[i]) {
			t.must(t.server.Update("user", api.Main, pod))
		}
	}
	t.say("user %s", m.Says)
	t.notice()
}

// wait lets everything happen in a fixed order: the cache learns, the manager looks, pods are bound, nodes act, time passes.
func (t *story) wait(passes int) error {
	until := t.passes + passes
	lastWrite := t.clock.Now()
	for range patience {
		if t.judge.err != nil {
			return t.judge.err
		}
		if passes > 0 && t.passes >= until {
			return nil
		}
		before := len(t.server.Log())
		if t.step() {
			for _, w := range t.server.Log()[before:] {
				if w.Actor == manager && w.Kind != api.CloneSets {
					lastWrite = t.clock.Now()
				}
			}
			continue
		}
		at, some := t.nextAlarm()
		if !some || t.clock.Now().Sub(lastWrite) > quiet {
			return nil
		}
		t.advance(max(at.Sub(t.clock.Now()), 0))
	}
	return fmt.Errorf("the world does not come to rest within %d steps", patience)
}

func (t *story) step() bool {
	for _, kind := range api.Kinds() {
		if t.manager.cache.Pending(kind) > 0 {
			t.manager.deliver(kind)
			return true
		}
	}
	if t.manager.queued {
		t.pass()
		return true
	}
	if claim := t.unused(); claim != nil {
		t.unprotect(claim)
		return true
	}
	for _, pod := range t.pods() {
		switch {
		case pod.Spec.NodeName == "" && active(pod):
			t.bind(pod)
			return true
		case t.kubelet[pod.UID].busy:
			t.stepNode(pod)
			return true
		}
	}
	return false
}

// pass reconciles once and tells what was planned.
func (t *story) pass() {
	t.was, t.last = t.summary(), nil
	notations := map[types.UID]string{}
	if set := t.set(); set != nil {
		s := t.judge.scene(api.Write{Kind: api.CloneSets}, set)
		for _, pod := range s.pods {
			notations[pod.UID] = s.notation(pod)
		}
	}
	if err := t.manager.reconcile(fault{}); err != nil && t.judge.err == nil {
		t.judge.err = err
	}
	if t.last == nil || len(t.last.Steps) == 0 {
		return
	}
	t.passes++
	t.say("%s", t.was)
	for _, line := range tellSteps(t.last.Steps, notations) {
		t.lines = append(t.lines, "           "+line)
	}
}

// end tells what has become of the set.
func (t *story) end() {
	t.say("%s", t.summary())
	set := t.set()
	status := told(&set.Status)
	text := fmt.Sprintf("%d replicas, %d ready, %d available, %d updated of %d expected", status.Replicas, status.Ready, status.Available, status.Updated, status.ExpectedUpdated)
	if set.Status.CurrentRevision == set.Status.UpdateRevision {
		text += ", the release is complete"
	}
	if t.last != nil && t.last.Held != "" {
		text += "; held: " + t.last.Held
	}
	t.lines = append(t.lines, "           "+text)
	for _, c := range set.Status.Conditions {
		t.lines = append(t.lines, strings.TrimRight(fmt.Sprintf("           %s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message), ": "))
	}
	writes := 0
	for _, w := range t.server.Log() {
		if w.Actor == manager && w.Kind == api.Pods {
			writes++
		}
	}
	t.lines = append(t.lines, fmt.Sprintf("           %d writes to pods", writes))
}

// tellSteps puts steps with the same verb, kind of pod and reason on one line.
func tellSteps(steps []step.Step, notations map[types.UID]string) []string {
	type group struct{ verb, notation, why string }
	names := map[group][]string{}
	var order []group
	for _, s := range steps {
		verb, target := verbOf(s)
		g := group{verb, notations[target.UID], s.Why()}
		if _, is := s.(step.CreatePod); is {
			g.notation = " new"
		}
		if names[g] == nil {
			order = append(order, g)
		}
		names[g] = append(names[g], s.Subject())
	}
	var lines []string
	for _, g := range order {
		what := strings.Join(names[g], ", ")
		if g.notation != "" {
			what = fmt.Sprintf("%d%s (%s)", len(names[g]), g.notation, what)
		}
		lines = append(lines, fmt.Sprintf("%s %s: %s", g.verb, what, g.why))
	}
	return lines
}

func verbOf(s step.Step) (string, step.Target) {
	switch s := s.(type) {
	case step.CreateRevision:
		return "record", step.On(&appsv1.ControllerRevision{})
	case step.AdoptRevision:
		return "adopt", s.Target
	case step.RenumberRevision:
		return "renumber", s.Target
	case step.ForgetRevision:
		return "forget", s.Target
	case step.CreateClaim:
		return "create claim", step.On(s.Claim)
	case step.DeleteClaim:
		return "delete claim", s.Target
	case step.GiveClaim:
		return "give " + s.Pod + " its claim", s.Target
	case step.TrimPodsToDelete:
		return fmt.Sprintf("keep %v in podsToDelete of", s.Keep), s.Target
	case step.CreatePod:
		return "create", step.On(s.Pod)
	case step.DeletePod:
		return "delete", s.Target
	case step.ReleasePod:
		return "release", s.Target
	case step.PatchPod:
		return "patch", s.Target
	case step.SetConditions:
		return "put into service", s.Target
	case step.UpdateInPlace:
		switch {
		case s.Resumes:
			return changeOf(s) + " the containers of", s.Target
		case s.Grace > 0:
			return "drain for " + s.Grace.String(), s.Target
		case len(s.Drain) > 0:
			return "drain and " + changeOf(s), s.Target
		}
		return changeOf(s), s.Target
	}
	return fmt.Sprintf("%T", s), step.Target{}
}

func changeOf(s step.UpdateInPlace) string {
	if len(s.Resize) > 0 {
		return "resize and change"
	}
	return "change"
}
