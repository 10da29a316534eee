// SPDX-License-Identifier: Apache-2.0

package rollouts

import (
	"fmt"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/cli/tree"
)

// Preview lays out what a rollout will do, given how it would begin; that may be empty when it is not known.
func Preview(r *Rollout, begins rolloutv1alpha1.RolloutStatus, done string) tree.Document {
	ahead := *r
	r = &ahead
	r.Status = begins
	b := body(r, r.CreationTimestamp.Time)
	doc := tree.Document{
		Head:    []tree.Span{{Text: fmt.Sprintf("%s %s/%s", r.Kind, r.Namespace, r.Name), Tone: tree.Strong}, {Text: "  " + done}},
		Facts:   []tree.Fact{{Name: "rollout", Value: []tree.Span{{Text: Change(r)}}}},
		Columns: b.Columns, Nodes: b.Nodes,
	}
	if all := total(r); all >= 0 {
		doc.Facts = append(doc.Facts, tree.Fact{Name: "pods", Value: []tree.Span{{Text: fmt.Sprint(all)}}})
	}
	doc.Facts = append(doc.Facts, tree.Fact{Name: "plan", Value: []tree.Span{{Text: Plan(r)}}})
	return doc
}
