// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
)

func TestPass(t *testing.T) {
	type row struct {
		r                int32
		p, s, u, c       string
		paused, hookHeld bool
		options          Options
		pods, want       string
	}
	same := Options{SameRevision: true}
	exclude := Options{ExcludePreparingDelete: true}
	rollback := Options{PartitionRollback: true}
	for name, test := range map[string]row{
		"first creation: both classes are the same template":           {r: 5, p: "0", s: "0", u: "1", options: same, pods: "", want: "create 0 old + 5 new"},
		"first creation with a partition: still one template":          {r: 5, p: "2", s: "0", u: "1", options: same, pods: "", want: "create 0 old + 5 new"},
		"history exists: the partition is honored on creation":         {r: 5, p: "2", s: "0", u: "1", pods: "", want: "create 2 old + 3 new"},
		"the old share is restored first":                              {r: 5, p: "2", s: "0", u: "1", pods: "3nA", want: "create 2 old + 0 new"},
		"three pods missing: both shares are restored":                 {r: 5, p: "2", s: "0", u: "1", pods: "1oA 1nA", want: "create 1 old + 2 new"},
		"creation is limited to three":                                 {r: 10, p: "0", s: "0", u: "2", c: "3", pods: "4nA", want: "create 0 old + 3 new"},
		"creation is limited to three less two unavailable":            {r: 10, p: "0", s: "0", u: "2", c: "3", pods: "4nA 2nu", want: "create 0 old + 1 new"},
		"30% of ten creations are used up by unavailable pods":         {r: 10, p: "0", s: "0", u: "2", c: "30%", pods: "4nA 3nu", want: "nothing, creation is limited"},
		"a release starts with one pod":                                {r: 5, p: "0", s: "0", u: "1", pods: "5oA", want: "update 1 → n (want 5, cap 1)"},
		"the new pod is not available yet":                             {r: 5, p: "0", s: "0", u: "1", pods: "4oA 1nu", want: "update 0 → n (want 4, cap 1)"},
		"an unavailable old pod goes first and costs nothing":          {r: 5, p: "0", s: "0", u: "2", pods: "3oA 1ou 1nu", want: "update 1 → n (want 4, cap 2)"},
		"three broken old pods, but only two may be broken when new":   {r: 5, p: "0", s: "0", u: "2", pods: "2oA 3ou", want: "update 2 → n (want 5, cap 2)"},
		"with a partition fewer are wanted":                            {r: 5, p: "3", s: "0", u: "1", pods: "5oA", want: "update 1 → n (want 2, cap 1)"},
		"the partition is reached":                                     {r: 5, p: "3", s: "0", u: "1", pods: "3oA 2nA", want: "nothing"},
		"a partition of 99% of four keeps three":                       {r: 4, p: "99%", s: "0", u: "50%", pods: "4oA", want: "update 1 → n (want 1, cap 2)"},
		"a partition of literally 100% keeps all":                      {r: 4, p: "100%", s: "0", u: "50%", pods: "4oA", want: "nothing"},
		"a partition of 50% of one pod keeps it":                       {r: 1, p: "50%", s: "0", u: "1", pods: "1oA", want: "nothing"},
		"a partition of 1% of three keeps one":                         {r: 3, p: "1%", s: "0", u: "1", pods: "3oA", want: "update 1 → n (want 2, cap 1)"},
		"33% of ten is four, of the partition and of unavailable":      {r: 10, p: "33%", s: "0", u: "33%", pods: "10oA", want: "update 4 → n (want 6, cap 4)"},
		"surge first: the pass ends after creating":                    {r: 5, p: "0", s: "1", u: "0", pods: "5oA", want: "create 0 old + 1 new"},
		"the surge pod is not available yet":                           {r: 5, p: "0", s: "1", u: "0", pods: "5oA 1nu", want: "update 0 → n (want 4, cap 1)"},
		"the surge pod lets one old pod go":                            {r: 5, p: "0", s: "1", u: "0", pods: "5oA 1nA", want: "update 1 → n (want 4, cap 1)"},
		"the surge is no longer needed: the last old pod goes":         {r: 5, p: "0", s: "1", u: "0", pods: "1oA 5nA", want: "delete 1 old + 0 new (scale-in, chose 1)"},
		"a surge of 25% of ten is three":                               {r: 10, p: "0", s: "25%", u: "25%", pods: "10oA", want: "create 0 old + 3 new"},
		"three of the five that may be unavailable are":                {r: 10, p: "0", s: "25%", u: "25%", pods: "10oA 3nu", want: "update 2 → n (want 7, cap 5)"},
		"surge and unavailable add up":                                 {r: 10, p: "0", s: "25%", u: "25%", pods: "10oA 3nA", want: "update 5 → n (want 7, cap 5)"},
		"in place with surge: the extra old pod waits for an update":   {r: 3, p: "0", s: "1", u: "0", pods: "1oA 1nu@U 2nA", want: "scale-in blocked by budget"},
		"paused: no surge, no update":                                  {r: 5, p: "0", s: "1", u: "1", paused: true, pods: "5oA", want: "paused"},
		"paused does not stop scaling":                                 {r: 5, p: "0", s: "0", u: "1", paused: true, pods: "4oA", want: "create 0 old + 1 new"},
		"a pause takes the surge back, old pods first":                 {r: 5, p: "0", s: "1", u: "1", paused: true, pods: "5oA 1nA", want: "delete 1 old + 0 new (scale-in, chose 1)"},
		"scale-in takes the revision of which there are too many":      {r: 3, p: "0", s: "0", u: "1", pods: "3oA 2nA", want: "delete 2 old + 0 new (scale-in, chose 2)"},
		"unavailable victims need no budget":                           {r: 3, p: "0", s: "0", u: "1", pods: "2ou 3nA", want: "delete 2 old + 0 new (scale-in, chose 2)"},
		"old pods within their share stay":                             {r: 3, p: "2", s: "0", u: "20%", pods: "1oA 4nA", want: "delete 0 old + 2 new (scale-in, chose 2)"},
		"ready pods that are not yet available are free to delete":     {r: 3, p: "0", s: "0", u: "1", pods: "6nr", want: "delete 0 old + 3 new (scale-in, chose 3)"},
		"of two chosen pods one goes: the budget is one":               {r: 5, p: "0", s: "0", u: "1", pods: "3nA 2nA*", want: "delete 0 old + 1 new (specified)"},
		"an unavailable pod uses the budget for the chosen one up":     {r: 5, p: "0", s: "0", u: "1", pods: "3nA 1nu 1nA*", want: "nothing"},
		"fewer replicas and chosen pods together":                      {r: 4, p: "0", s: "0", u: "1", pods: "3nA 2nA*", want: "delete 0 old + 2 new (specified)"},
		"surge replaces the chosen pod first":                          {r: 5, p: "0", s: "1", u: "0", pods: "4nA 1nA*", want: "create 0 old + 1 new"},
		"the replacement is there: the chosen pod goes":                {r: 5, p: "0", s: "1", u: "0", pods: "4nA 1nA* 1nA", want: "delete 0 old + 1 new (specified)"},
		"unavailable rounds down to nothing: surge first":              {r: 10, p: "0", s: "10%", u: "9%", pods: "9nA 1nA*", want: "create 0 old + 1 new"},
		"a chosen old pod goes":                                        {r: 5, p: "5", s: "0", u: "1", pods: "4oA 1oA*", want: "delete 1 old + 0 new (specified)"},
		"a chosen old pod is made again at the current revision":       {r: 5, p: "5", s: "0", u: "1", pods: "4oA", want: "create 1 old + 0 new"},
		"a scale-in is called off":                                     {r: 3, p: "0", s: "0", u: "1", pods: "2nA 1nA@PD", want: "cancel 1 PreparingDelete"},
		"no second victim while a hook is held":                        {r: 2, p: "0", s: "0", u: "1", hookHeld: true, pods: "2nA 1nA@PD", want: "scale-in waits"},
		"a chosen pod counts as a replica while its hook is held":      {r: 3, p: "0", s: "0", u: "1", hookHeld: true, pods: "2nA 1nA*@PD", want: "nothing"},
		"excluded while its hook is held: replaced at once":            {r: 3, p: "0", s: "0", u: "1", hookHeld: true, options: exclude, pods: "2nA 1nA*@PD", want: "create 0 old + 1 new"},
		"limited creation does not stop the deletion of released pods": {r: 3, p: "0", s: "0", u: "1", c: "1", options: exclude, pods: "2nA 1nA*@PD", want: "delete the 1 PreparingDelete"},
		"a pod preparing for its update counts as new when scaling":    {r: 2, p: "50%", s: "0", u: "1", pods: "1oA@PU", want: "create 1 old + 0 new"},
		"a raised partition does not roll back":                        {r: 5, p: "4", s: "0", u: "2", pods: "1oA 4nA", want: "nothing"},
		"a raised partition rolls back when asked to":                  {r: 5, p: "4", s: "0", u: "2", options: rollback, pods: "1oA 4nA", want: "update 2 → o (want 3, cap 2)"},
		"scaled to nothing, everything goes at once":                   {r: 0, p: "0", s: "0", u: "1", pods: "3nA", want: "delete 0 old + 3 new (scale-in, chose 3)"},
		"a chosen new pod does not keep a broken old one from its update": {
			r: 4, p: "0", s: "3", u: "0", pods: "1ou 3nA 1nA*", want: "update 1 → n (want 1, cap 1)",
		},
		"a chosen unavailable pod does not free an available one": {r: 5, p: "0", s: "0", u: "1", pods: "3nA 1nu* 1nA*", want: "delete 0 old + 1 new (specified)"},
		"rolling back needs two revisions": {
			r: 5, p: "4", s: "0", u: "2", options: Options{PartitionRollback: true, SameRevision: true}, pods: "1oA 4nA", want: "nothing",
		},
		"a rollback with surge makes an old pod first": {
			r: 5, p: "4", s: "1", u: "0", options: rollback, pods: "1oA 4nA", want: "create 1 old + 0 new",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := model{
				limits:  limitsOf(test.r, test.p, test.s, test.u, test.c, test.paused),
				options: test.options, paused: test.paused, hookHeld: test.hookHeld,
			}
			if got, _ := m.pass(podsOf(test.pods)); got != test.want {
				t.Errorf("%q\n got %s\nwant %s", test.pods, got, test.want)
			}
		})
	}
}

func TestQuantities(t *testing.T) {
	for name, test := range map[string]struct {
		limits  Limits
		options Options
		pods    string
		want    Scaling
	}{
		"deleting and updating want the same surge: deleting gets it": {
			limits: Limits{Replicas: 3, Partition: 2, Surge: 2}, pods: "2oA 1oA*",
			want: Scaling{
				Revoke: 1, Need: 1, NeedOld: 0, Create: Split{New: 1}, OverOld: 0, Wish: 1,
				SurgeForDeletion: 1, SurgeForUpdate: 1, Surge: 1, SurgeOld: 1,
			},
		},
		"updating wants more surge than deleting": {
			limits: Limits{Replicas: 3, Surge: 2}, pods: "2oA 1oA*",
			want: Scaling{
				Revoke: 1, Need: 2, Create: Split{New: 2}, OverOld: 2, Wish: 3,
				SurgeForDeletion: 1, SurgeForUpdate: 3, Surge: 2,
			},
		},
		"a rollback surges with old pods": {
			limits: Limits{Replicas: 3, Partition: 2, Surge: 1}, options: Options{PartitionRollback: true}, pods: "1oA 2nA",
			want: Scaling{
				Need: 1, NeedOld: 2, Create: Split{Old: 1}, Wish: -1, SurgeForUpdate: 1, Surge: 1, SurgeOld: 1,
			},
		},
		"unavailable pods add to the surge that deleting wants": {
			limits: Limits{Replicas: 4, Surge: 2, Unavailable: 1}, pods: "2nA 1nu 1nA*",
			want: Scaling{
				Revoke: 1, Need: 1, Create: Split{New: 1}, Cap: 1, SurgeForDeletion: 1, Surge: 1,
			},
		},
		"a chosen unavailable pod does not hold creation back": {
			limits: Limits{Replicas: 4, Unavailable: 1, CreateUnavailable: ptr.To(1)}, pods: "2nA 1nu*",
			want: Scaling{
				Revoke: 2, Need: 1, Create: Split{New: 1}, Wish: 0, SurgeForDeletion: 0,
			},
		},
		"where creation is held back, the pods that are missing come before the one that stands in for a chosen pod": {
			limits: Limits{Replicas: 3, Partition: 2, Surge: 1, CreateUnavailable: ptr.To(1)}, pods: "1oA* 1oA",
			want: Scaling{
				Revoke: 2, Need: 2, NeedOld: 1, Create: Split{New: 1}, Limited: true, HeldBack: 1, Cap: -1,
				SurgeForDeletion: 1, Surge: 1, SurgeOld: 1,
			},
		},
		"where creation is held back and there are too many old pods already, new ones come first": {
			limits: Limits{Replicas: 5, Partition: 2, Surge: 3, CreateUnavailable: ptr.To(1)}, pods: "3oA* 1oA 1nA",
			want: Scaling{
				Revoke: 3, Need: 3, NeedOld: 1, Create: Split{New: 1}, Limited: true, HeldBack: 2, Wish: 2,
				SurgeForDeletion: 3, SurgeForUpdate: 2, Surge: 3, SurgeOld: 3,
			},
		},
		"creation is held back": {
			limits: Limits{Replicas: 4, Unavailable: 1, CreateUnavailable: ptr.To(1)}, pods: "2nA 1nu",
			want: Scaling{Revoke: 1, Need: 1, Limited: true, HeldBack: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Scale(test.limits, countScaling(podsOf(test.pods)), test.options)); diff != "" {
				t.Errorf("quantities (-want +got):\n%s", diff)
			}
		})
	}
}

// A sequence is told as the pods, what the pass does, the pods, and so on.
// When a pass does nothing, every pod becomes available.
func TestSequence(t *testing.T) {
	for name, test := range map[string]struct {
		r        int32
		p, s, u  string
		recreate bool
		pods     string
		want     []string
	}{
		"recreate with one unavailable": {
			r: 3, p: "0", s: "0", u: "1", recreate: true, pods: "3oA",
			want: []string{
				"3oA", "update 1 → n (want 3, cap 1)",
				"2oA", "create 0 old + 1 new",
				"2oA 1nu", "available",
				"2oA 1nA", "update 1 → n (want 2, cap 1)",
				"1oA 1nA", "create 0 old + 1 new",
				"1oA 1nA 1nu", "available",
				"1oA 2nA", "update 1 → n (want 1, cap 1)",
				"2nA", "create 0 old + 1 new",
				"2nA 1nu", "available",
				"3nA",
			},
		},
		"recreate with one in surge": {
			r: 3, p: "0", s: "1", u: "0", recreate: true, pods: "3oA",
			want: []string{
				"3oA", "create 0 old + 1 new",
				"3oA 1nu", "available",
				"3oA 1nA", "update 1 → n (want 2, cap 1)",
				"2oA 1nA", "create 0 old + 1 new",
				"2oA 1nA 1nu", "available",
				"2oA 2nA", "update 1 → n (want 1, cap 1)",
				"1oA 2nA", "create 0 old + 1 new",
				"1oA 2nA 1nu", "available",
				"1oA 3nA", "delete 1 old + 0 new (scale-in, chose 1)",
				"3nA",
			},
		},
		"in place with one unavailable": {
			r: 3, p: "0", s: "0", u: "1", pods: "3oA",
			want: []string{
				"3oA", "update 1 → n (want 3, cap 1)",
				"2oA 1nu@U", "available",
				"2oA 1nA", "update 1 → n (want 2, cap 1)",
				"1oA 1nA 1nu@U", "available",
				"1oA 2nA", "update 1 → n (want 1, cap 1)",
				"2nA 1nu@U", "available",
				"3nA",
			},
		},
		"in place with one in surge": {
			r: 3, p: "0", s: "1", u: "0", pods: "3oA",
			want: []string{
				"3oA", "create 0 old + 1 new",
				"3oA 1nu", "available",
				"3oA 1nA", "update 1 → n (want 2, cap 1)",
				"2oA 1nA 1nu@U", "available",
				"2oA 2nA", "update 1 → n (want 1, cap 1)",
				"1oA 2nA 1nu@U", "available",
				"1oA 3nA", "delete 1 old + 0 new (scale-in, chose 1)",
				"3nA",
			},
		},
		"a pod marked for its update, then deleted and made again": {
			r: 3, p: "0", s: "0", u: "1", recreate: true, pods: "2nA 1oA*",
			want: []string{
				"1oA* 2nA", "delete 1 old + 0 new (specified)",
				"2nA", "create 0 old + 1 new",
				"2nA 1nu", "available",
				"3nA",
			},
		},
		"two chosen pods are replaced through one surge": {
			r: 3, p: "0", s: "1", u: "0", pods: "1nA 2nA*",
			want: []string{
				"1nA 2nA*", "create 0 old + 1 new",
				"1nA 2nA* 1nu", "available",
				"2nA 2nA*", "delete 0 old + 1 new (specified)",
				"2nA 1nA*", "create 0 old + 1 new",
				"2nA 1nA* 1nu", "available",
				"3nA 1nA*", "delete 0 old + 1 new (specified)",
				"3nA",
			},
		},
		"a partition holds the release": {
			r: 3, p: "2", s: "0", u: "50%", pods: "3oA",
			want: []string{
				"3oA", "update 1 → n (want 1, cap 2)",
				"2oA 1nu@U", "available",
				"2oA 1nA",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := model{limits: limitsOf(test.r, test.p, test.s, test.u, "", false), recreate: test.recreate}
			pods := podsOf(test.pods)
			got := []string{show(pods)}
			for range 50 {
				action, after := m.pass(pods)
				if show(after) == show(pods) {
					action, after = "available", heal(pods)
				}
				if show(after) == show(pods) {
					break
				}
				pods = after
				got = append(got, action, show(pods))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("sequence (-want +got):\n%s", diff)
			}
		})
	}
}
