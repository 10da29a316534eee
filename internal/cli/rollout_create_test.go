// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/budget"
	"slipway.dev/slipway/internal/rollout/engine"
	"slipway.dev/slipway/test/golden"
)

func TestRolloutCreate(t *testing.T) {
	for name, args := range map[string][]string{
		"two-deployments":       {"--target", "deployment/web-v2", "--source", "deploy/web-v1", "--batches", "10%,50%,100%", "--partition", "0", "--revert-on-delete"},
		"in-place":              {"--target", "cloneset/web", "--batches", "1,50%,100%", "--failure-policy", "Revert", "--deadline", "0"},
		"scale":                 {"--target", "deployment/web", "--target-size", "13", "--num-batches", "3"},
		"statefulset":           {"--target", "statefulset.apps/db", "--num-batches", "3", "--paused"},
		"daemonset":             {"--target", "ds/agent", "--batches", "1,2,100%"},
		"not-there-yet":         {"--target", "asts/later", "--num-batches", "2"},
		"of-another-kind":       {"--target", "example.com/v1/Widget/w", "--batches", "20%,100%"},
		"already-there":         {"--target", "deployment/web", "--target-size", "3"},
		"dry-run-by-the-server": {"--target", "cloneset/web", "--num-batches", "4", "--dry-run", "server"},
		"dry-run-without-one":   {"--target", "cloneset/web", "--batches", "2,5,100%", "--dry-run", "client"},
		"printed":               {"--target", "deployment/web-v2", "--source", "deployment/web-v1", "--batches", "12.5%,50%,100%", "--strategy", "DecreaseFirst", "--dry-run", "client", "-o", "yaml"},
		"printed-after":         {"--target", "cloneset/web", "--num-batches", "2", "-o", "json"},
		"like-another":          {"--like", "web", "--failure-policy", "Pause"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRolloutRun(t, stored(t, "at-the-partition"))
			if err := r.execute(t.Context(), t, append([]string{"rollout", "create", "go", "-n", "shop"}, args...)...); err != nil {
				t.Fatal(err)
			}
			golden.Text(t, "rollout-create-"+name+".txt", r.out.String()+r.errOut.String())
			err := r.client.Get(t.Context(), types.NamespacedName{Namespace: "shop", Name: "go"}, &rolloutv1alpha1.RolloutTrait{})
			if dry := strings.Contains(strings.Join(args, " "), "--dry-run"); dry != apierrors.IsNotFound(err) {
				t.Errorf("dry run: %t, and afterwards: %v", dry, err)
			}
		})
	}
}

func TestRolloutCreateIsRefused(t *testing.T) {
	owned := func(o []client.Object) {
		set := o[0].(*kruisev1alpha1.CloneSet)
		set.OwnerReferences = byApp()
	}
	for sentence, test := range map[string]struct {
		change func([]client.Object)
		args   []string
		want   string
	}{
		"without a target":                   {nil, nil, "say what is rolled out: --target KIND/NAME"},
		"a target without a kind":            {nil, []string{"--target", "web"}, `--target "web": write it as KIND/NAME`},
		"a target without a name":            {nil, []string{"--target", "deployment/"}, "write it as KIND/NAME"},
		"a kind that nobody knows":           {nil, []string{"--target", "widget/w"}, "the kind is not known, only: deployment, statefulset, daemonset, cloneset, inplaceset, cafedeployment"},
		"a kind that two groups have":        {nil, []string{"--target", "sts/db"}, "which one? Write statefulset.apps/db or statefulset.apps.kruise.io/db"},
		"batches in two ways":                {nil, []string{"--target", "cloneset/web", "--batches", "1,100%", "--num-batches", "2"}, "use either --batches or --num-batches"},
		"goals that do not end with all":     {nil, []string{"--target", "cloneset/web", "--batches", "10%,50%"}, "end with 100%"},
		"goals that do not grow":             {nil, []string{"--target", "cloneset/web", "--batches", "50%,20%,100%"}, "goals grow from batch to batch, up to 100%, and goal 2 does not"},
		"a goal that is no number":           {nil, []string{"--target", "cloneset/web", "--batches", "some,100%"}, "--batches, goal 1"},
		"more pods than there are":           {nil, []string{"--target", "cloneset/web", "--batches", "12,100%"}, "leave none for the last one"},
		"mixed goals without a size":         {nil, []string{"--target", "cloneset/lost", "--batches", "1,50%,100%"}, "need the size of the workload, which is not known here"},
		"an unknown policy":                  {nil, []string{"--target", "cloneset/web", "--failure-policy", "Panic"}, `spec.rolloutPlan.failurePolicy: "Panic" is not allowed: use one of Fail, Pause, Revert`},
		"an unknown strategy":                {nil, []string{"--target", "cloneset/web", "--strategy", "Both"}, "use one of IncreaseFirst, DecreaseFirst"},
		"an unknown dry run":                 {nil, []string{"--target", "cloneset/web", "--dry-run", "maybe"}, "only none, server and client"},
		"an unknown output":                  {nil, []string{"--target", "cloneset/web", "-o", "xml"}, "unable to match a printer"},
		"half a second":                      {nil, []string{"--target", "cloneset/web", "--deadline", "500ms"}, "use whole seconds"},
		"no batches at all":                  {nil, []string{"--target", "cloneset/web", "--num-batches", "0"}, "spec.rolloutPlan.numBatches: 0 is not allowed: use a whole number from 1 to 1000"},
		"a Deployment alone":                 {nil, []string{"--target", "deployment/web"}, "it would fail at once: spec.sourceRef: is needed to roll out a Deployment"},
		"a source of a kind with versions":   {nil, []string{"--target", "cloneset/web", "--source", "cloneset/other"}, "there is no CloneSet other"},
		"a source of another kind":           {nil, []string{"--target", "cloneset/web", "--source", "deployment/web"}, "it is of the same kind as targetRef"},
		"a source that is the target":        {nil, []string{"--target", "deployment/web", "--source", "deployment/web"}, "it is another object than targetRef"},
		"a size below that of the source":    {nil, []string{"--target", "deployment/web-v2", "--source", "deployment/web-v1", "--target-size", "4"}, "it would fail at once: spec.rolloutPlan.targetSize: must be at least 10"},
		"a workload that somebody controls":  {owned, []string{"--target", "cloneset/web"}, "it would fail at once: CloneSet web is controlled by App shop"},
		"a name that is taken":               {nil, []string{"--target", "cloneset/web", "NAME=web"}, "RolloutTrait shop/web is there already"},
		"one like one that is not there":     {nil, []string{"--like", "lost"}, `no RolloutTrait "lost" in namespace "shop"`},
		"one like another without a cluster": {nil, []string{"--like", "web", "--dry-run", "client"}, "--like has to ask the cluster"},
	} {
		t.Run(sentence, func(t *testing.T) {
			objects := shop(t)
			if test.change != nil {
				test.change(objects)
			}
			r := newRun(t, append(objects, stored(t, "at-the-partition"))...)
			name, args := "go", test.args
			if n := len(args); n > 0 && strings.HasPrefix(args[n-1], "NAME=") {
				name, args = strings.TrimPrefix(args[n-1], "NAME="), args[:n-1]
			}
			err := r.execute(t.Context(), t, append([]string{"rollout", "create", name, "-n", "shop"}, args...)...)
			told := r.errOut.String()
			if err != nil {
				told += err.Error()
			}
			if !strings.Contains(told, test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
		})
	}
}

// Whatever sizes are made of goals, the engine finds the goals in them again, up to one pod of rounding for each batch.
func TestBatchesMeanTheirGoals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.IntRange(2, 200).Draw(t, "total")
		percents := rapid.SliceOfNDistinct(rapid.IntRange(1, 99), 1, 5, rapid.ID).Draw(t, "percents")
		var goals []string
		for p := 1; p < 100; p++ {
			for _, drawn := range percents {
				if drawn == p {
					goals = append(goals, fmt.Sprintf("%d%%", p))
				}
			}
		}
		goals = append(goals, "100%")
		batches, _, err := readBatches(goals, total)
		if err != nil {
			t.Fatal(err)
		}
		got := engine.Goals(engine.Batches(&rolloutv1alpha1.RolloutPlan{RolloutBatches: batches}, total), total)
		for i, goal := range goals {
			want, err := budget.Resolve(ptr.To(intstr.FromString(goal)), total, budget.Up, "")
			if err != nil {
				t.Fatal(err)
			}
			if got[i] < want || got[i] > min(want+i, total) {
				t.Errorf("goal %d (%s of %d) is %d, want %d", i, goal, total, got[i], want)
			}
		}
	})
}

func TestReadBatches(t *testing.T) {
	for sentence, test := range map[string]struct {
		goals []string
		total int
		want  string
	}{
		"percentages stay so":                    {[]string{"10%", "50%", "100%"}, 10, "10%,40%,rest"},
		"numbers too":                            {[]string{"1", "5", "100%"}, -1, "1,4,rest"},
		"decimals":                               {[]string{"12.5%", "33.3%", "100%"}, -1, "12.5%,20.8%,rest"},
		"tens keep their zero":                   {[]string{"10", "30", "100%"}, -1, "10,20,rest"},
		"mixed ones become numbers":              {[]string{"1", "50%", "100%"}, 10, "1,4,rest"},
		"the last one may be the number of pods": {[]string{"1", "10"}, 10, "1,rest"},
		"one for all":                            {[]string{"100%"}, -1, "rest"},
	} {
		t.Run(sentence, func(t *testing.T) {
			batches, _, err := readBatches(test.goals, test.total)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, b := range batches {
				if b.Replicas == nil {
					got = append(got, "rest")
				} else {
					got = append(got, b.Replicas.String())
				}
			}
			if diff := cmp.Diff(test.want, strings.Join(got, ",")); diff != "" {
				t.Errorf("sizes (-want +got):\n%s", diff)
			}
		})
	}
}
