// SPDX-License-Identifier: Apache-2.0

package world

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/test/node"
	"slipway.dev/slipway/test/simulation/api"
)

// epoch is when every simulation starts.
var epoch = time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)

// TheSet is the one set that there is.
var TheSet = types.NamespacedName{Namespace: Namespace, Name: SetName}

// World is everything there is: the server, the manager, the nodes, the time.
type World struct {
	Random *rand.Rand
	Clock  *clocktesting.FakePassiveClock
	Server *api.Server
	// Bench judges. Of sets it is the Judge, which is nil for other kinds.
	Bench   Bench
	Judge   *Judge
	Manager *Manager
	Kind    Kind
	Model   node.Model
	// Volumes: claims get volumes, and these grow with them. Without, nobody looks.
	Volumes bool
	Latency int // of 100 reports of nodes are written late, when the pod may have changed
	Kubelet map[types.UID]*Kubelet
	noticed int // how much of the log the kubelets and the owner mapping have noticed
	// Place finds a node with room for a pod; nil is a scheduler that takes any node.
	Place func(*corev1.Pod) (node string, found bool)
	// Wakes is when somebody else than manager and nodes acts by the time alone; zero for never. It may be nil.
	Wakes func() time.Time
	Tell  func(format string, args ...any)
	Noted map[string]bool // what happened to the manager, for counting
}

// Kubelet is what a node knows about one of its pods beyond the pod itself.
type Kubelet struct {
	Busy  bool                 // something has changed: the model must be asked
	ready *corev1.PodCondition // what it last found itself
	late  []byte               // a report that was made earlier and is not written yet, as a patch
	wake  time.Time            // when the model asked to be asked again; zero for never
}

// New is a world with nodes, without a set of the kind, and with a manager that has not started yet. What happens is told, if tell is not nil.
func New(seed uint64, kind Kind, tell func(string, ...any)) *World {
	if tell == nil {
		tell = func(string, ...any) {}
	}
	w := &World{
		Kind:    kind,
		Random:  rand.New(rand.NewPCG(seed, 0x5eed)),
		Clock:   clocktesting.NewFakePassiveClock(epoch),
		Kubelet: map[types.UID]*Kubelet{},
		Tell:    tell,
		Noted:   map[string]bool{},
	}
	w.Server = api.New(w.Clock)
	switch kind := kind.(type) {
	case SetKind:
		w.Judge = newJudge(w, kind)
		w.Bench = w.Judge
	case OwnKind:
		w.Bench = kind.Bench(w)
	}
	w.Manager = &Manager{World: w}
	for i := range 3 {
		w.Must(w.Server.Create("user", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i)}}))
	}
	return w
}

// Must is for writes that the simulation itself makes and that cannot fail.
func (w *World) Must(_ client.Object, err error) {
	if err != nil {
		panic(fmt.Sprintf("the simulation's own write failed: %v", err))
	}
}

// Set is the set as it is stored; nil when there is none.
func (w *World) Set() client.Object { return w.Server.Get(w.Kind.Stored(), TheSet) }

// Create stores the set, or another object of the kind, as a user does.
func (w *World) Create(set client.Object) {
	w.Kind.Admit(set)
	w.Must(w.Server.Create("user", set))
	w.Tell("user: creates the set: %s", w.Kind.Describe(set))
}

// Edit changes the set, as a user does.
func (w *World) Edit(change func(client.Object)) {
	set, _ := w.Set().DeepCopyObject().(client.Object)
	change(set)
	w.Kind.Admit(set)
	stored, err := w.Server.Update("user", api.Main, set)
	w.Must(stored, err)
	w.Tell("user: now wants %s", w.Kind.Describe(stored))
}

// Remove deletes an object, as a user does.
func (w *World) Remove(kind api.Kind, name string) {
	if err := w.Server.Delete("user", kind, types.NamespacedName{Namespace: Namespace, Name: name}, nil, nil); err != nil {
		panic(fmt.Sprintf("the user's deletion failed: %v", err))
	}
	w.Tell("user: deletes %s %s", kind, name)
}

// Scene is the world at a moment in which nothing is written.
func (w *World) Scene() *Scene { return w.Judge.scene(api.Write{Kind: w.Kind.Stored()}, w.Set()) }

// Summary tells the pods of the set in the notation of its kind.
func (w *World) Summary() string {
	if own, is := w.Kind.(OwnKind); is {
		return own.Summary(w)
	}
	if w.Set() == nil {
		return "no set"
	}
	return w.Scene().Rules.Summary()
}

// Pods returns all pods of the server by name.
func (w *World) Pods() []*corev1.Pod {
	var pods []*corev1.Pod
	for _, o := range w.Server.List(api.Pods) {
		pods = append(pods, o.(*corev1.Pod))
	}
	return pods
}

// Notice wakes the kubelets of pods that were written.
func (w *World) Notice() {
	log := w.Server.Log()
	for ; w.noticed < len(log); w.noticed++ {
		e := log[w.noticed]
		if e.Kind != api.Pods {
			continue
		}
		if e.Verb == api.Remove {
			delete(w.Kubelet, e.After.GetUID())
			continue
		}
		k := w.Kubelet[e.After.GetUID()]
		if k == nil {
			k = &Kubelet{}
			w.Kubelet[e.After.GetUID()] = k
		}
		k.Busy = true
	}
}

// lag is how far a cache can be behind. An informer that is further behind than that is broken, and the manager gives up waiting
// for its own writes after some minutes.
const lag = time.Minute

// Advance moves the time and rings what is due.
func (w *World) Advance(d time.Duration) {
	w.Clock.SetTime(w.Clock.Now().Add(d))
	now := w.Clock.Now()
	w.Manager.deliverBefore(now.Add(-lag))
	for _, k := range w.Kubelet {
		if !k.wake.IsZero() && !k.wake.After(now) {
			k.Busy, k.wake = true, time.Time{}
		}
	}
	w.Manager.ring(now)
}

// NextAlarm returns the time of the earliest alarm; false when nobody waits for a time.
func (w *World) NextAlarm() (time.Time, bool) {
	next := w.Manager.nextAlarm()
	if w.Wakes != nil {
		if at := w.Wakes(); next.IsZero() || !at.IsZero() && at.Before(next) {
			next = at
		}
	}
	for _, k := range w.Kubelet {
		if !k.wake.IsZero() && (next.IsZero() || k.wake.Before(next)) {
			next = k.wake
		}
	}
	return next, !next.IsZero()
}

// Seconds rounds up: the simulated clock knows whole seconds, as the times on the wire do.
func Seconds(d time.Duration) time.Duration {
	if rest := d % time.Second; rest != 0 {
		d += time.Second - rest
	}
	return d
}

// StepNode lets the kubelet of a pod look at it once.
func (w *World) StepNode(pod *corev1.Pod) {
	k := w.Kubelet[pod.UID]
	if k.late != nil {
		w.reportLate(pod, k)
		return
	}
	k.Busy, k.wake = false, time.Time{}
	out := w.Model.Next(pod, w.Clock.Now())
	k.learn(&pod.Status)
	if out.Status != nil {
		k.learn(out.Status)
	}
	key := client.ObjectKeyFromObject(pod)
	switch {
	case out.Status != nil && w.Random.IntN(100) < w.Latency && !leaves(pod, out.Status): // a grace period counts from when that was found
		patch, err := node.Patch(pod, out.Status)
		if err != nil {
			panic(fmt.Sprintf("the node's report cannot be made: %v", err))
		}
		k.late, k.Busy = patch, true
		return
	case out.Gone:
		var now int64
		if err := w.Server.Delete("node", api.Pods, key, &now, &metav1.Preconditions{UID: &pod.UID}); err != nil {
			panic(fmt.Sprintf("the node's deletion failed: %v", err))
		}
		w.Tell("node: %s is gone", pod.Name)
	case out.Status != nil:
		w.Must(w.Server.Modify("node", api.Pods, key, api.Status, func(o client.Object) { o.(*corev1.Pod).Status = *out.Status }))
		w.Tell("node: %s %s", pod.Name, lastStory(out.Status))
	}
	w.Notice()
	if k := w.Kubelet[pod.UID]; k != nil && out.LookAgain > 0 {
		if out.LookAgain < time.Second {
			k.Busy = true
		} else {
			k.wake = w.Clock.Now().Add(Seconds(out.LookAgain))
		}
	}
}

// reportLate writes what the kubelet saw some time ago. Like a real one, it names only what it has changed.
func (w *World) reportLate(pod *corev1.Pod, k *Kubelet) {
	w.Noted["a node reports late"] = true
	patch := k.late
	k.late, k.Busy = nil, true
	stored, err := w.Server.Patch("node", api.Pods, client.ObjectKeyFromObject(pod), api.Status, types.StrategicMergePatchType, patch)
	w.Must(stored, err)
	w.Tell("node: %s, late: %s", pod.Name, lastStory(&stored.(*corev1.Pod).Status))
	w.Notice()
}

// lastStory is a container state in a few words.
func lastStory(s *corev1.PodStatus) string {
	var parts []string
	for i := range s.ContainerStatuses {
		st := &s.ContainerStatuses[i]
		state := "none"
		switch {
		case st.State.Running != nil && st.Ready:
			state = "ready"
		case st.State.Running != nil:
			state = "running"
		case st.State.Terminated != nil:
			state = "stopped"
		case st.State.Waiting != nil:
			state = st.State.Waiting.Reason
		}
		parts = append(parts, st.Image[strings.LastIndex(st.Image, "/")+1:]+" "+state)
	}
	return fmt.Sprintf("%s [%s]", s.Phase, strings.Join(parts, ", "))
}

// Orphan finds an object all of whose owners are gone, for the garbage collector.
func (w *World) Orphan() client.Object {
	exists := map[types.UID]bool{}
	for _, kind := range api.Kinds() {
		for _, o := range w.Server.List(kind) {
			exists[o.GetUID()] = true
		}
	}
	for _, kind := range api.Kinds() {
		for _, o := range w.Server.List(kind) {
			owners := o.GetOwnerReferences()
			gone := len(owners) > 0 && !slices.ContainsFunc(owners, func(r metav1.OwnerReference) bool { return exists[r.UID] })
			if o.GetDeletionTimestamp() == nil && gone {
				return o
			}
		}
	}
	return nil
}

// Collect deletes an object, as the garbage collector does.
func (w *World) Collect(o client.Object) {
	uid := o.GetUID()
	if err := w.Server.Delete("gc", api.KindOf(o), client.ObjectKeyFromObject(o), nil, &metav1.Preconditions{UID: &uid}); err != nil {
		panic(fmt.Sprintf("the garbage collector's deletion failed: %v", err))
	}
	w.Tell("gc: %s %s", api.KindOf(o), o.GetName())
	w.Notice()
}
