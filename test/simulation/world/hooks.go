// SPDX-License-Identifier: Apache-2.0

package world

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/simulation/api"
)

// Handlers are a label or a finalizer of a name; hooks may share them, as those of real providers do.
const (
	HandlerDelete = "hook-delete"
	HandlerUpdate = "hook-update"
	HandlerNormal = "hook-normal"
	HandlerValue  = "hold"
	HandlerDomain = "example.com/"
)

// HeldBy are the letters by which a Release says which handlers its template has.
var HeldBy = []struct{ letter, handler string }{{"d", HandlerDelete}, {"u", HandlerUpdate}, {"n", HandlerNormal}}

// Hook is a hook of a set.
type Hook = kruisev1alpha1.LifecycleHook

// handlers counts the handlers of a hook, and those of them that are on the pod.
func handlers(h *Hook, pod *corev1.Pod) (all, there int) {
	if h == nil {
		return 0, 0
	}
	for key, value := range h.LabelsHandler {
		all++
		if got, has := pod.Labels[key]; has && got == value {
			there++
		}
	}
	for _, f := range h.FinalizersHandler {
		all++
		if slices.Contains(pod.Finalizers, f) {
			there++
		}
	}
	return all, there
}

// Blocks tells whether a handler of the hook is on the pod.
func Blocks(h *Hook, pod *corev1.Pod) bool {
	_, there := handlers(h, pod)
	return there > 0
}

// Complete tells whether all handlers of the hook are on the pod.
func Complete(h *Hook, pod *corev1.Pod) bool {
	all, there := handlers(h, pod)
	return all == there
}

// Configured tells whether the hook has any handler.
func Configured(h *Hook) bool { return h != nil && len(h.LabelsHandler)+len(h.FinalizersHandler) > 0 }

// AnyConfigured tells whether any hook has a handler.
func AnyConfigured(l kruisev1alpha1.Lifecycle) bool {
	return Configured(l.PreDelete) || Configured(l.InPlaceUpdate) || Configured(l.PreNormal)
}

// StateOf is the state of the pod in its life.
func StateOf(pod *corev1.Pod) kruisev1alpha1.LifecycleState {
	if state := kruisev1alpha1.LifecycleState(pod.Labels[kruisev1alpha1.LabelLifecycleState]); state != "" {
		return state
	}
	return kruisev1alpha1.LifecycleNormal
}

// Entry is one reason in the message of condition KruisePodReady.
type Entry struct {
	UserAgent string `json:"userAgent"`
	Key       string `json:"key"`
}

// The reasons that there are.
var (
	EntryDelete = Entry{"Lifecycle", "preDeleteHook"}
	EntryUpdate = Entry{"Lifecycle", "preUpdateHook"}
	EntryOther  = Entry{"restarter", "web"}
)

// Entries are the reasons that keep a pod out of service.
func Entries(pod *corev1.Pod) []Entry {
	c := Condition(pod, kruisev1alpha1.ConditionKruisePodReady)
	if c == nil || c.Message == "" {
		return nil
	}
	var list []Entry
	if err := json.Unmarshal([]byte(c.Message), &list); err != nil {
		panic(fmt.Sprintf("condition %s of pod %s cannot be read: %v", c.Type, pod.Name, err))
	}
	return list
}

// HasMarkGate tells whether hooks and other programs can take the pod out of service.
func HasMarkGate(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.ReadinessGates, func(g corev1.PodReadinessGate) bool {
		return g.ConditionType == kruisev1alpha1.ConditionKruisePodReady
	})
}

// RandomLifecycle is a new configuration of hooks; nil takes all of them away.
func (s *Story) RandomLifecycle() *kruisev1alpha1.Lifecycle {
	r := s.Random
	draw := func(names ...string) *Hook {
		if r.IntN(3) == 0 {
			return nil
		}
		h, name := &Hook{MarkPodNotReady: r.IntN(3) == 0}, names[r.IntN(len(names))]
		kind := r.IntN(3)
		if kind != 0 {
			h.LabelsHandler = map[string]string{name: HandlerValue}
		}
		if kind != 1 {
			h.FinalizersHandler = []string{HandlerDomain + name}
		}
		return h
	}
	if r.IntN(5) == 0 {
		return nil
	}
	return &kruisev1alpha1.Lifecycle{
		PreDelete:     draw(HandlerDelete),
		InPlaceUpdate: draw(HandlerUpdate, HandlerUpdate, HandlerDelete),
		PreNormal:     draw(HandlerNormal, HandlerDelete, HandlerUpdate),
	}
}

// RandomHeld are handlers for a template.
func (s *Story) RandomHeld() string {
	return []string{"", "d", "u", "du", "du", "dun"}[s.Random.IntN(6)]
}

// Preparing returns a release that can be had by calling off the preparation of an update.
func (s *Story) Preparing() (Release, bool) {
	for _, pod := range s.Pods() {
		if StateOf(pod) != kruisev1alpha1.LifecyclePreparingUpdate {
			continue
		}
		for _, r := range s.Releases {
			if r.Visible() == Running(pod) && r.Healthy() {
				return r, true
			}
		}
	}
	return Release{}, false
}

// DescribeHooks tells the hooks of a set behind its other fields.
func DescribeHooks(l kruisev1alpha1.Lifecycle) string {
	var parts []string
	for _, h := range []struct {
		name string
		hook *Hook
	}{{"preDelete", l.PreDelete}, {"inPlaceUpdate", l.InPlaceUpdate}, {"preNormal", l.PreNormal}} {
		if !Configured(h.hook) {
			continue
		}
		text := h.name
		for key := range h.hook.LabelsHandler {
			text += " " + key
		}
		for _, f := range h.hook.FinalizersHandler {
			text += " " + f
		}
		if h.hook.MarkPodNotReady {
			text += " marks"
		}
		parts = append(parts, text)
	}
	if parts == nil {
		return ""
	}
	return " hooks=[" + strings.Join(parts, "; ") + "]"
}

// provide offers what the provider of the hooks may do to a pod. In the storm it is as slow as the story has it, also never. In
// calm time it finishes what it was asked for and begins nothing.
func (s *Story) provide(add func(int, func()), pod *corev1.Pod, l kruisev1alpha1.Lifecycle) {
	weight := s.Weights.Hook
	if s.Calm {
		weight = 10
	}
	if weight == 0 {
		return
	}
	if says, change := Provision(pod, l); change != nil {
		add(weight, func() { s.Provider(pod, says, change) })
	}
	if pod.DeletionTimestamp != nil {
		return
	}
	if StateOf(pod) == kruisev1alpha1.LifecycleNormal && !s.Calm && !(Complete(l.PreDelete, pod) && Complete(l.InPlaceUpdate, pod)) {
		add(1, func() {
			s.Provider(pod, "takes charge of", func(o client.Object) { register(l.PreDelete, o); register(l.InPlaceUpdate, o) })
		})
	}
	s.restart(add, pod)
}

// Provision is what a pod asks of the provider, in words and as a change; nil for nothing.
func Provision(pod *corev1.Pod, l kruisev1alpha1.Lifecycle) (says string, change func(client.Object)) {
	state := StateOf(pod)
	switch {
	case pod.DeletionTimestamp != nil:
		if slices.ContainsFunc(pod.Finalizers, isHandler) {
			return "lets go of", func(o client.Object) { o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), isHandler)) }
		}
	case state == kruisev1alpha1.LifecyclePreparingNormal && !Complete(l.PreNormal, pod):
		return "prepares", func(o client.Object) { register(l.PreNormal, o) }
	case state == kruisev1alpha1.LifecyclePreparingUpdate && Blocks(l.InPlaceUpdate, pod):
		return "allows the update of", func(o client.Object) { withdraw(l.InPlaceUpdate, o) }
	case state == kruisev1alpha1.LifecyclePreparingDelete && Blocks(l.PreDelete, pod):
		return "allows the deletion of", func(o client.Object) { withdraw(l.PreDelete, o) }
	case state == kruisev1alpha1.LifecycleUpdated && !Complete(l.InPlaceUpdate, pod):
		return "has checked", func(o client.Object) { register(l.InPlaceUpdate, o) }
	}
	return "", nil
}

// Provider has the provider of the hooks change a pod.
func (s *Story) Provider(pod *corev1.Pod, says string, change func(client.Object)) {
	s.Must(s.Server.Modify("hook", api.Pods, client.ObjectKeyFromObject(pod), api.Main, change))
	s.Tell("hook: %s %s", says, pod.Name)
	s.Notice()
}

func isHandler(finalizer string) bool { return strings.HasPrefix(finalizer, HandlerDomain) }

func register(h *Hook, o client.Object) {
	if h == nil {
		return
	}
	for key, value := range h.LabelsHandler {
		o.SetLabels(Merged(o.GetLabels(), key, value))
	}
	for _, f := range h.FinalizersHandler {
		if !slices.Contains(o.GetFinalizers(), f) {
			o.SetFinalizers(append(o.GetFinalizers(), f))
		}
	}
}

func withdraw(h *Hook, o client.Object) {
	for key := range h.LabelsHandler {
		delete(o.GetLabels(), key)
	}
	o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return slices.Contains(h.FinalizersHandler, f) }))
}

// restart is another program that takes pods out of service by the same condition.
func (s *Story) restart(add func(int, func()), pod *corev1.Pod) {
	if !HasMarkGate(pod) {
		return
	}
	list := Entries(pod)
	there := slices.Contains(list, EntryOther)
	comes, goes := 1, 5
	if s.About(Hooked) {
		comes, goes = 4, 1
	}
	switch {
	case there:
		add(goes, func() {
			list := slices.DeleteFunc(slices.Clone(list), func(e Entry) bool { return e == EntryOther })
			s.enter(pod, list, "is done with")
		})
	case !s.Calm && (s.Random.IntN(4) == 0 || s.About(Hooked)):
		add(comes, func() { s.enter(pod, append(slices.Clone(list), EntryOther), "takes out of service") })
	}
}

// enter writes the condition. The other program's name sorts behind ours.
func (s *Story) enter(pod *corev1.Pod, list []Entry, says string) {
	message, err := json.Marshal(list)
	if err != nil {
		panic(fmt.Sprintf("encoding entries: %v", err))
	}
	c := corev1.PodCondition{
		Type: kruisev1alpha1.ConditionKruisePodReady, Status: corev1.ConditionTrue, Message: string(message),
		LastTransitionTime: metav1.NewTime(s.Clock.Now()),
	}
	if len(list) > 0 {
		c.Status = corev1.ConditionFalse
	}
	s.Must(s.Server.Modify("restarter", api.Pods, client.ObjectKeyFromObject(pod), api.Status, func(o client.Object) {
		written := o.(*corev1.Pod)
		if before := Condition(written, c.Type); before != nil {
			*before = c
		} else {
			written.Status.Conditions = append(written.Status.Conditions, c)
		}
	}))
	s.Tell("restarter: %s %s", says, pod.Name)
	s.Notice()
}

// FullLifecycle has all hooks, each with its own handler.
func (s *Story) FullLifecycle() *kruisev1alpha1.Lifecycle {
	marks := s.Random.IntN(2) == 0
	draw := func(name string) *Hook {
		h := &Hook{MarkPodNotReady: marks && s.Random.IntN(3) != 0}
		if kind := s.Random.IntN(4); kind != 0 {
			h.LabelsHandler = map[string]string{name: HandlerValue}
			if kind != 1 {
				return h
			}
		}
		h.FinalizersHandler = []string{HandlerDomain + name}
		return h
	}
	l := &kruisev1alpha1.Lifecycle{PreDelete: draw(HandlerDelete), InPlaceUpdate: draw(HandlerUpdate)}
	if s.Random.IntN(2) == 0 {
		l.PreNormal = draw(HandlerNormal)
	}
	return l
}
