// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/cli/live"
	"slipway.dev/slipway/test/audit"
)

// of gives a pod to another owner.
func of(owner string, change func(*corev1.Pod)) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		change(p)
		p.OwnerReferences[0].UID = types.UID(owner)
	}
}

func TestPodsOfTwoDeploymentsAreCountedTogether(t *testing.T) {
	for sentence, test := range map[string]struct {
		log  *log
		want crowd
	}{
		"nothing happens":                     {(&log{}).write("a", of("old", asIs)), crowd{least: 1, most: 1, states: 1}},
		"one takes the place of the other":    {(&log{}).write("a", of("old", asIs)).write("b", of("new", asIs)).write("a", of("old", down)), crowd{least: 1, most: 2, states: 3}},
		"one goes before the other is there":  {(&log{}).write("a", of("old", asIs)).write("a", of("old", down)).write("b", of("new", asIs)), crowd{least: 0, most: 2, states: 3}},
		"one that never serves is not enough": {(&log{}).write("a", of("old", asIs)).write("b", of("new", down)).write("a", of("old", down)), crowd{least: 0, most: 2, states: 3}},
	} {
		t.Run(sentence, func(t *testing.T) {
			seen := audit.Sightings(test.log.writes)
			got := together(audit.Window{From: 1}, audit.NewHistory("old", seen), audit.NewHistory("new", seen))
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(crowd{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatARolloutLeavesIsFound(t *testing.T) {
	for sentence, test := range map[string]struct {
		change func(*appsv1.Deployment)
		want   []string
	}{
		"nothing is left":                     {func(*appsv1.Deployment) {}, nil},
		"what is not of a rollout is no mark": {func(d *appsv1.Deployment) { d.Labels = labels("shop") }, nil},
		"everything is left": {func(d *appsv1.Deployment) {
			d.OwnerReferences = []metav1.OwnerReference{{Kind: rolloutv1alpha1.RolloutTraitKind, Name: "shop"}}
			d.Labels, d.Annotations = map[string]string{rolloutv1alpha1.LabelHeld: "true"}, map[string]string{rolloutv1alpha1.AnnotationHeld: "{}"}
		}, []string{"owner shop", "label rollout.slipway.dev/held", "annotation rollout.slipway.dev/held"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			d := freshDeployment(olderShop, image, 1)
			test.change(d)
			if diff := cmp.Diff(test.want, marksOn(d)); diff != "" {
				t.Errorf("marks (-want +got):\n%s", diff)
			}
			p := &rollout{stage: &stage{narrator: narrator{terminal: live.Terminal{Out: io.Discard}}, client: fake.NewClientBuilder().WithObjects(client.Object(d)).Build()}}
			if err := p.free(t.Context()); err != nil || len(p.broken) > 0 != (test.want != nil) {
				t.Errorf("broken promises %q, error %v", p.broken, err)
			}
		})
	}
}

func TestTheMetricIsWorstInTheSecondBatch(t *testing.T) {
	p := &rollout{}
	server, err := p.serveMetrics()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.metrics, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var got struct{ ErrorsPerMinute []int }
	if err := json.NewDecoder(answer.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if len(got.ErrorsPerMinute) != rolledPods/perBatch || got.ErrorsPerMinute[0] > 1 || got.ErrorsPerMinute[1] <= 1 {
		t.Errorf("errors of the batches %v, want one for each of them, and too many only in the second", got.ErrorsPerMinute)
	}
}

func TestAScenarioThatIsLocalSaysWhy(t *testing.T) {
	for name, s := range scenarios() {
		if s.nodes != nil && s.local == "" {
			t.Errorf("scenario %s changes the nodes of somebody else's cluster", name)
		}
		if s.local == "" {
			continue
		}
		err := (&stage{narrator: narrator{terminal: live.Terminal{Out: io.Discard}}}).reach(t.Context(), Options{Kubeconfig: "elsewhere"}, s)
		if err == nil || !strings.Contains(err.Error(), s.local) {
			t.Errorf("scenario %s on another cluster: error %v", name, err)
		}
	}
}

func TestARolloutIsToldInOneLine(t *testing.T) {
	trait := freshRollout("api", setRef())
	if got := told(trait); got != "(nobody has looked at it yet)" {
		t.Errorf("a new one: %q", got)
	}
	trait.Status = rolloutv1alpha1.RolloutStatus{
		RollingState: rolloutv1alpha1.RollingInBatchesState, RolloutTargetSize: 6, UpgradedReplicas: 2, UpgradedReadyReplicas: 1,
		Message: "waits; 5 of 6 pods available; waiting for pod api-1 (container app has not started)",
	}
	if got, want := told(trait), "rollingInBatches  2 of 6 changed, 1 available: waits; 5 of 6 pods available"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
