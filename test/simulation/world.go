// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/node"
	"slipway.dev/slipway/test/simulation/api"
)

// epoch is when every simulation starts.
var epoch = time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)

var theSet = types.NamespacedName{Namespace: namespace, Name: setName}

// world is everything there is: the server, the manager, the nodes, the time.
type world struct {
	random  *rand.Rand
	clock   *clocktesting.FakePassiveClock
	server  *api.Server
	judge   *judge
	manager *managerProcess
	model   node.Model
	latency int // of 100 reports of nodes are written late, when the pod may have changed
	kubelet map[types.UID]*kubelet
	noticed int // how much of the log the kubelets and the owner mapping have noticed
	tell    func(format string, args ...any)
	noted   map[string]bool // what happened to the manager, for counting
}

// kubelet is what a node knows about one of its pods beyond the pod itself.
type kubelet struct {
	busy bool      // something has changed: the model must be asked
	late []byte    // a report that was made earlier and is not written yet, as a patch
	wake time.Time // when the model asked to be asked again; zero for never
}

func newWorld(seed uint64, hooks Hooks, tell func(string, ...any)) *world {
	if tell == nil {
		tell = func(string, ...any) {}
	}
	w := &world{
		random:  rand.New(rand.NewPCG(seed, 0x5eed)),
		clock:   clocktesting.NewFakePassiveClock(epoch),
		kubelet: map[types.UID]*kubelet{},
		tell:    tell,
		noted:   map[string]bool{},
	}
	w.server = api.New(w.clock)
	w.judge = newJudge(w.server, w.clock, tell)
	w.manager = &managerProcess{world: w, hooks: hooks}
	for i := range 3 {
		w.must(w.server.Create("user", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i)}}))
	}
	return w
}

// must is for writes that the simulation itself makes and that cannot fail.
func (w *world) must(_ client.Object, err error) {
	if err != nil {
		panic(fmt.Sprintf("the simulation's own write failed: %v", err))
	}
}

func (w *world) set() *kruisev1alpha1.CloneSet {
	set, _ := w.server.Get(api.CloneSets, theSet).(*kruisev1alpha1.CloneSet)
	return set
}

// pods returns all pods of the server by name.
func (w *world) pods() []*corev1.Pod {
	var pods []*corev1.Pod
	for _, o := range w.server.List(api.Pods) {
		pods = append(pods, o.(*corev1.Pod))
	}
	return pods
}

// notice wakes the kubelets of pods that were written.
func (w *world) notice() {
	log := w.server.Log()
	for ; w.noticed < len(log); w.noticed++ {
		e := log[w.noticed]
		if e.Kind != api.Pods {
			continue
		}
		if e.Verb == api.Remove {
			delete(w.kubelet, e.After.GetUID())
			continue
		}
		k := w.kubelet[e.After.GetUID()]
		if k == nil {
			k = &kubelet{}
			w.kubelet[e.After.GetUID()] = k
		}
		k.busy = true
	}
}

// lag is how far a cache can be behind. An informer that is further behind than that is broken, and the manager gives up waiting
// for its own writes after some minutes.
const lag = time.Minute

// advance moves the time and rings what is due.
func (w *world) advance(d time.Duration) {
	w.clock.SetTime(w.clock.Now().Add(d))
	now := w.clock.Now()
	w.manager.deliverBefore(now.Add(-lag))
	for _, k := range w.kubelet {
		if !k.wake.IsZero() && !k.wake.After(now) {
			k.busy, k.wake = true, time.Time{}
		}
	}
	w.manager.ring(now)
}

// nextAlarm returns the time of the earliest alarm; false when nobody waits for a time.
func (w *world) nextAlarm() (time.Time, bool) {
	next := w.manager.due
	for _, k := range w.kubelet {
		if !k.wake.IsZero() && (next.IsZero() || k.wake.Before(next)) {
			next = k.wake
		}
	}
	return next, !next.IsZero()
}

// seconds rounds up: the simulated clock knows whole seconds, as the times on the wire do.
func seconds(d time.Duration) time.Duration {
	if rest := d % time.Second; rest != 0 {
		d += time.Second - rest
	}
	return d
}

// stepNode lets the kubelet of a pod look at it once.
func (w *world) stepNode(pod *corev1.Pod) {
	k := w.kubelet[pod.UID]
	if k.late != nil {
		w.reportLate(pod, k)
		return
	}
	k.busy, k.wake = false, time.Time{}
	out := w.model.Next(pod, w.clock.Now())
	key := client.ObjectKeyFromObject(pod)
	switch {
	case out.Status != nil && w.random.IntN(100) < w.latency:
		patch, err := node.Patch(pod, out.Status)
		if err != nil {
			panic(fmt.Sprintf("the node's report cannot be made: %v", err))
		}
		k.late, k.busy = patch, true
		return
	case out.Gone:
		var now int64
		if err := w.server.Delete("node", api.Pods, key, &now, &metav1.Preconditions{UID: &pod.UID}); err != nil {
			panic(fmt.Sprintf("the node's deletion failed: %v", err))
		}
		w.tell("node: %s is gone", pod.Name)
	case out.Status != nil:
		w.must(w.server.Modify("node", api.Pods, key, api.Status, func(o client.Object) { o.(*corev1.Pod).Status = *out.Status }))
		w.tell("node: %s %s", pod.Name, lastStory(out.Status))
	}
	w.notice()
	if k := w.kubelet[pod.UID]; k != nil && out.LookAgain > 0 {
		if out.LookAgain < time.Second {
			k.busy = true
		} else {
			k.wake = w.clock.Now().Add(seconds(out.LookAgain))
		}
	}
}

// reportLate writes what the kubelet saw some time ago. Like a real one, it names only what it has changed.
func (w *world) reportLate(pod *corev1.Pod, k *kubelet) {
	w.noted["a node reports late"] = true
	patch := k.late
	k.late, k.busy = nil, true
	stored, err := w.server.Patch("node", api.Pods, client.ObjectKeyFromObject(pod), api.Status, types.StrategicMergePatchType, patch)
	w.must(stored, err)
	w.tell("node: %s, late: %s", pod.Name, lastStory(&stored.(*corev1.Pod).Status))
	w.notice()
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

// bind gives a pod a node, as the scheduler does.
func (w *world) bind(pod *corev1.Pod) {
	name := fmt.Sprintf("node-%d", w.random.IntN(3))
	w.must(w.server.Modify("scheduler", api.Pods, client.ObjectKeyFromObject(pod), api.Binding, func(o client.Object) { o.(*corev1.Pod).Spec.NodeName = name }))
	w.tell("scheduler: %s to %s", pod.Name, name)
	w.notice()
}

// orphan finds an object whose controller is gone, for the garbage collector.
func (w *world) orphan() client.Object {
	set := w.set()
	exists := map[types.UID]bool{}
	if set != nil {
		exists[set.UID] = true
	}
	for _, pod := range w.pods() {
		exists[pod.UID] = true // pods may own claims
	}
	for _, kind := range []api.Kind{api.Revisions, api.Pods, api.Claims} {
		for _, o := range w.server.List(kind) {
			owner := metav1.GetControllerOfNoCopy(o)
			if owner != nil && o.GetDeletionTimestamp() == nil && !exists[owner.UID] {
				return o
			}
		}
	}
	return nil
}

func (w *world) collect(o client.Object) {
	uid := o.GetUID()
	if err := w.server.Delete("gc", api.KindOf(o), client.ObjectKeyFromObject(o), nil, &metav1.Preconditions{UID: &uid}); err != nil {
		panic(fmt.Sprintf("the garbage collector's deletion failed: %v", err))
	}
	w.tell("gc: %s %s", api.KindOf(o), o.GetName())
	w.notice()
}
