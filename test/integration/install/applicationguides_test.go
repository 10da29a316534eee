// SPDX-License-Identifier: Apache-2.0

package install

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// TestTheGuidesToApplicationsAreTaken runs every command of the guides beside a manager that has the rights of the installation. No
// pod is there: what a rollout then does is for the tests of rollouts.
func TestTheGuidesToApplicationsAreTaken(t *testing.T) {
	c := newClient(t)
	one := sectionsOf(t, "docs/guide/from-one-yaml-to-a-batch-release.md")
	definition := sectionsOf(t, "docs/guide/write-a-component-definition.md")
	if len(one) != 5 || len(definition) != 5 {
		t.Fatalf("the guides have %d and %d steps with commands, want 5 each", len(one), len(definition))
	}
	shell := startShell(t)
	shell.run(t, one[0])
	waitForCRDs(t, c)
	m := startManager(t)
	eventually(t, "the manager leads", func() error { return m.leads(t, c, true) })

	if out := shell.run(t, one[1]); !strings.Contains(out, "kind: CloneSet") || !strings.Contains(out, "kind: HorizontalPodAutoscaler") {
		t.Errorf("the application is rendered as\n%s", out)
	}
	if out := shell.run(t, one[2]); !strings.Contains(out, "nginx-unprivileged:1.28") {
		t.Errorf("the difference between the revisions is shown as\n%s", out)
	}
	rollout := &oamv1beta1.AppRollout{}
	eventually(t, "the application has a rollout to its second revision", func() error {
		return c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "shop"}, rollout)
	})
	if got, want := rollout.Spec.TargetAppRevisionName, "shop-v2"; got != want {
		t.Errorf("the rollout goes to %s, want %s", got, want)
	}
	shell.run(t, one[3])
	shell.run(t, one[4])

	shell.run(t, definition[0])
	if out := shell.run(t, definition[1]); !strings.Contains(out, "good morning") || !strings.Contains(out, "name: hello-text") {
		t.Errorf("the definition is checked as\n%s", out)
	}
	shell.run(t, definition[2])
	shell.run(t, definition[3])
	if out := shell.run(t, definition[4]); !strings.Contains(out, "nginx-unprivileged:1.29") {
		t.Errorf("the difference that the definition makes is shown as\n%s", out)
	}
	shell.run(t, "kubectl delete application hello\nkubectl delete -f greeter.yaml\n"+
		"kubectl delete clusterrole,clusterrolebinding slipway-configmaps\nkubectl delete -f config/definitions.yaml")
	m.stop(t)
}
