// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// outcome writes an outcome in a few words.
func outcome(decided Outcome) string {
	switch decided := decided.(type) {
	case Unchanged:
		return "is " + decided.Revision.Name
	case Again:
		return decided.Next.Name + " again as " + decided.Earlier.Name
	case New:
		return decided.Next.Name + " is new"
	default:
		return "nothing"
	}
}

func TestDecide(t *testing.T) {
	revision := func(content Content, number int64, change ...func(*oamv1beta1.ApplicationRevision)) *oamv1beta1.ApplicationRevision {
		made, _ := deploy(t, content, number, Known{})
		for _, f := range change {
			f(made)
		}
		return made
	}
	one, two := revision(shop(), 1), revision(image(0, "web:2"), 2)
	for sentence, test := range map[string]struct {
		history History
		content Content
		want    string
	}{
		"the first":                           {History{}, shop(), "shop-v1 is new"},
		"the same":                            {History{Own: list(one)}, shop(), "is shop-v1"},
		"another":                             {History{Own: list(one)}, image(0, "web:2"), "shop-v2 is new"},
		"the newest of several, in any order": {History{Own: list(two, one)}, image(0, "web:2"), "is shop-v2"},
		"going back":                          {History{Own: list(two, one)}, shop(), "shop-v3 again as shop-v1"},
		"going back to the newest of equals": {
			History{Own: list(one, revision(image(0, "web:3"), 2), revision(shop(), 3), revision(image(0, "web:4"), 4))}, shop(), "shop-v5 again as shop-v3"},
		"ten comes after nine":               {History{Own: list(revision(shop(), 10), revision(image(0, "web:2"), 9))}, shop(), "is shop-v10"},
		"a revision that is gone":            {History{Own: list(one), Highest: 4}, image(0, "web:2"), "shop-v5 is new"},
		"all are gone":                       {History{Highest: 4}, shop(), "shop-v5 is new"},
		"the newest one is gone":             {History{Own: list(one), Highest: 4}, shop(), "is shop-v1"},
		"a name that another object has":     {History{Own: list(one), Taken: map[string]bool{"shop-v2": true, "shop-v3": true}}, image(0, "web:2"), "shop-v4 is new"},
		"going back past a name that is had": {History{Own: list(one, two), Taken: map[string]bool{"shop-v3": true}}, shop(), "shop-v4 again as shop-v1"},
		"a label that was lost":              {History{Own: list(revision(shop(), 1, func(r *oamv1beta1.ApplicationRevision) { r.Labels = nil }))}, shop(), "is shop-v1"},
		"a label that says something else": {History{Own: list(revision(shop(), 1, func(r *oamv1beta1.ApplicationRevision) {
			r.Labels[oamv1beta1.LabelAppRevisionHash] = hashed(t, image(0, "web:2"))
		}))}, image(0, "web:2"), "shop-v2 is new"},
		"a revision that holds no workload":  {History{Own: list(revision(shop(), 1, func(r *oamv1beta1.ApplicationRevision) { r.Spec.ComponentRevisions[1].Workload = nil }))}, shop(), "shop-v2 is new"},
		"a revision that lacks a component":  {History{Own: list(revision(shop(), 1, func(r *oamv1beta1.ApplicationRevision) { r.Spec.ComponentRevisions = r.Spec.ComponentRevisions[:1] }))}, shop(), "shop-v2 is new"},
		"a revision that lacks a definition": {History{Own: list(revision(shop(), 1, func(r *oamv1beta1.ApplicationRevision) { r.Spec.TraitDefinitions = nil }))}, shop(), "shop-v2 is new"},
		"a revision of another system": {
			History{Own: list(revision(shop(), 7, func(r *oamv1beta1.ApplicationRevision) { r.Spec.ComponentRevisions, r.Spec.Revision = nil, 0 }))}, shop(), "shop-v8 is new"},
		"a number that is not that of the name": {History{Own: list(revision(shop(), 3, func(r *oamv1beta1.ApplicationRevision) { r.Spec.Revision = 5 }))}, image(0, "web:2"), "shop-v6 is new"},
		"a plan alone":                          {History{Own: list(one)}, with(func(c *Content) { c.Application.Spec.RolloutPlan = nil; c.Application.Generation = 9 }), "is shop-v1"},
	} {
		t.Run(sentence, func(t *testing.T) {
			test.history.Application = "shop"
			decided, err := test.history.Decide(test.content)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, outcome(decided)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func list(revisions ...*oamv1beta1.ApplicationRevision) []*oamv1beta1.ApplicationRevision {
	return revisions
}

func hashed(t *testing.T, content Content) string {
	t.Helper()
	hash, err := content.Hash()
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

func TestWhatCannotBeDecidedIsSaid(t *testing.T) {
	if decided, err := (History{Application: "shop"}).Decide(with(func(c *Content) { c.Traits = nil })); err == nil {
		t.Errorf("got %s without a definition", outcome(decided))
	}
	if decided, err := (History{Application: "shop", Highest: maxNumber}).Decide(shop()); err == nil {
		t.Errorf("got %s after the highest number", outcome(decided))
	}
}
