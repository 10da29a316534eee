// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"
)

// lab has all parts over a fake API whose caches the test fills by hand, so that they lag as it likes.
type lab struct {
	client   *fake.Clientset
	factory  informers.SharedInformerFactory
	kubelets *kubelets
	fleet    *fleet
	volumes  *volumes
}

func newLab(t *testing.T, settings Settings, objects ...runtime.Object) *lab {
	t.Helper()
	client := fake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(client, 0)
	log := slog.New(slog.DiscardHandler)
	core := factory.Core().V1()
	k, err := newKubelets(client, settings, core.Pods(), core.Nodes(), log)
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{client: client, factory: factory, kubelets: k, fleet: newFleet(client, settings, core.Nodes(), log), volumes: newVolumes(client, factory, log)}
	if err := l.fleet.register(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.volumes.register(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l
}

// deliver brings every cache up to date.
func (l *lab) deliver(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	core := l.factory.Core().V1()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	pods, err := l.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	must(err)
	must(core.Pods().Informer().GetIndexer().Replace(pointers(pods.Items), ""))
	nodes, err := l.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	must(err)
	must(core.Nodes().Informer().GetIndexer().Replace(pointers(nodes.Items), ""))
	claims, err := l.client.CoreV1().PersistentVolumeClaims("").List(ctx, metav1.ListOptions{})
	must(err)
	must(core.PersistentVolumeClaims().Informer().GetIndexer().Replace(pointers(claims.Items), ""))
	volumes, err := l.client.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
	must(err)
	must(core.PersistentVolumes().Informer().GetIndexer().Replace(pointers(volumes.Items), ""))
	classes, err := l.client.StorageV1().StorageClasses().List(ctx, metav1.ListOptions{})
	must(err)
	must(l.factory.Storage().V1().StorageClasses().Informer().GetIndexer().Replace(pointers(classes.Items), ""))
}

func pointers[T any](items []T) []any {
	var list []any
	for i := range items {
		list = append(list, &items[i])
	}
	return list
}

func pod(change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "web-1", ResourceVersion: "10"},
		Spec:       corev1.PodSpec{NodeName: "node-0", Containers: []corev1.Container{{Name: "app", Image: "app:v1"}}},
	}
	for _, c := range change {
		c(p)
	}
	return p
}

func instant() Settings {
	settings := Defaults()
	settings.Count, settings.StartDelay, settings.RestartDelay = 2, 0, 0
	return settings
}

func (l *lab) pod(t *testing.T) *corev1.Pod {
	t.Helper()
	p, err := l.client.CoreV1().Pods("default").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPods(t *testing.T) {
	for name, tc := range map[string]struct {
		pod       *corev1.Pod
		node      func(*corev1.Node)
		wantPhase corev1.PodPhase // "" for a pod that was left alone
		wantGone  bool
	}{
		"a pod on one of our nodes runs": {
			pod: pod(), wantPhase: corev1.PodRunning,
		},
		"a pod on a node that is cut off is left alone": {
			pod: pod(), node: func(n *corev1.Node) { n.Annotations = map[string]string{AnnotationCut: "true"} },
		},
		"a pod on a node of somebody else is left alone": {
			pod: pod(), node: func(n *corev1.Node) { n.Labels = nil },
		},
		"a pod on no known node is left alone": {
			pod: pod(func(p *corev1.Pod) { p.Spec.NodeName = "elsewhere" }),
		},
		"a pod whose containers have ended within its grace is removed": {
			pod: pod(func(p *corev1.Pod) {
				p.DeletionTimestamp = ptr.To(metav1.NewTime(time.Now().Add(10 * time.Second)))
				p.DeletionGracePeriodSeconds = ptr.To[int64](30)
				p.Status.Phase = corev1.PodSucceeded
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}}
			}),
			wantGone: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, instant(), tc.pod)
			if tc.node != nil {
				n, err := l.client.CoreV1().Nodes().Get(t.Context(), "node-0", metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				tc.node(n)
				if _, err := l.client.CoreV1().Nodes().Update(t.Context(), n, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			l.deliver(t)
			if _, err := l.kubelets.sync(t.Context(), "default/web"); err != nil {
				t.Fatal(err)
			}
			got, err := l.client.CoreV1().Pods("default").Get(t.Context(), "web", metav1.GetOptions{})
			if gone := apierrors.IsNotFound(err); gone != tc.wantGone {
				t.Fatalf("gone is %v, want %v (%v)", gone, tc.wantGone, err)
			}
			if !tc.wantGone && got.Status.Phase != tc.wantPhase {
				t.Errorf("the phase is %q, want %q", got.Status.Phase, tc.wantPhase)
			}
		})
	}
}

func TestARemovalNamesTheUID(t *testing.T) {
	gone := pod(func(p *corev1.Pod) {
		p.DeletionTimestamp = ptr.To(metav1.NewTime(time.Now()))
		p.DeletionGracePeriodSeconds = ptr.To[int64](1)
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}}
	})
	l := newLab(t, instant(), gone)
	l.deliver(t)
	if _, err := l.kubelets.sync(t.Context(), "default/web"); err != nil {
		t.Fatal(err)
	}
	for _, action := range l.client.Actions() {
		if deletion, is := action.(interface{ GetDeleteOptions() metav1.DeleteOptions }); is && action.Matches("delete", "pods") {
			options := deletion.GetDeleteOptions()
			if options.Preconditions == nil || *options.Preconditions.UID != "web-1" || *options.GracePeriodSeconds != 0 {
				t.Errorf("the deletion was asked with %+v", options)
			}
			return
		}
	}
	t.Error("nothing was removed")
}

func TestAnOlderCacheStartsNothingTwice(t *testing.T) {
	l := newLab(t, instant(), pod())
	l.deliver(t)
	if _, err := l.kubelets.sync(t.Context(), "default/web"); err != nil {
		t.Fatal(err)
	}
	first := l.pod(t)
	// The server counts versions; the fake does not.
	l.kubelets.written["default/web"].ResourceVersion = "11"
	l.client.ClearActions()
	if _, err := l.kubelets.sync(t.Context(), "default/web"); err != nil {
		t.Fatal(err)
	}
	for _, action := range l.client.Actions() {
		t.Errorf("a second %s of %s on the same story", action.GetVerb(), action.GetResource().Resource)
	}
	first.ResourceVersion = "12"
	if err := l.kubelets.pods.Update(first); err != nil {
		t.Fatal(err)
	}
	if got, err := l.kubelets.latest("default/web"); err != nil || got != first {
		t.Errorf("the cache is ahead and not taken: %v, %v", got, err)
	}
	if len(l.kubelets.written) != 0 {
		t.Error("what the cache shows is still remembered")
	}
}

// An API server before Kubernetes 1.34 takes generations in statuses and drops them.
func TestAServerThatKeepsNoGenerationsIsToldOnce(t *testing.T) {
	l := newLab(t, instant(), pod(func(p *corev1.Pod) { p.Generation = 1 }))
	l.client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		_, stored, err := clienttesting.ObjectReaction(l.client.Tracker())(action)
		if p, isPod := stored.(*corev1.Pod); isPod && err == nil {
			p.Status.ObservedGeneration = 0
			for i := range p.Status.Conditions {
				p.Status.Conditions[i].ObservedGeneration = 0
			}
			err = l.client.Tracker().Update(corev1.SchemeGroupVersion.WithResource("pods"), p, p.Namespace)
		}
		return true, stored, err
	})
	for range 3 {
		l.deliver(t)
		if _, err := l.kubelets.sync(t.Context(), "default/web"); err != nil {
			t.Fatal(err)
		}
	}
	l.client.ClearActions()
	l.deliver(t)
	if _, err := l.kubelets.sync(t.Context(), "default/web"); err != nil {
		t.Fatal(err)
	}
	for _, action := range l.client.Actions() {
		if action.GetVerb() == "patch" {
			t.Error("the pod is patched again and again")
		}
	}
	if p := l.pod(t); p.Status.Phase != corev1.PodRunning || p.Status.ObservedGeneration != 0 {
		t.Errorf("the pod is %s at generation %d", p.Status.Phase, p.Status.ObservedGeneration)
	}
}

func TestNodesAreDealtToZonesAndCells(t *testing.T) {
	settings := Defaults()
	got := map[string]int{}
	for i := range 12 {
		labels := settings.labels(i)
		got[labels[corev1.LabelTopologyZone]+"/"+labels[LabelCell]]++
	}
	want := map[string]int{}
	for _, zone := range settings.Zones {
		for _, cell := range settings.Cells {
			want[zone+"/"+cell] = 2
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("nodes per zone and cell (-want +got):\n%s", diff)
	}
}

func TestTheFleetFollowsItsSettings(t *testing.T) {
	extra := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-7", Labels: map[string]string{LabelSimulated: "true"}}}
	metal := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "metal"}}
	l := newLab(t, instant(), extra, metal)
	list, err := l.client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	if diff := cmp.Diff("metal node-0 node-1", strings.Join(names, " ")); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	if _, err := l.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(t.Context(), "node-1", metav1.GetOptions{}); err != nil {
		t.Errorf("node-1 has no lease: %v", err)
	}
}

func TestANodeReportsWhatItIsToldToBe(t *testing.T) {
	l := newLab(t, instant())
	ctx := context.Background()
	edit := func(change func(*corev1.Node)) *corev1.Node {
		t.Helper()
		n, err := l.client.CoreV1().Nodes().Get(ctx, "node-0", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		change(n)
		if _, err := l.client.CoreV1().Nodes().Update(ctx, n, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		l.deliver(t)
		if _, err := l.fleet.sync(ctx, "node-0"); err != nil {
			t.Fatal(err)
		}
		if n, err = l.client.CoreV1().Nodes().Get(ctx, "node-0", metav1.GetOptions{}); err != nil {
			t.Fatal(err)
		}
		return n
	}
	room := func(n *corev1.Node) int64 { return n.Status.Allocatable.Pods().Value() }
	ready := func(n *corev1.Node) corev1.ConditionStatus {
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady {
				return c.Status
			}
		}
		return "missing"
	}
	lost := func(n *corev1.Node) {
		for i := range n.Status.Conditions {
			n.Status.Conditions[i].Status = corev1.ConditionUnknown
		}
	}
	if got := room(edit(func(n *corev1.Node) { n.Annotations = map[string]string{AnnotationFull: "true"} })); got != 0 {
		t.Errorf("a full node has room for %d", got)
	}
	if got := room(edit(func(n *corev1.Node) { n.Annotations = nil })); got != 110 {
		t.Errorf("a free node has room for %d", got)
	}
	if got := ready(edit(lost)); got != corev1.ConditionTrue {
		t.Errorf("after a silence the node is %s", got)
	}
	cut := edit(func(n *corev1.Node) { lost(n); n.Annotations = map[string]string{AnnotationCut: "true"} })
	if got := ready(cut); got != corev1.ConditionUnknown {
		t.Errorf("a node that is cut off reports %s", got)
	}
}

func TestVolumes(t *testing.T) {
	ctx := context.Background()
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data", UID: "data-1"},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: ptr.To(StorageClass),
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	foreign := claim.DeepCopy()
	foreign.Name, foreign.UID, foreign.Spec.StorageClassName = "foreign", "foreign-1", ptr.To("other")
	l := newLab(t, instant(), claim, foreign)
	sync := func(key string) {
		t.Helper()
		l.deliver(t)
		if _, err := l.volumes.sync(ctx, key); err != nil {
			t.Fatal(err)
		}
	}
	sync("default/foreign")
	sync("default/data")
	sync("default/data") // once more before anybody bound it
	volumes, err := l.client.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(volumes.Items) != 1 || volumes.Items[0].Spec.ClaimRef.UID != "data-1" {
		t.Fatalf("volumes: %+v", volumes.Items)
	}
	volume := &volumes.Items[0]

	claim.Spec.VolumeName, claim.Status.Phase = volume.Name, corev1.ClaimBound
	claim.Status.Capacity = volume.Spec.Capacity
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")}
	if _, err := l.client.CoreV1().PersistentVolumeClaims("default").Update(ctx, claim, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	sync("default/data")
	got, err := l.client.CoreV1().PersistentVolumeClaims("default").Get(ctx, "data", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if volume, err = l.client.CoreV1().PersistentVolumes().Get(ctx, volume.Name, metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	if got.Status.Capacity.Storage().String() != "2Gi" || volume.Spec.Capacity.Storage().String() != "2Gi" {
		t.Errorf("sizes: claim %s, volume %s; want 2Gi", got.Status.Capacity.Storage(), volume.Spec.Capacity.Storage())
	}

	sync(volume.Name)
	if _, err := l.client.CoreV1().PersistentVolumes().Get(ctx, volume.Name, metav1.GetOptions{}); err != nil {
		t.Fatalf("a volume in use is gone: %v", err)
	}
	volume.Status.Phase = corev1.VolumeReleased
	if _, err := l.client.CoreV1().PersistentVolumes().UpdateStatus(ctx, volume, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	sync(volume.Name)
	if _, err := l.client.CoreV1().PersistentVolumes().Get(ctx, volume.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a released volume is still there: %v", err)
	}
}

func TestSettingsSayWhatIsWrong(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Settings)
		want   string
	}{
		"negative number of nodes": {func(s *Settings) { s.Count = -1 }, "-1 nodes"},
		"no zone":                  {func(s *Settings) { s.Zones = nil }, "zones"},
		"an empty cell":            {func(s *Settings) { s.Cells = []string{"a", ""} }, "cells"},
		"no room":                  {func(s *Settings) { s.PodsPerNode = 0 }, "pods per node"},
		"time that runs backwards": {func(s *Settings) { s.RestartDelay = -1 }, "restart delay"},
	} {
		t.Run(name, func(t *testing.T) {
			settings := Defaults()
			if err := settings.Validate(); err != nil {
				t.Fatalf("the defaults: %v", err)
			}
			tc.change(&settings)
			if err := settings.Validate(); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if settings.Equal(Defaults()) {
				t.Error("called equal to the defaults")
			}
		})
	}
}
