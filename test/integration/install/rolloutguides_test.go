// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

var (
	manifestBlock = regexp.MustCompile("(?ms)^```yaml\n(apiVersion: .*?)^```$")
	aWrite        = regexp.MustCompile(`(?m)^kubectl (?:patch|annotate|create) .*$`)
)

// TestTheGuidesToRolloutsAreTaken applies the manifests of the guides and runs what they have kubectl write. No manager and no pod is
// there: what a rollout then does is for the tests of rollouts.
func TestTheGuidesToRolloutsAreTaken(t *testing.T) {
	c := newClient(t)
	install(t, c)
	waitForCRDs(t, c)
	for page, writes := range map[string]int{"batch-release-a-deployment": 1, "gate-a-release-by-prometheus": 2, "approve-by-webhook": 1} {
		t.Run(page, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(root(t), "docs/guide", page+".md"))
			if err != nil {
				t.Fatal(err)
			}
			shell := startShell(t)
			blocks, found := manifestBlock.FindAllStringSubmatch(string(text), -1), aWrite.FindAllString(string(text), -1)
			if len(blocks) < 2 || len(found) != writes {
				t.Fatalf("the guide has %d manifests and %d writes", len(blocks), len(found))
			}
			for i, block := range blocks {
				shell.run(t, fmt.Sprintf("cat > %d.yaml <<'END'\n%sEND\nkubectl apply -f %d.yaml", i, block[1], i))
			}
			shell.run(t, strings.Join(found, "\n"))
			rollout := &rolloutv1alpha1.RolloutTrait{}
			if err := c.Get(t.Context(), types.NamespacedName{Namespace: "default", Name: "web"}, rollout); err != nil {
				t.Fatalf("the rollout of the guide: %v", err)
			}
			if p := rollout.Spec.RolloutPlan.BatchPartition; page == "batch-release-a-deployment" && (p == nil || *p != 1) {
				t.Errorf("after the patch of the guide the partition is %v, want 1", p)
			}
			if a := rollout.Annotations[rolloutv1alpha1.AnnotationApprove]; page == "approve-by-webhook" && a != "1.0/1/batchInitializing" {
				t.Errorf("after the words of the guide the approval is %q", a)
			}
			for i := range blocks {
				shell.run(t, fmt.Sprintf("kubectl delete --ignore-not-found -f %d.yaml", i))
			}
			shell.run(t, "kubectl delete --ignore-not-found role,rolebinding slipway-metrics")
		})
	}
}
