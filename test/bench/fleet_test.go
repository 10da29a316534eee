// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
)

var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// at is an audit line about a pod, so many milliseconds after the beginning.
func at(ms int, agent, verb, sub, pod string) string {
	rest := fmt.Sprintf(`,"requestReceivedTimestamp":%q`, began.Add(time.Duration(ms)*time.Millisecond).Format(time.RFC3339Nano))
	return strings.Replace(line(agent, verb, "pods", sub, 200, rest), `"name":"p"`, fmt.Sprintf("%q:%q", "name", pod), 1)
}

// during is a span from one millisecond to another.
func during(from, to int) span {
	return span{from: began.Add(time.Duration(from) * time.Millisecond), to: began.Add(time.Duration(to) * time.Millisecond)}
}

func TestSpans(t *testing.T) {
	made, gone := during(1, 4), during(1, 3)
	made.made, gone.gone = true, true
	again := gone
	again.made = true
	again.to = began.Add(5 * time.Millisecond)
	for sentence, c := range map[string]struct {
		log  string
		want map[string]span
	}{
		"a pod in place": {
			at(1, ours, "patch", "status", "a") + at(2, ours, "patch", "", "a") + at(9, "slipway-node/v0", "patch", "status", "a"), map[string]span{"a": during(1, 9)}},
		"lines in another order": {at(9, ours, "patch", "status", "a") + at(1, ours, "patch", "", "a"), map[string]span{"a": during(1, 9)}},
		"a new pod":              {at(1, ours, "create", "", "a") + at(4, "kube-scheduler/v1", "create", "binding", "a"), map[string]span{"a": made}},
		"a pod that leaves":      {at(1, ours, "delete", "", "a") + at(3, "slipway-node/v0", "delete", "", "a"), map[string]span{"a": gone}},
		"one that is made again": {at(1, ours, "delete", "", "a") + at(5, ours, "create", "", "a"), map[string]span{"a": again}},
		"the health of nodes":    {at(1, "kube-controller-manager/v1", "patch", "status", "a"), map[string]span{}},
		"what is only read":      {at(1, ours, "get", "", "a"), map[string]span{}},
		"what was refused":       {strings.Replace(at(1, ours, "patch", "", "a"), `"code":200`, `"code":409`, 1), map[string]span{}},
		"a log without times":    {line(ours, "patch", "pods", "", 200, `,"requestObject":{}`), map[string]span{}},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := spansOf(strings.NewReader(c.log))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(span{})); diff != "" {
				t.Errorf("spans (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMostAtOnce(t *testing.T) {
	for sentence, c := range map[string]struct {
		spans []span
		want  int
	}{
		"none":                        {nil, 0},
		"one after the other":         {[]span{during(1, 2), during(3, 4), during(5, 6)}, 1},
		"two and one":                 {[]span{during(1, 4), during(2, 5), during(6, 7)}, 2},
		"all":                         {[]span{during(1, 9), during(2, 8), during(3, 7)}, 3},
		"at the same time is at once": {[]span{during(1, 2), during(2, 3)}, 2},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := mostAtOnce(c.spans); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

func TestGroupsAreJudged(t *testing.T) {
	var pods []corev1.Pod
	for _, name := range []string{"one-a", "one-b", "one-c", "two-a"} {
		owner, _, _ := strings.Cut(name, "-")
		pods = append(pods, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{labelApp: owner}}})
	}
	leaving := during(2, 9)
	leaving.gone = true
	for sentence, c := range map[string]struct {
		spans map[string]span
		want  float64
		says  string // part of the error or of the remark
	}{
		"as many as a group has":           {map[string]span{"one-a": during(1, 3), "one-b": during(2, 4), "one-c": during(5, 6)}, 2, ""},
		"one too many":                     {map[string]span{"one-a": during(1, 3), "one-b": during(2, 4), "one-c": during(3, 6)}, 0, "3 pods of one were on their way at once, and batchSize is 2"},
		"each deployment has its groups":   {map[string]span{"one-a": during(1, 3), "one-b": during(2, 4), "two-a": during(3, 6)}, 2, ""},
		"a pod that leaves for good":       {map[string]span{"one-a": during(1, 3), "one-b": during(2, 4), "one-c": leaving}, 2, ""},
		"a pod of somebody else":           {map[string]span{"one-a": during(1, 3), "other": during(2, 4)}, 1, ""},
		"a log that tells nothing of pods": {nil, 0, "does not tell"},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := &row{}
			err := judgeOverlap(r, pods, c.spans, 2, "batchSize")
			if got := fmt.Sprint(err, r.Notes); c.says != "" && !strings.Contains(got, c.says) || c.says == "" && err != nil {
				t.Errorf("got %s, want %q", got, c.says)
			}
			if got := r.Figures[atOnce]; got != c.want {
				t.Errorf("%.0f at once, want %.0f", got, c.want)
			}
		})
	}
}

func TestAGroupThatIsTooLargeIsFound(t *testing.T) {
	f := fleet{kind: cafeDeployment{units: cells(2), batch: 3}}
	for sentence, c := range map[string]struct {
		kind cafev1alpha1.GroupKind
		pods []int32
		want string
	}{
		"one pod in each unit":    {cafev1alpha1.BetaGroup, []int32{1, 1}, ""},
		"two pods in one unit":    {cafev1alpha1.BetaGroup, []int32{1, 2}, "Beta group 1 takes 2 pods in unit cell-2"},
		"as many as a group has":  {cafev1alpha1.BatchGroup, []int32{1, 2}, ""},
		"more than a group takes": {cafev1alpha1.BatchGroup, []int32{2, 2}, "group 1 takes 4 pods, and batchSize is 3"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := cafev1alpha1.ReleaseGroup{Index: 1, Kind: c.kind}
			for i, n := range c.pods {
				g.Units = append(g.Units, cafev1alpha1.GroupQuota{Name: f.kind.units[i], Pods: n})
			}
			if got := f.oversized(g); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestACafeDeploymentIsAskedForGroups(t *testing.T) {
	k := cafeDeployment{sets: cafev1alpha1.CloneSetPodSetType, units: cells(2), batch: 4}
	d := k.fresh(client.ObjectKey{Namespace: "n", Name: "x"}, 10).(*cafev1alpha1.CafeDeployment)
	if *d.Spec.Replicas != 10 || *d.Spec.Strategy.BatchSize != 4 || d.Spec.PodSetType != k.sets || len(d.Spec.Topology.Values) != 2 || d.Spec.Strategy.NeedWaitingForConfirm {
		t.Errorf("it is asked for %+v", d.Spec)
	}
	k.release(d, "new", inPlace, intstr.Parse("3"))
	if d.Spec.Template.Spec.Containers[0].Image != "new" || *d.Spec.Strategy.BatchSize != 3 {
		t.Errorf("it is released with %+v", d.Spec)
	}
	k.scale(d, 0)
	if *d.Spec.Replicas != 0 {
		t.Error("a scale to 0 leaves replicas")
	}
	for kind, want := range map[cafev1alpha1.PodSetType]way{"InPlaceSet": inPlace, "CloneSet": inPlace, "AdvancedStatefulSet": recreate, "ReplicaSet": recreate, "StatefulSet": recreate} {
		if got := (cafeDeployment{sets: kind}).way(); got != want {
			t.Errorf("%ss reach their pods by %d, want %d", kind, got, want)
		}
	}
}

func TestACafeDeploymentHasSettled(t *testing.T) {
	done := cafev1alpha1.CafeDeploymentStatus{
		ObservedGeneration: 3, Phase: cafev1alpha1.StablePhase, Replicas: 2, ReadyReplicas: 2, AvailableReplicas: 2, UpdatedReplicas: 2, UpdatedAvailableReplicas: 2,
	}
	for sentence, c := range map[string]struct {
		change func(*cafev1alpha1.CafeDeploymentStatus)
		want   bool
	}{
		"all pods are new and available":      {func(*cafev1alpha1.CafeDeploymentStatus) {}, true},
		"the status is of an older spec":      {func(s *cafev1alpha1.CafeDeploymentStatus) { s.ObservedGeneration = 2 }, false},
		"a group is on its way":               {func(s *cafev1alpha1.CafeDeploymentStatus) { s.Phase = cafev1alpha1.ProgressingPhase }, false},
		"one pod is not available":            {func(s *cafev1alpha1.CafeDeploymentStatus) { s.AvailableReplicas = 1 }, false},
		"the one that is new is not that one": {func(s *cafev1alpha1.CafeDeploymentStatus) { s.UpdatedAvailableReplicas = 1 }, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			d := cafeDeployment{}.fresh(client.ObjectKey{Namespace: "n", Name: "x"}, 2).(*cafev1alpha1.CafeDeployment)
			d.Generation, d.Status = 3, done
			c.change(&d.Status)
			if got := (cafeDeployment{}).settled(d); got != c.want {
				t.Errorf("settled %t, want %t", got, c.want)
			}
		})
	}
}

func TestAFleetHasACluster(t *testing.T) {
	o := defaultOptions()
	o.kind = kindCafe
	all := rounds(o)
	if len(all) != 1 || all[0].room != 2*5000 || len(all[0].cells) != 5 {
		t.Errorf("got %+v", all)
	}
	if !o.wants(scenarioFleetRest) || !o.wants(scenarioCeiling) || o.wants(scenarioCreate) {
		t.Error("a fleet has its own scenarios")
	}
}
