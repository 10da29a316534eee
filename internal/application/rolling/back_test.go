// SPDX-License-Identifier: Apache-2.0

package rolling_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// What is brought back is what ran before. That is not the source when its pods had never all come to that.
func TestWhatIsBroughtBackMovesNoPod(t *testing.T) {
	for sentence, c := range map[string]struct{ image, want string }{
		"to the source":                 {"a:1", "apply CloneSet cart image=a:1 " + plain},
		"to what ran before the source": {"a:0", "apply CloneSet cart image=a:1 partition=4 " + plain},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := asking("shop-v2", "shop-v1", in(rolloutv1alpha1.RolloutFailingState), func(r *oamv1beta1.AppRollout) {
				r.Status.Ending = rolloutv1alpha1.RevertEnding
				r.Status.Running = &rolloutv1alpha1.RunningRollout{TargetAppRevision: "shop-v2", SourceAppRevision: "shop-v1", Component: "cart"}
			})
			w := newWorld(t, append(setsOf(t, nil, nil), deployed(set(t, c.image), 2, "cart", 2), r)...)
			s, err := w.kind.Subject(t.Context(), w.rollout())
			if err != nil {
				t.Fatal(err)
			}
			steps, err := s.Last(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{c.want}, lines(t, steps)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
