// SPDX-License-Identifier: Apache-2.0

package simulation

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
	handlerDelete = "hook-delete"
	handlerUpdate = "hook-update"
	handlerNormal = "hook-normal"
	handlerValue  = "hold"
	handlerDomain = "example.com/"
)

// heldBy are the letters by which a Release says which handlers its template has.
var heldBy = []struct{ letter, handler string }{{"d", handlerDelete}, {"u", handlerUpdate}, {"n", handlerNormal}}

type hook = kruisev1alpha1.LifecycleHook

func hooksOf(set *kruisev1alpha1.CloneSet) kruisev1alpha1.Lifecycle {
	if set == nil || set.Spec.Lifecycle == nil {
		return kruisev1alpha1.Lifecycle{}
	}
	return *set.Spec.Lifecycle
}

// handlers counts the handlers of a hook, and those of them that are on the pod.
func handlers(h *hook, pod *corev1.Pod) (all, there int) {
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

func blocks(h *hook, pod *corev1.Pod) bool {
	_, there := handlers(h, pod)
	return there > 0
}

func complete(h *hook, pod *corev1.Pod) bool {
	all, there := handlers(h, pod)
	return all == there
}

func configured(h *hook) bool { return h != nil && len(h.LabelsHandler)+len(h.FinalizersHandler) > 0 }

func anyConfigured(l kruisev1alpha1.Lifecycle) bool {
	return configured(l.PreDelete) || configured(l.InPlaceUpdate) || configured(l.PreNormal)
}

func stateOf(pod *corev1.Pod) kruisev1alpha1.LifecycleState {
	if state := kruisev1alpha1.LifecycleState(pod.Labels[kruisev1alpha1.LabelLifecycleState]); state != "" {
		return state
	}
	return kruisev1alpha1.LifecycleNormal
}

// entry is one reason in the message of condition KruisePodReady.
type entry struct {
	UserAgent string `json:"userAgent"`
	Key       string `json:"key"`
}

var (
	entryDelete = entry{"Lifecycle", "preDeleteHook"}
	entryUpdate = entry{"Lifecycle", "preUpdateHook"}
	entryOther  = entry{"restarter", "web"}
)

func entries(pod *corev1.Pod) []entry {
	c := condition(pod, kruisev1alpha1.ConditionKruisePodReady)
	if c == nil || c.Message == "" {
		return nil
	}
	var list []entry
	if err := json.Unmarshal([]byte(c.Message), &list); err != nil {
		panic(fmt.Sprintf("condition %s of pod %s cannot be read: %v", c.Type, pod.Name, err))
	}
	return list
}

func hasMarkGate(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.ReadinessGates, func(g corev1.PodReadinessGate) bool {
		return g.ConditionType == kruisev1alpha1.ConditionKruisePodReady
	})
}

// randomLifecycle is a new configuration of hooks; nil takes all of them away.
func (s *simulation) randomLifecycle() *kruisev1alpha1.Lifecycle {
	r := s.random
	draw := func(names ...string) *hook {
		if r.IntN(3) == 0 {
			return nil
		}
		h, name := &hook{MarkPodNotReady: r.IntN(3) == 0}, names[r.IntN(len(names))]
		kind := r.IntN(3)
		if kind != 0 {
			h.LabelsHandler = map[string]string{name: handlerValue}
		}
		if kind != 1 {
			h.FinalizersHandler = []string{handlerDomain + name}
		}
		return h
	}
	if r.IntN(5) == 0 {
		return nil
	}
	return &kruisev1alpha1.Lifecycle{
		PreDelete:     draw(handlerDelete),
		InPlaceUpdate: draw(handlerUpdate, handlerUpdate, handlerDelete),
		PreNormal:     draw(handlerNormal, handlerDelete, handlerUpdate),
	}
}

func (s *simulation) randomHeld() string {
	return []string{"", "d", "u", "du", "du", "dun"}[s.random.IntN(6)]
}

// preparing returns a release that can be had by calling off the preparation of an update.
func (s *simulation) preparing() (Release, bool) {
	for _, pod := range s.pods() {
		if stateOf(pod) != kruisev1alpha1.LifecyclePreparingUpdate {
			continue
		}
		for _, r := range s.releases {
			if r.visible() == running(pod) && r.Healthy() {
				return r, true
			}
		}
	}
	return Release{}, false
}

func describeHooks(l kruisev1alpha1.Lifecycle) string {
	var parts []string
	for _, h := range []struct {
		name string
		hook *hook
	}{{"preDelete", l.PreDelete}, {"inPlaceUpdate", l.InPlaceUpdate}, {"preNormal", l.PreNormal}} {
		if !configured(h.hook) {
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
func (s *simulation) provide(add func(int, func()), pod *corev1.Pod, l kruisev1alpha1.Lifecycle) {
	weight := s.weights.hook
	if s.calm {
		weight = 10
	}
	if weight == 0 {
		return
	}
	if says, change := provision(pod, l); change != nil {
		add(weight, func() { s.provider(pod, says, change) })
	}
	if pod.DeletionTimestamp != nil {
		return
	}
	if stateOf(pod) == kruisev1alpha1.LifecycleNormal && !s.calm && !(complete(l.PreDelete, pod) && complete(l.InPlaceUpdate, pod)) {
		add(1, func() {
			s.provider(pod, "takes charge of", func(o client.Object) { register(l.PreDelete, o); register(l.InPlaceUpdate, o) })
		})
	}
	s.restart(add, pod)
}

// provision is what a pod asks of the provider, in words and as a change; nil for nothing.
func provision(pod *corev1.Pod, l kruisev1alpha1.Lifecycle) (says string, change func(client.Object)) {
	state := stateOf(pod)
	switch {
	case pod.DeletionTimestamp != nil:
		if slices.ContainsFunc(pod.Finalizers, isHandler) {
			return "lets go of", func(o client.Object) { o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), isHandler)) }
		}
	case state == kruisev1alpha1.LifecyclePreparingNormal && !complete(l.PreNormal, pod):
		return "prepares", func(o client.Object) { register(l.PreNormal, o) }
	case state == kruisev1alpha1.LifecyclePreparingUpdate && blocks(l.InPlaceUpdate, pod):
		return "allows the update of", func(o client.Object) { withdraw(l.InPlaceUpdate, o) }
	case state == kruisev1alpha1.LifecyclePreparingDelete && blocks(l.PreDelete, pod):
		return "allows the deletion of", func(o client.Object) { withdraw(l.PreDelete, o) }
	case state == kruisev1alpha1.LifecycleUpdated && !complete(l.InPlaceUpdate, pod):
		return "has checked", func(o client.Object) { register(l.InPlaceUpdate, o) }
	}
	return "", nil
}

func (s *simulation) provider(pod *corev1.Pod, says string, change func(client.Object)) {
	s.must(s.server.Modify("hook", api.Pods, client.ObjectKeyFromObject(pod), api.Main, change))
	s.tell("hook: %s %s", says, pod.Name)
	s.notice()
}

func isHandler(finalizer string) bool { return strings.HasPrefix(finalizer, handlerDomain) }

func register(h *hook, o client.Object) {
	if h == nil {
		return
	}
	for key, value := range h.LabelsHandler {
		o.SetLabels(merged(o.GetLabels(), key, value))
	}
	for _, f := range h.FinalizersHandler {
		if !slices.Contains(o.GetFinalizers(), f) {
			o.SetFinalizers(append(o.GetFinalizers(), f))
		}
	}
}

func withdraw(h *hook, o client.Object) {
	for key := range h.LabelsHandler {
		delete(o.GetLabels(), key)
	}
	o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return slices.Contains(h.FinalizersHandler, f) }))
}

// restart is another program that takes pods out of service by the same condition.
func (s *simulation) restart(add func(int, func()), pod *corev1.Pod) {
	if !hasMarkGate(pod) {
		return
	}
	list := entries(pod)
	there := slices.Contains(list, entryOther)
	comes, goes := 1, 5
	if s.about(Hooked) {
		comes, goes = 4, 1
	}
	switch {
	case there:
		add(goes, func() {
			list := slices.DeleteFunc(slices.Clone(list), func(e entry) bool { return e == entryOther })
			s.enter(pod, list, "is done with")
		})
	case !s.calm && (s.random.IntN(4) == 0 || s.about(Hooked)):
		add(comes, func() { s.enter(pod, append(slices.Clone(list), entryOther), "takes out of service") })
	}
}

// enter writes the condition. The other program's name sorts behind ours.
func (s *simulation) enter(pod *corev1.Pod, list []entry, says string) {
	message, err := json.Marshal(list)
	if err != nil {
		panic(fmt.Sprintf("encoding entries: %v", err))
	}
	c := corev1.PodCondition{
		Type: kruisev1alpha1.ConditionKruisePodReady, Status: corev1.ConditionTrue, Message: string(message),
		LastTransitionTime: metav1.NewTime(s.clock.Now()),
	}
	if len(list) > 0 {
		c.Status = corev1.ConditionFalse
	}
	s.must(s.server.Modify("restarter", api.Pods, client.ObjectKeyFromObject(pod), api.Status, func(o client.Object) {
		written := o.(*corev1.Pod)
		if before := condition(written, c.Type); before != nil {
			*before = c
		} else {
			written.Status.Conditions = append(written.Status.Conditions, c)
		}
	}))
	s.tell("restarter: %s %s", says, pod.Name)
	s.notice()
}
