// SPDX-License-Identifier: Apache-2.0

package world

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/test/simulation/api"
)

// Scenario is a release that is told line by line, in a world where nothing is late and nothing fails.
type Scenario[S client.Object] struct {
	// Set is what the user creates.
	Set S
	// Before prepares the world for it, and Besides is somebody else who acts when the manager has nothing to do; both may be nil.
	Before  func(*World)
	Besides func() func()
	// Moments follow one after the other.
	Moments []Moment[S]
}

// Moment is something that a person does.
type Moment[S client.Object] struct {
	// After is how many passes with steps are waited for; 0 waits until the world has come to rest.
	After int
	// Says tells it in the transcript.
	Says string
	// Edit changes the spec; Pods changes pods, in the order of their names, and deletes those that it gives a time of
	// deletion. Either may be nil.
	Edit func(S)
	Pods func([]*corev1.Pod)
	// Deletes the set.
	Deletes bool
	// World changes something else, or sees to what happens next; it may be nil.
	World func(*World)
	// For is how long is waited instead, when it is not 0.
	For time.Duration
	// Resends: nodes that have not seen yet that their pod was drained report it ready once more.
	Resends bool
}

// transcript is a scenario while it is told.
type transcript struct {
	*Orderly
	lines  []string
	passes int
	last   *Plan
	was    string // the members at the start of the running pass
}

// Tell plays a scenario and returns its transcript. An error is a violation of a rule, or a world that does not come to rest.
func Tell[S client.Object](kind Kind, s Scenario[S]) (string, error) {
	t := &transcript{Orderly: NewOrderly(kind)}
	t.Look, t.Besides = t.pass, s.Besides
	t.Manager.OnPlan = func(p Plan) { t.last = &p }
	if s.Before != nil {
		s.Before(t.World)
	}
	t.Create(s.Set)
	t.say("user creates the set: %s", t.Kind.Describe(t.Set()))
	t.Manager.Start(nil)
	for _, m := range s.Moments {
		if err := t.wait(m.After, m.For); err != nil {
			return t.text(), err
		}
		happen(t, m)
	}
	if err := t.wait(0, 0); err != nil {
		return t.text(), err
	}
	t.end()
	return t.text(), nil
}

func (t *transcript) say(format string, args ...any) {
	t.lines = append(t.lines, t.Clock.Now().Format("15:04:05 ")+fmt.Sprintf(format, args...))
}

func (t *transcript) text() string { return strings.Join(t.lines, "\n") + "\n" }

func happen[S client.Object](t *transcript, m Moment[S]) {
	t.say("%s", t.Summary())
	if m.Edit != nil {
		t.Edit(func(o client.Object) {
			if set, is := o.(S); is {
				m.Edit(set)
			}
		})
		t.say("user %s: %s", m.Says, t.Kind.Describe(t.Set()))
	}
	if m.Deletes {
		t.Remove(t.Kind.Stored(), SetName)
		t.say("user %s", m.Says)
	}
	if m.World != nil {
		m.World(t.World)
		t.say("%s", m.Says)
	}
	if m.Resends {
		t.say("%s", m.Says)
		for _, pod := range t.Pods() {
			if k := t.Kubelet[pod.UID]; k.contradicts(pod) {
				t.resend(pod, k)
			}
		}
	}
	if m.Pods == nil {
		return
	}
	before := t.Pods()
	copies := make([]*corev1.Pod, 0, len(before))
	for _, pod := range before {
		copies = append(copies, pod.DeepCopy())
	}
	m.Pods(copies)
	for i, pod := range copies {
		if pod.DeletionTimestamp != nil && before[i].DeletionTimestamp == nil {
			t.Remove(api.Pods, pod.Name)
			continue
		}
		if !reflect.DeepEqual(pod, before[i]) {
			t.Must(t.Server.Update("user", api.Main, pod))
		}
	}
	t.say("user %s", m.Says)
	t.Notice()
}

// wait lets things happen for some time, until there were so many passes with steps, or until the world has come to rest.
func (t *transcript) wait(passes int, limit time.Duration) error {
	if limit > 0 {
		return t.Pass(limit)
	}
	until := t.passes + passes
	return t.restOr(func() bool { return passes > 0 && t.passes >= until })
}

// pass reconciles once and tells what was planned.
func (t *transcript) pass() error {
	t.was, t.last = t.Summary(), nil
	notations := map[types.UID]string{}
	if t.Set() != nil && t.Judge != nil {
		s := t.Scene()
		for _, pod := range s.Pods {
			notations[pod.UID] = s.Rules.Notation(pod)
		}
	}
	err := t.Manager.Reconcile()
	if t.last == nil || len(t.last.Steps)+len(t.last.Lines) == 0 {
		return err
	}
	t.passes++
	t.say("%s", t.was)
	for _, line := range append(tellSteps(t.last.Steps, notations), t.last.Lines...) {
		t.lines = append(t.lines, "           "+line)
	}
	return err
}

// end tells what has become of the set.
func (t *transcript) end() {
	t.say("%s", t.Summary())
	if t.Set() != nil {
		lines := t.Kind.Outcome(t.Set())
		if t.last != nil && t.last.Held != "" {
			lines[0] += "; held: " + t.last.Held
		}
		for _, line := range lines {
			t.lines = append(t.lines, strings.TrimRight("           "+line, ": "))
		}
	}
	if t.Volumes {
		t.tellClaims()
	}
	writes := 0
	for _, w := range t.Server.Log() {
		if w.Actor == Actor && w.Kind == api.Pods {
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
	case step.Annotate:
		return "annotate", s.Target
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
	case step.ResizeClaim:
		return "resize claim", s.Target
	case step.CreatePod:
		return "create", step.On(s.Pod)
	case step.DeletePod:
		return "delete", s.Target
	case step.ReleasePod:
		return "release", s.Target
	case step.PatchPod:
		return "patch", s.Target
	case step.SetConditions:
		for _, c := range s.Conditions {
			if c.Type == kruisev1alpha1.ConditionInPlaceUpdateReady && c.Status == corev1.ConditionFalse {
				return "take out of service", s.Target
			}
		}
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

func (t *transcript) tellClaims() {
	for _, claim := range t.Claims() {
		text := fmt.Sprintf("           claim %s of %s", claim.Name, claim.Spec.Resources.Requests.Storage())
		for _, o := range claim.OwnerReferences {
			text += ", goes with " + o.Kind + " " + o.Name
		}
		t.lines = append(t.lines, text)
	}
}
