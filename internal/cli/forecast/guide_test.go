// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/test/builders"
)

// shown are the lines of the block of the guide that begins with a title. A line of dots stands for some that are left out.
func shown(t *testing.T, title string) []string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "guide", "plan-a-release.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(raw), "```text\n"+title)
	if !found {
		t.Fatalf("the guide has no block that begins with %q", title)
	}
	block, _, _ := strings.Cut(title+rest, "\n```")
	return strings.Split(block, "\n")
}

// TestTheGuideShowsWhatIsTold: each block of the guide is what is printed, but for what dots leave out.
func TestTheGuideShowsWhatIsTold(t *testing.T) {
	shop := cells(func(d *cafev1alpha1.CafeDeployment) {
		d.Name, d.Spec.Strategy.NeedWaitingForConfirm = "shop", true
		d.Spec.Template.Spec.Containers[0].Name, d.Spec.Template.Spec.Containers[0].Image = "web", "shop:v1"
	})
	inCells := livingCells(t, shop)
	released := shop.DeepCopy()
	released.Spec.Template.Spec.Containers[0].Image = "shop:v2"

	d := &appsv1.Deployment{ObjectMeta: metaOf("shop"), Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](4), Selector: selector, Template: template()}}
	d.Spec.Template.Spec.Containers[0].Name, d.Spec.Template.Spec.Containers[0].Image = "web", "shop:v1"
	rs := &appsv1.ReplicaSet{ObjectMeta: metaOf("shop-6d4cf56db6"), Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To[int32](4), Template: *d.Spec.Template.DeepCopy()}}
	rs.UID, rs.Labels = "rs-uid", map[string]string{"pod-template-hash": "6d4cf56db6"}
	rs.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, deployments().GVK)}
	plain := Live{Object: d, Beside: []client.Object{rs}}
	for _, id := range []string{"7xk2p", "c9mwl", "hv5tz", "qn8rd"} {
		plain.Pods = append(plain.Pods, podOf(rs.Name+"-"+id, "", "n", rs, "ReplicaSet"))
	}
	next := d.DeepCopy()
	next.Spec.Template.Spec.Containers[0].Image = "shop:v2"

	for _, test := range []struct {
		kind   Kind
		live   Live
		wanted client.Object
	}{{cafeDeployments(), inCells, released}, {deployments(), plain, next}} {
		t.Run(test.kind.Title, func(t *testing.T) {
			f, err := New("shop.yaml", test.kind, test.live, test.wanted, builders.Epoch().Add(time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			printed := f.Lines(false)
			rest := printed
			for _, line := range shown(t, test.kind.Title+" default/shop") {
				if line == "…" {
					continue
				}
				at := slices.Index(rest, line)
				if at < 0 {
					t.Fatalf("the guide shows %q, and that is not printed, or not there:\n%s", line, strings.Join(printed, "\n"))
				}
				rest = rest[at+1:]
			}
		})
	}
}
