// SPDX-License-Identifier: Apache-2.0

package podset_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/cafe/plan"
	"slipway.dev/slipway/internal/cafe/podset"
	"slipway.dev/slipway/test/builders"
)

var kinds = []cafev1alpha1.PodSetType{
	cafev1alpha1.InPlaceSetPodSetType, cafev1alpha1.ReplicaSetPodSetType, cafev1alpha1.StatefulSetPodSetType,
	cafev1alpha1.CloneSetPodSetType, cafev1alpha1.AdvancedStatefulSetPodSetType,
}

func deployment(kind cafev1alpha1.PodSetType) *cafev1alpha1.CafeDeployment {
	return &cafev1alpha1.CafeDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "web"},
		Spec: cafev1alpha1.CafeDeploymentSpec{
			PodSetType: kind, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}},
			Topology: cafev1alpha1.Topology{UnitType: cafev1alpha1.CellUnitType, Values: []string{"CellA"}},
			Strategy: cafev1alpha1.CafeDeploymentStrategy{MinReadySeconds: 7},
		},
	}
}

func TestEveryKindShowsWhatItIsAskedFor(t *testing.T) {
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			k, err := podset.Of(kind)
			if err != nil {
				t.Fatal(err)
			}
			d := deployment(kind)
			set := k.New()
			template := podset.Template(d, "CellA", podset.Version(kind, "web-abc"))
			k.Ask(set, podset.Asked{Deployment: d, Unit: "CellA", Template: template, Replicas: 5, Partition: 3})
			set.SetResourceVersion("1")
			before := set.DeepCopyObject()
			k.Ask(set, podset.Asked{Deployment: d, Unit: "CellA", Replicas: 5, Partition: 3})
			if diff := cmp.Diff(before, set); diff != "" {
				t.Errorf("to be asked for the same changes the set:\n%s", diff)
			}
			shown := k.Show(set, nil, time.Time{})
			if shown.Asked != 5 || kind != cafev1alpha1.ReplicaSetPodSetType && shown.Partition != 3 || !shown.Seen {
				t.Errorf("it shows %+v", shown)
			}
			if why := k.Differs(set, d); why != "" {
				t.Errorf("%s differs", why)
			}
			d.Spec.Strategy.MinReadySeconds = 8
			if why := k.Differs(set, d); why != "strategy.minReadySeconds" {
				t.Errorf("%q differs", why)
			}
			set.SetGeneration(2)
			if k.Show(set, nil, time.Time{}).Seen {
				t.Error("its controller has not looked yet")
			}
		})
	}
}

// Every counter has a number of its own, so that none can be taken for another.
func TestEveryKindShowsWhatItsStatusCounts(t *testing.T) {
	for _, c := range []struct {
		kind cafev1alpha1.PodSetType
		set  client.Object
		want plan.Counts
	}{
		{cafev1alpha1.InPlaceSetPodSetType, &cafev1alpha1.InPlaceSet{Status: cafev1alpha1.InPlaceSetStatus{
			Replicas: 9, ReadyReplicas: 8, AvailableReplicas: 7, UpdatedReplicas: 6, UpdatedReadyReplicas: 5, UpdatedAvailableReplicas: 4,
		}}, plan.Counts{Has: 9, Ready: 8, Available: 7, Updated: 6, UpdatedAvailable: 4}},
		{cafev1alpha1.CloneSetPodSetType, &kruisev1alpha1.CloneSet{Status: kruisev1alpha1.CloneSetStatus{
			Replicas: 9, ReadyReplicas: 8, AvailableReplicas: 7, UpdatedReplicas: 6, UpdatedReadyReplicas: 5, UpdatedAvailableReplicas: 4,
		}}, plan.Counts{Has: 9, Ready: 8, Available: 7, Updated: 6, UpdatedAvailable: 4}},
		{cafev1alpha1.AdvancedStatefulSetPodSetType, &kruisev1beta1.StatefulSet{Status: kruisev1beta1.StatefulSetStatus{
			Replicas: 9, ReadyReplicas: 8, AvailableReplicas: 7, UpdatedReplicas: 6, UpdatedReadyReplicas: 5, UpdatedAvailableReplicas: 4,
		}}, plan.Counts{Has: 9, Ready: 8, Available: 7, Updated: 6, UpdatedAvailable: 4}},
		{cafev1alpha1.StatefulSetPodSetType, &appsv1.StatefulSet{Status: appsv1.StatefulSetStatus{
			Replicas: 9, ReadyReplicas: 8, AvailableReplicas: 7, UpdatedReplicas: 6,
		}}, plan.Counts{Has: 9, Ready: 8, Available: 7, Updated: 6, UpdatedAvailable: 4}},
		{cafev1alpha1.ReplicaSetPodSetType, &appsv1.ReplicaSet{Status: appsv1.ReplicaSetStatus{
			Replicas: 9, ReadyReplicas: 8, AvailableReplicas: 7,
		}}, plan.Counts{Has: 9, Ready: 8, Available: 7, Updated: 9, UpdatedAvailable: 7}},
	} {
		k, err := podset.Of(c.kind)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, k.Show(c.set, nil, time.Time{}).Counts); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.kind, diff)
		}
	}
}

// TestWhatEachKindIsMade reads from the new object what makes its controller do what a release needs of it.
func TestWhatEachKindIsMade(t *testing.T) {
	made := func(kind cafev1alpha1.PodSetType, change func(*cafev1alpha1.CafeDeployment)) client.Object {
		k, err := podset.Of(kind)
		if err != nil {
			t.Fatal(err)
		}
		d, set := deployment(kind), k.New()
		if change != nil {
			change(d)
		}
		k.Ask(set, podset.Asked{Deployment: d, Unit: "CellA", Template: podset.Template(d, "CellA", ""), Replicas: 5, Partition: 3})
		return set
	}
	stateful := func(d *cafev1alpha1.CafeDeployment) {
		d.Spec.ServiceName = "web"
		d.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
	}
	zone := func(d *cafev1alpha1.CafeDeployment) { d.Spec.Topology.UnitType = cafev1alpha1.ZoneUnitType }
	builtIn := made(cafev1alpha1.StatefulSetPodSetType, stateful).(*appsv1.StatefulSet).Spec
	advanced := made(cafev1alpha1.AdvancedStatefulSetPodSetType, stateful).(*kruisev1beta1.StatefulSet).Spec
	inPlace := made(cafev1alpha1.InPlaceSetPodSetType, zone).(*cafev1alpha1.InPlaceSet).Spec
	absent := made("", nil).(*cafev1alpha1.InPlaceSet)
	for sentence, right := range map[string]bool{
		"a StatefulSet gets the service":               builtIn.ServiceName == "web",
		"and the claims":                               len(builtIn.VolumeClaimTemplates) == 1 && builtIn.VolumeClaimTemplates[0].Name == "data",
		"manages its pods in parallel":                 builtIn.PodManagementPolicy == appsv1.ParallelPodManagement,
		"and follows its partition":                    builtIn.UpdateStrategy.Type == appsv1.RollingUpdateStatefulSetStrategyType,
		"an Advanced StatefulSet gets the service":     advanced.ServiceName == "web",
		"it gets the claims":                           len(advanced.VolumeClaimTemplates) == 1 && advanced.VolumeClaimTemplates[0].Name == "data",
		"it manages its pods in parallel":              advanced.PodManagementPolicy == kruisev1beta1.ParallelPodManagement,
		"an InPlaceSet knows its unit":                 inPlace.DeployUnit == "CellA" && inPlace.UnitType == cafev1alpha1.ZoneUnitType,
		"without a kind it is an InPlaceSet":           absent.Spec.DeployUnit == "CellA",
		"whose template is not tied to the unit twice": absent.Spec.Template.Spec.Affinity == nil,
		"a CloneSet updates in place where it can": made(cafev1alpha1.CloneSetPodSetType, nil).(*kruisev1alpha1.CloneSet).Spec.UpdateStrategy.Type ==
			kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType,
		"so does an Advanced StatefulSet": advanced.UpdateStrategy.RollingUpdate != nil &&
			advanced.UpdateStrategy.RollingUpdate.PodUpdatePolicy == kruisev1beta1.InPlaceIfPossiblePodUpdateStrategyType,
	} {
		if !right {
			t.Errorf("it is not so that %s", sentence)
		}
	}
}

func TestWithoutUnitsPodsAreTiedToNoNodes(t *testing.T) {
	for _, kind := range kinds {
		d := deployment(kind)
		d.Spec.Topology = cafev1alpha1.Topology{UnitType: cafev1alpha1.NoneUnitType}
		if affinity := podset.Template(d, "", "").Spec.Affinity; affinity != nil {
			t.Errorf("%s: %v", kind, affinity)
		}
	}
}

func TestAPodSetKeepsThePodsOfItsUnit(t *testing.T) {
	for _, kind := range kinds {
		d := deployment(kind)
		version := podset.Version(kind, "web-abc")
		template := podset.Template(d, "CellA", version)
		selector, err := metav1.LabelSelectorAsSelector(podset.Selector(d, "CellA", version))
		if err != nil {
			t.Fatal(err)
		}
		if !selector.Matches(labels.Set(template.Labels)) {
			t.Errorf("%s: selector %s does not match %v", kind, selector, template.Labels)
		}
		if other := podset.Template(d, "CellB", version); selector.Matches(labels.Set(other.Labels)) {
			t.Errorf("%s: selector %s matches the pods of another unit", kind, selector)
		}
		tied := template.Spec.Affinity != nil
		if own := kind == cafev1alpha1.InPlaceSetPodSetType; tied == own {
			t.Errorf("%s: the template is tied to its unit: %v", kind, tied)
		}
		if d.Spec.Template.Labels[cafev1alpha1.LabelUnit] != "" {
			t.Errorf("%s: the template of the deployment was changed", kind)
		}
	}
}

func TestEachTermOfANodeSelectorIsTiedToTheUnit(t *testing.T) {
	term := func(key string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpExists}}}
	}
	d := deployment(cafev1alpha1.CloneSetPodSetType)
	d.Spec.Topology.UnitType = cafev1alpha1.ZoneUnitType
	d.Spec.Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term("ssd"), term("gpu")}},
	}}
	terms := podset.Template(d, "z1", "").Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	for i, key := range []string{"ssd", "gpu"} {
		want := append(term(key).MatchExpressions, corev1.NodeSelectorRequirement{
			Key: "topology.kubernetes.io/zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"z1"},
		})
		if diff := cmp.Diff(want, terms[i].MatchExpressions); diff != "" {
			t.Errorf("term %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestNames(t *testing.T) {
	for sentence, c := range map[string]struct {
		deployment, unit, version string
		taken                     []string
		want                      string
	}{
		"deployment and unit":                      {"web", "cell-a", "", nil, "web-cell-a"},
		"a unit is made valid":                     {"web", "Cell_A.1", "", nil, "web-cell-a-1"},
		"so is a deployment":                       {"web.v1", "a", "", nil, "web-v1-a"},
		"no unit":                                  {"web", "", "", nil, "web"},
		"units that are spelled alike":             {"web", "A", "", []string{"web-a"}, "web-a-0b933d81"},
		"a set for each version":                   {"web", "A", "8c766596b", nil, "web-a-8c766596b"},
		"a long name is cut, and told by its hash": {strings.Repeat("w", 60), "A", "", nil, strings.Repeat("w", 43) + "-5db5de56"},
	} {
		t.Run(sentence, func(t *testing.T) {
			d := deployment(cafev1alpha1.CloneSetPodSetType)
			d.Name = c.deployment
			got := podset.Name(d, c.unit, c.version, func(name string) bool { return strings.Contains(strings.Join(c.taken, " "), name) })
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestNamesAreValidAndDiffer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := deployment(cafev1alpha1.StatefulSetPodSetType)
		d.Name = rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,80}[a-z0-9])?`).Draw(t, "deployment")
		given := map[string]bool{}
		for range rapid.IntRange(1, 6).Draw(t, "units") {
			unit := rapid.StringMatching(`[A-Ca-c]([-A-Ca-c_.]{0,60}[A-Ca-c])?`).Draw(t, "unit")
			name := podset.Name(d, unit, "", func(name string) bool { return given[name] })
			if given[name] || len(name) > 52 || strings.Trim(name, "-") != name || strings.ToLower(name) != name {
				t.Errorf("%q is no good name for %q", name, unit)
			}
			given[name] = true
		}
	})
}

func TestABuiltInStatefulSetCountsItsPods(t *testing.T) {
	k, err := podset.Of(cafev1alpha1.StatefulSetPodSetType)
	if err != nil {
		t.Fatal(err)
	}
	now := builders.Epoch().Add(time.Hour)
	set := &appsv1.StatefulSet{
		Spec:   appsv1.StatefulSetSpec{Replicas: ptr.To[int32](3)},
		Status: appsv1.StatefulSetStatus{Replicas: 3, ReadyReplicas: 2, AvailableReplicas: 2, UpdatedReplicas: 2, UpdateRevision: "web-new"},
	}
	pod := func(revision string, ready corev1.ConditionStatus) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{appsv1.ControllerRevisionHashLabelKey: revision, kruisev1alpha1.LabelLifecycleState: ""}},
			Status:     corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready, LastTransitionTime: metav1.NewTime(builders.Epoch())}}},
		}
	}
	for sentence, c := range map[string]struct {
		pods []*corev1.Pod
		want int
	}{
		"an old pod is the one that is not available":     {[]*corev1.Pod{pod("web-old", "False"), pod("web-new", "True"), pod("web-new", "True")}, 2},
		"an updated pod is the one that is not available": {[]*corev1.Pod{pod("web-old", "True"), pod("web-new", "True"), pod("web-new", "False")}, 1},
		"pods that are not shown yet: what is certain":    {nil, 1},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := k.Show(set, c.pods, now).UpdatedAvailable; got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

// A pod may still be here for us when the set's controller has seen it go.
func TestABuiltInStatefulSetCountsNoMorePodsThanItHas(t *testing.T) {
	k, err := podset.Of(cafev1alpha1.StatefulSetPodSetType)
	if err != nil {
		t.Fatal(err)
	}
	gone := builders.Pod("web-0").ReadySince(builders.Epoch()).Build()
	gone.Labels = map[string]string{appsv1.ControllerRevisionHashLabelKey: "web-new"}
	set := &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](0)}, Status: appsv1.StatefulSetStatus{UpdateRevision: "web-new"}}
	if got := k.Show(set, []*corev1.Pod{gone}, builders.Epoch().Add(time.Hour)).UpdatedAvailable; got != 0 {
		t.Errorf("%d updated pods are available, and the set has none", got)
	}
}

// Partitions count ordinals, so it matters which of them have the template.
func TestSetsWithOrdinalsTellWhichPodsAreOlder(t *testing.T) {
	pod := func(name, revision string) *corev1.Pod {
		p := builders.Pod(name).Build()
		p.Labels = map[string]string{appsv1.ControllerRevisionHashLabelKey: revision}
		return p
	}
	leaving := pod("web-3", "web-new")
	leaving.DeletionTimestamp = &metav1.Time{Time: builders.Epoch()}
	pods := []*corev1.Pod{pod("web-2", "web-old"), pod("web-10", "web-old"), pod("web-0", "web-new"), leaving, pod("web-4", "web-new")}
	for _, set := range []client.Object{
		&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](5)}, Status: appsv1.StatefulSetStatus{UpdateRevision: "web-new"}},
		&kruisev1beta1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: kruisev1beta1.StatefulSetSpec{Replicas: ptr.To[int32](5)}, Status: kruisev1beta1.StatefulSetStatus{UpdateRevision: "web-new"}},
	} {
		kind := cafev1alpha1.StatefulSetPodSetType
		if _, advanced := set.(*kruisev1beta1.StatefulSet); advanced {
			kind = cafev1alpha1.AdvancedStatefulSetPodSetType
		}
		k, err := podset.Of(kind)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]int{1, 2, 3}, k.Show(set, pods, builders.Epoch()).Older); diff != "" || !k.CountsPods() {
			t.Errorf("%s: pods are looked at: %v; older ones (-want +got):\n%s", kind, k.CountsPods(), diff)
		}
	}
}

func TestPodsThatFindNoNode(t *testing.T) {
	since := metav1.NewTime(builders.Epoch())
	pod := func(status corev1.ConditionStatus, reason string, changes ...func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: status, Reason: reason, LastTransitionTime: since}}}}
		for _, change := range changes {
			change(p)
		}
		return p
	}
	called := func(name string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Name = name } }
	const clones, ordinals = cafev1alpha1.CloneSetPodSetType, cafev1alpha1.StatefulSetPodSetType
	for sentence, c := range map[string]struct {
		kind        cafev1alpha1.PodSetType
		pods        []*corev1.Pod
		want, below int
	}{
		"only pods that are wanted and find no node": {clones, []*corev1.Pod{
			pod("False", "Unschedulable"), pod("False", "SchedulingGated"), pod("True", ""), {},
			pod("False", "Unschedulable", func(p *corev1.Pod) { p.DeletionTimestamp = &since }),
		}, 1, 0},
		"the highest ordinals": {ordinals, []*corev1.Pod{
			pod("True", "", called("web-1")), pod("False", "Unschedulable", called("web-10")), pod("False", "Unschedulable", called("web-2")),
		}, 2, 0},
		"an ordinal below one that has a node cannot be given up": {ordinals, []*corev1.Pod{
			pod("False", "Unschedulable", called("web-0")), pod("True", "", called("web-1")), pod("False", "Unschedulable", called("web-2")),
		}, 1, 1},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, below := podset.Unschedulable(c.kind, "web", c.pods)
			if len(got) != c.want || len(below) != c.below {
				t.Errorf("got %v and %v below, want %d and %d", got, below, c.want, c.below)
			}
			for _, at := range append(got, below...) {
				if !at.Equal(since.Time) {
					t.Errorf("since %v, want %v", at, since)
				}
			}
		})
	}
}

func TestTrafficComponentsAreHandedOn(t *testing.T) {
	k, err := podset.Of(cafev1alpha1.InPlaceSetPodSetType)
	if err != nil {
		t.Fatal(err)
	}
	d, set := deployment(cafev1alpha1.InPlaceSetPodSetType), k.New()
	k.Ask(set, podset.Asked{Deployment: d, Unit: "A"})
	d.Annotations = map[string]string{cafev1alpha1.AnnotationTrafficComponents: "lb"}
	if why := k.Differs(set, d); !strings.Contains(why, "traffic-components") {
		t.Errorf("%q differs", why)
	}
	k.Ask(set, podset.Asked{Deployment: d, Unit: "A"})
	if got := set.GetAnnotations()[cafev1alpha1.AnnotationTrafficComponents]; got != "lb" {
		t.Errorf("the set declares %q", got)
	}
	d.Annotations = nil
	k.Ask(set, podset.Asked{Deployment: d, Unit: "A"})
	if why := k.Differs(set, d); why != "" {
		t.Errorf("%q differs", why)
	}
}

// Until a set's controller has seen the newest template, its status speaks of the one before, which old pods have. A set that does not keep
// all of its pods has seen its template before it was told so.
func TestASetThatHasNotSeenItsTemplateHasOnlyOlderPods(t *testing.T) {
	old := func(name string) *corev1.Pod {
		p := builders.Pod(name).Build()
		p.Labels = map[string]string{appsv1.ControllerRevisionHashLabelKey: "web-old"}
		return p
	}
	pods := []*corev1.Pod{old("web-0"), old("web-1"), old("web-2")}
	for kept, want := range map[int32][]int{0: nil, 2: nil, 3: {0, 1, 2}, 7: {0, 1, 2}} {
		for kind, set := range map[cafev1alpha1.PodSetType]client.Object{
			cafev1alpha1.StatefulSetPodSetType: &appsv1.StatefulSet{
				ObjectMeta: metav1.ObjectMeta{Name: "web", Generation: 2}, Status: appsv1.StatefulSetStatus{UpdateRevision: "web-old", ObservedGeneration: 1},
				Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](3), UpdateStrategy: appsv1.StatefulSetUpdateStrategy{
					RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &kept},
				}},
			},
			cafev1alpha1.AdvancedStatefulSetPodSetType: &kruisev1beta1.StatefulSet{
				ObjectMeta: metav1.ObjectMeta{Name: "web", Generation: 2}, Status: kruisev1beta1.StatefulSetStatus{UpdateRevision: "web-old", ObservedGeneration: 1},
				Spec: kruisev1beta1.StatefulSetSpec{Replicas: ptr.To[int32](3), UpdateStrategy: kruisev1beta1.StatefulSetUpdateStrategy{
					RollingUpdate: &kruisev1beta1.RollingUpdateStatefulSetStrategy{Partition: &kept},
				}},
			},
		} {
			k, err := podset.Of(kind)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, k.Show(set, pods, builders.Epoch()).Older); diff != "" {
				t.Errorf("%s that keeps %d: older ones (-want +got):\n%s", kind, kept, diff)
			}
		}
	}
}
