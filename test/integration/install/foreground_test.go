// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

const refusedForeground = "use --cascade=background, or wait until the rollout has ended"

// The garbage collector deletes what an object owns before an object that is deleted in the foreground, and a rollout that is in
// progress owns its workload.
func TestARolloutThatHoldsItsWorkloadIsNotDeletedInTheForeground(t *testing.T) {
	c := newClient(t)
	install(t, c)
	waitForCRDs(t, c)
	tests := map[string]struct {
		finalizers []string
		how        []client.DeleteOption
		refused    bool
	}{
		"in the foreground, while it holds":              {holding, []client.DeleteOption{client.PropagationPolicy(metav1.DeletePropagationForeground)}, true},
		"beside another finalizer":                       {append([]string{"install.test/hold"}, holding...), []client.DeleteOption{client.PropagationPolicy(metav1.DeletePropagationForeground)}, true},
		"in the background, while it holds":              {holding, []client.DeleteOption{client.PropagationPolicy(metav1.DeletePropagationBackground)}, false},
		"without its dependents, while it holds":         {holding, []client.DeleteOption{client.PropagationPolicy(metav1.DeletePropagationOrphan)}, false},
		"as it comes, while it holds":                    {holding, nil, false},
		"in the foreground, when it holds nothing":       {nil, []client.DeleteOption{client.PropagationPolicy(metav1.DeletePropagationForeground)}, false},
		"in the foreground, with a finalizer of another": {[]string{"install.test/hold"}, []client.DeleteOption{client.PropagationPolicy(metav1.DeletePropagationForeground)}, false},
	}
	waitForForeground(t, c)
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			rollout := inProgress(t, c, test.finalizers)
			judge := func(what string, got error) {
				t.Helper()
				if test.refused != (apierrors.IsForbidden(got) && strings.Contains(got.Error(), refusedForeground)) || !test.refused && got != nil {
					t.Errorf("%s: got %v, refused is to be %t", what, got, test.refused)
				}
			}
			judge("deleting it", c.Delete(t.Context(), rollout, append(test.how, client.DryRunAll)...))
			all := []client.DeleteAllOfOption{client.InNamespace("default"), client.MatchingFields{metav1.ObjectNameField: rollout.Name}, client.DryRunAll}
			for _, how := range test.how {
				all = append(all, how.(client.DeleteAllOfOption))
			}
			judge("deleting all", c.DeleteAllOf(t.Context(), &rolloutv1alpha1.RolloutTrait{}, all...))
		})
	}
}

// A deletion in the background that is under way holds the workload still.
func TestADeletionUnderWayIsNotTurnedIntoOneInTheForeground(t *testing.T) {
	c := newClient(t)
	install(t, c)
	waitForCRDs(t, c)
	waitForForeground(t, c)
	rollout := inProgress(t, c, holding)
	if err := c.Delete(t.Context(), rollout); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), rollout, client.PropagationPolicy(metav1.DeletePropagationForeground)); !apierrors.IsForbidden(err) {
		t.Errorf("it is not refused: %v", err)
	}
}

var holding = []string{rolloutv1alpha1.FinalizerRollout}

// inProgress creates a rollout with finalizers. It is removed after the test.
func inProgress(t *testing.T, c client.Client, finalizers []string) *rolloutv1alpha1.RolloutTrait {
	t.Helper()
	rollout := &rolloutv1alpha1.RolloutTrait{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "foreground-", Finalizers: finalizers},
		Spec: rolloutv1alpha1.RolloutTraitSpec{
			TargetRef:   rolloutv1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "missing"},
			RolloutPlan: rolloutv1alpha1.RolloutPlan{TargetSize: ptr.To[int32](1)},
		},
	}
	if err := c.Create(t.Context(), rollout); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := client.IgnoreNotFound(c.Patch(ctx, rollout, client.RawPatch("application/merge-patch+json", []byte(`{"metadata": {"finalizers": null}}`)))); err != nil {
			t.Errorf("removing the finalizers of %s: %v", rollout.Name, err)
		}
		if err := client.IgnoreNotFound(c.Delete(ctx, rollout)); err != nil {
			t.Errorf("removing %s: %v", rollout.Name, err)
		}
	})
	return rollout
}

// waitForForeground waits until the server follows the policy: it learns of new ones by a watch of its own.
func waitForForeground(t *testing.T, c client.Client) {
	t.Helper()
	rollout := inProgress(t, c, holding)
	eventually(t, "the server follows the policy", func() error {
		err := c.Delete(t.Context(), rollout, client.DryRunAll, client.PropagationPolicy(metav1.DeletePropagationForeground))
		if !apierrors.IsForbidden(err) {
			return errors.Join(errors.New("a deletion is not refused"), err)
		}
		return nil
	})
}
