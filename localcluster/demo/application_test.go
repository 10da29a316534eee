// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"io"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/cli/live"
)

func TestOneComponentOfTheApplicationIsEdited(t *testing.T) {
	a := freshApplication("app:1")
	withImage(a, webComponent, "app:2")
	for i, want := range []string{`"image":"app:1"`, `"image":"app:2"`} {
		if got := string(a.Spec.Components[i].Properties.Raw); !strings.Contains(got, want) {
			t.Errorf("component %s has the properties %s, want %s", a.Spec.Components[i].Name, got, want)
		}
	}
}

func TestAnApplicationIsToldInOneLine(t *testing.T) {
	a := freshApplication("app:1")
	if got, want := toldApplication(a), "                       (nothing is said yet)"; got != want {
		t.Errorf("a new one: %q, want %q", got, want)
	}
	a.Status = oamv1beta1.ApplicationStatus{
		Phase: oamv1beta1.ApplicationRollingOut, LatestRevision: &oamv1beta1.Revision{Name: "shop-v2"},
		Conditions: []metav1.Condition{{Type: oamv1beta1.ConditionReady, Message: "component api: 1 of 2; waiting for pod api-1 (container app has not started)"}},
	}
	if got, want := toldApplication(a), "shop-v2  rollingOut    component api: 1 of 2"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWorkloadsAreTheApplicationsInTheEnd(t *testing.T) {
	mine := freshApplication("app:1")
	mine.UID = "mine"
	for sentence, test := range map[string]struct {
		owners []metav1.OwnerReference
		broken int
	}{
		"the application's":                 {[]metav1.OwnerReference{{Kind: oamv1beta1.ApplicationKind, Name: shopName, UID: "mine", Controller: ptr.To(true)}}, 0},
		"nobody's":                          {nil, 1},
		"a rollout's, which has not let go": {[]metav1.OwnerReference{{Kind: oamv1beta1.AppRolloutKind, Name: shopName, UID: "other", Controller: ptr.To(true)}}, 2},
	} {
		t.Run(sentence, func(t *testing.T) {
			d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: webComponent, OwnerReferences: test.owners}}
			p := &app{live: mine, stage: &stage{
				narrator: narrator{terminal: live.Terminal{Out: io.Discard}}, client: fake.NewClientBuilder().WithObjects(d).Build(),
			}}
			if err := p.free(t.Context()); err != nil || len(p.broken) != test.broken {
				t.Errorf("broken promises %q, error %v; want %d promises", p.broken, err, test.broken)
			}
		})
	}
}
