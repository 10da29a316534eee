// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/cafe/plan"
	"slipway.dev/slipway/internal/step"
)

// ago are times before now, for pods without a node.
func (c *cells) ago(seconds ...int) []time.Time {
	var times []time.Time
	for _, s := range seconds {
		times = append(times, c.now.Add(-time.Duration(s)*time.Second))
	}
	return times
}

// moved tells what was moved where, unit by unit.
func moved(s *cafev1alpha1.CafeDeploymentStatus) string {
	var told []string
	for _, u := range s.Units {
		if n := u.RescheduledIn - u.RescheduledOut; n != 0 {
			told = append(told, fmt.Sprintf("%s%+d", u.Name, n))
		}
	}
	return strings.Join(told, " ")
}

func TestRescheduling(t *testing.T) {
	type short = map[string][]int // how many seconds ago pods of a unit began to find no node
	unit := func(c *cells, name string) *cafev1alpha1.UnitStatus {
		for i := range c.d.Status.Units {
			if c.d.Status.Units[i].Name == name {
				return &c.d.Status.Units[i]
			}
		}
		t.Fatalf("there is no unit %s", name)
		return nil
	}
	came := func(seconds int) func(*cells) {
		return func(c *cells) { // one pod of A's has come to B
			unit(c, "A").RescheduledOut, unit(c, "A").Desired = 1, 2
			unit(c, "A").ShortUntil = ptr.To(metav1.NewTime(c.now.Add(time.Hour)))
			b := unit(c, "B")
			b.RescheduledIn, b.Desired = 1, 4
			b.RescheduledAt = ptr.To(metav1.NewTime(c.now.Add(-time.Duration(seconds) * time.Second)))
			c.sets["web-a"].asked, c.sets["web-b"].asked = 2, 4
			c.d.Status.RescheduledFor = purposeOf(c)
		}
	}
	for sentence, c := range map[string]struct {
		short  short
		below  short // of pods that would not go next
		change func(*cells)
		want   string
		full   string
		look   time.Duration
	}{
		"nobody is short": {},
		"a pod that has not waited long enough moves nothing":  {short: short{"A": {9}}, look: time.Second},
		"a pod that has waited gives its quota up":             {short: short{"A": {10}}, want: "A-1 B+1"},
		"ties go by the order of the units":                    {short: short{"B": {10}}, want: "A+1 B-1"},
		"several are spread evenly":                            {short: short{"A": {10, 11, 12}}, want: "A-3 B+2 C+1"},
		"only those that have waited":                          {short: short{"A": {10, 3}}, want: "A-1 B+1", look: 7 * time.Second},
		"a unit that is short as well gets nothing":            {short: short{"A": {10}, "B": {10}}, want: "A-1 B-1 C+2"},
		"nor one whose pods have just begun to wait":           {short: short{"A": {10}, "B": {1}}, want: "A-1 C+1", look: 9 * time.Second},
		"nor one that was short in the last 300 seconds":       {short: short{"A": {10}}, want: "A-1 C+1", change: func(c *cells) { unit(c, "B").ShortUntil = ptr.To(metav1.NewTime(c.now.Add(time.Second))) }, look: time.Second},
		"nor one whose lower ordinals find no node":            {short: short{"A": {10}}, below: short{"B": {1}}, want: "A-1 C+1", look: 9 * time.Second},
		"a pod does not go in the place of a lower one":        {short: short{"A": {10}}, below: short{"A": {10}}, want: "A-1 B+1", full: "unit A has no room for 1 pod, and would lose others that have nodes"},
		"a lower ordinal that has waited keeps its quota":      {below: short{"A": {10}}, full: "unit A has no room for 1 pod, and would lose others that have nodes"},
		"after 300 seconds it may":                             {short: short{"A": {10}}, want: "A-1 B+1", change: func(c *cells) { unit(c, "B").ShortUntil = ptr.To(metav1.NewTime(c.now)) }},
		"a fixed unit gets nothing":                            {short: short{"A": {10}}, want: "A-1 C+1", change: func(c *cells) { fixing("B", 3)(c.d) }},
		"a fixed unit keeps its number and says so":            {short: short{"A": {10}}, full: "unit A has no room for 1 pod, and unitReplicas fixes its number", change: func(c *cells) { fixing("A", 3)(c.d) }},
		"quota that finds no unit stays and waits":             {short: short{"A": {10}, "B": {10}, "C": {10}}, full: "unit A has no room for 1 pod, and no other unit can take them"},
		"what came less than 300 seconds ago stays":            {short: short{"B": {10}}, want: "A-1 B+1", change: came(299), look: time.Second},
		"what came 300 seconds ago may move on":                {short: short{"B": {10}}, want: "A-1 C+1", change: came(300)},
		"a unit's own quota may go also when some came lately": {short: short{"B": {10, 10}}, want: "A-1 C+1", change: came(10), look: 290 * time.Second},
		"it is switched off":                                   {short: short{"A": {10}}, change: func(c *cells) { c.d.Spec.Topology.AutoReschedule.Enable = false }},
		"a pause moves nothing":                                {short: short{"A": {10}}, change: func(c *cells) { c.d.Spec.Strategy.Pause = true }},
		"another delay":                                        {short: short{"A": {10}}, change: func(c *cells) { c.d.Spec.Topology.AutoReschedule.InitialDelaySeconds = ptr.To[int32](60) }, look: 50 * time.Second},
		"what a unit is to lose anyway is no quota": {short: short{"A": {10}}, change: func(c *cells) {
			c.sets["web-a"].pods = append(c.sets["web-a"].pods, pod{version: c.sets["web-a"].revision})
		}},
		"a changed number of replicas voids what was moved": {change: func(c *cells) { came(10)(c); replicas(12)(c.d) }},
		"a changed template does":                           {change: func(c *cells) { came(10)(c); c.other() }},
		"a changed topology does":                           {change: func(c *cells) { came(10)(c); units("C", "B", "A")(c.d) }},
		"anything else does not":                            {want: "A-1 B+1", change: func(c *cells) { came(10)(c); by(3)(c.d) }},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newCells(9, []string{"A", "B", "C"}, rescheduling)
			w.settle(t)
			if c.change != nil {
				c.change(w)
			}
			world := w.world()
			for i := range world.Units {
				world.Units[i].Unschedulable = w.ago(c.short[world.Units[i].Name]...)
				world.Units[i].Below = w.ago(c.below[world.Units[i].Name]...)
			}
			if fixes := w.d.Spec.Topology.UnitReplicas; len(fixes) > 0 { // the split is the same, and it is not what this is about
				world.Deployment.Status.RescheduledFor = ""
			}
			next := plan.Next(world, w.now)
			if got := moved(&next.Status); got != c.want {
				t.Errorf("moved %q, want %q", got, c.want)
			}
			if full := strings.Join(next.Full, "; "); !strings.Contains(full, c.full) || c.full == "" && full != "" {
				t.Errorf("full: %q, want %q", full, c.full)
			}
			if c.look > 0 && next.LookAgain != c.look {
				t.Errorf("look again in %s, want %s", next.LookAgain, c.look)
			}
			if c.want != "" && len(next.Asks) > 0 && c.change == nil {
				t.Errorf("asked in the pass that decides: %+v", next.Asks)
			}
		})
	}
}

// What a unit shows comes from several places, and the pod whose place was given up may be seen for longer than it is counted,
// or before it is.
func TestAPodGivesUpOnePlaceWhereverItIsCounted(t *testing.T) {
	for sentence, c := range map[string]struct{ asked, counted int }{
		"its pod set has not counted it yet":  {3, 2},
		"its pod set does not count it again": {2, 2},
		"its pod set counts it":               {3, 3},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newCells(9, []string{"A", "B", "C"}, rescheduling)
			w.settle(t)
			world := w.world()
			for i := range world.Deployment.Status.Units {
				switch u := &world.Deployment.Status.Units[i]; u.Name {
				case "A":
					u.RescheduledOut, u.Desired = 1, 2
				case "B":
					u.RescheduledIn, u.Desired, u.RescheduledAt = 1, 4, ptr.To(metav1.NewTime(w.now))
				}
			}
			world.Deployment.Status.RescheduledFor = purposeOf(w)
			for i := range world.Units {
				if u := &world.Units[i]; u.Name == "A" {
					u.Unschedulable = w.ago(10) // one of its three pods
					u.Sets[0].Asked, u.Sets[0].Has = c.asked, c.counted
				}
			}
			if got := moved(ptr.To(plan.Next(world, w.now).Status)); got != "A-1 B+1" {
				t.Errorf("moved %q, want %q", got, "A-1 B+1")
			}
		})
	}
}

// purposeOf is what quota that is moved now would be moved for.
func purposeOf(c *cells) string {
	world := c.world()
	world.Deployment.Status.RescheduledFor = ""
	for i := range world.Deployment.Status.Units {
		u := &world.Deployment.Status.Units[i]
		u.Desired, u.RescheduledIn, u.RescheduledOut, u.RescheduledAt = 3, 0, 0, nil
	}
	for i := range world.Units {
		world.Units[i].Sets[0].Asked = 3
		if world.Units[i].Name == "A" {
			world.Units[i].Unschedulable = c.ago(10)
		}
	}
	return plan.Next(world, c.now).Status.RescheduledFor
}

// other gives the deployment a template that is recorded already.
func (c *cells) other() {
	image("v2")(c.d)
	before := c.d.Status.DeepCopy()
	c.look(crash{asks: -1, silent: true})
	c.d.Status = *before
}

func TestConfirmations(t *testing.T) {
	const key, group = cafev1alpha1.AnnotationUpgradeConfirmed, cafev1alpha1.AnnotationUpgradeGroup
	for sentence, c := range map[string]struct {
		change func(*cells)
		want   string
	}{
		"a question that is open stays open":                        {nil, "group 1 waits"},
		"an answer is taken in one write":                           {func(c *cells) { c.d.Annotations[key] = "true" }, `group 1: confirmed="" group="1 confirmed"`},
		"an answer that was taken begins the next group":            {func(c *cells) { delete(c.d.Annotations, key); c.d.Annotations[group] += " confirmed" }, "group 2"},
		"an answer that was taken counts once":                      {func(c *cells) { c.d.Annotations[key] = "true"; c.d.Annotations[group] += " confirmed" }, "group 2"},
		"an answer that was there before the question is asked":     {func(c *cells) { c.d.Annotations = map[string]string{key: "true"} }, `group 1: confirmed="false" group="1"`},
		"an answer to another group":                                {func(c *cells) { c.d.Annotations[key] = "true"; c.d.Annotations[group] = "web-other/1" }, `group 1: confirmed="false" group="1"`},
		"a question that somebody has removed is asked again":       {func(c *cells) { delete(c.d.Annotations, key) }, `group 1: confirmed="false" group="1"`},
		"an answer that is neither yes nor no":                      {func(c *cells) { c.d.Annotations[key] = "perhaps" }, `group 1: confirmed="false" group="1"`},
		"the confirmation is turned off":                            {func(c *cells) { c.d.Spec.Strategy.NeedWaitingForConfirm = false }, "group 2"},
		"a pause holds an answer":                                   {func(c *cells) { c.d.Annotations[key] = "true"; c.d.Spec.Strategy.Pause = true }, "group 1"},
		"a new template takes the question back":                    {func(c *cells) { c.other() }, "group 0"},
		"a number that needs no other group ends without an answer": {func(c *cells) { replicas(2)(c.d); c.look(crash{asks: -1}) }, "group 0"},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newCells(6, []string{"A", "B"}, by(2), confirmed)
			w.settle(t)
			if c.change != nil {
				c.change(w)
			}
			next := plan.Next(w.world(), w.now)
			got := fmt.Sprintf("group %d", next.Status.CurrentGroup)
			if next.Confirm != "" {
				got += " waits"
			}
			for _, s := range next.Steps {
				if s, is := s.(step.Annotate); is {
					_, of, _ := strings.Cut(ptr.Deref(s.Annotations[group], "/"), "/")
					got += fmt.Sprintf(": confirmed=%q group=%q", ptr.Deref(s.Annotations[key], ""), of)
				}
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestWhatCannotBeActedOnChangesNothing(t *testing.T) {
	for sentence, c := range map[string]struct {
		change edit
		want   string
	}{
		"an impossible split":              {fixing("A", 9), "unitReplicas ask for 9 pods (A 9), and replicas is 6"},
		"a selector that matches nothing":  {func(d *cafev1alpha1.CafeDeployment) { d.Spec.Selector.MatchLabels["app"] = "other" }, "spec.selector app=other does not match the labels of spec.template"},
		"a selector that matches all pods": {func(d *cafev1alpha1.CafeDeployment) { d.Spec.Selector = &metav1.LabelSelector{} }, "spec.selector must not be empty: it would match all pods"},
		"a selector that cannot be read": {func(d *cafev1alpha1.CafeDeployment) {
			d.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}}
		}, `spec.selector: "Near" is not a valid label selector operator`},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newCells(6, []string{"A", "B"}, by(2))
			w.settle(t)
			before := w.d.Status.DeepCopy()
			c.change(w.d)
			next := plan.Next(w.world(), w.now)
			err := next.Invalid
			if err == nil {
				err = next.Topology
			}
			if fmt.Sprint(err) != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if len(next.Asks) > 0 || next.Status.Phase != cafev1alpha1.BlockedPhase {
				t.Errorf("phase %s, asks %v", next.Status.Phase, next.Asks)
			}
			for i, u := range next.Status.Units {
				if u.Desired != before.Units[i].Desired {
					t.Errorf("unit %s is to have %d, and had %d", u.Name, u.Desired, before.Units[i].Desired)
				}
			}
		})
	}
}

func TestADeploymentThatIsDeletedAsksForNothing(t *testing.T) {
	w := newCells(6, []string{"A", "B"}, by(2))
	w.d.DeletionTimestamp = &metav1.Time{Time: epoch}
	if next := plan.Next(w.world(), w.now); len(next.Asks)+len(next.Steps) > 0 {
		t.Errorf("steps %v, asks %v", next.Steps, next.Asks)
	}
}
