// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/test/simulation/api"
)

// anyTemplate is a pod template as some component renders it.
func anyTemplate(t *rapid.T) map[string]any {
	var containers []any
	for _, name := range []string{"app", "proxy"} {
		if name == "proxy" && !rapid.Bool().Draw(t, "a second container") {
			continue
		}
		c := map[string]any{"name": name, "image": "registry.test/" + name + ":" + rapid.SampledFrom([]string{"v1", "v2"}).Draw(t, "tag")}
		var env []any
		for _, variable := range []string{"A", "B", "C"} {
			if rapid.Bool().Draw(t, "variable "+variable) {
				env = append(env, map[string]any{"name": variable, "value": rapid.SampledFrom([]string{"1", "2"}).Draw(t, "value")})
			}
		}
		if len(env) > 0 {
			c["env"] = env
		}
		if rapid.Bool().Draw(t, "arguments") {
			c["args"] = []any{"--level", rapid.SampledFrom([]string{"1", "2"}).Draw(t, "level")}
		}
		containers = append(containers, c)
	}
	labels := map[string]any{"app": "cart"}
	if rapid.Bool().Draw(t, "a label") {
		labels["tier"] = rapid.SampledFrom([]string{"gold", "silver"}).Draw(t, "tier")
	}
	return map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{"containers": containers}}
}

// tamper adds to a workload that lives what people add: nothing that a component has. A variable is added only where next has some, too:
// a list that goes as a whole is taken to go with all that is in it, where the server keeps what others have put there.
func tamper(t *rapid.T, o, next *unstructured.Unstructured) {
	pods := o.Object["spec"].(map[string]any)["template"].(map[string]any)
	if rapid.Bool().Draw(t, "somebody adds a container") {
		containers := pods["spec"].(map[string]any)["containers"].([]any)
		pods["spec"].(map[string]any)["containers"] = append(containers, map[string]any{"name": "agent", "image": "registry.test/agent:v1"})
	}
	first := func(pods map[string]any) map[string]any {
		return pods["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)
	}
	if has := first(next.Object["spec"].(map[string]any)["template"].(map[string]any))["env"] != nil; has && rapid.Bool().Draw(t, "somebody adds a variable") {
		first := first(pods)
		env, _ := first["env"].([]any)
		first["env"] = append(env, map[string]any{"name": "THEIRS", "value": "1"})
	}
	if rapid.Bool().Draw(t, "somebody adds an annotation") {
		pods["metadata"].(map[string]any)["annotations"] = map[string]any{"restarted": "today"}
	}
	if rapid.Bool().Draw(t, "somebody says how long history is") {
		o.Object["spec"].(map[string]any)["revisionHistoryLimit"] = int64(3)
	}
}

// What is applied here is what the API server makes of it, by the library that it decides by who owns which field: what the component
// no longer has goes, and what others have added stays.
func TestWhatIsAppliedIsWhatTheServerMakesOfIt(t *testing.T) {
	kinds := [][2]string{{kruise, "CloneSet"}, {kruise2, "StatefulSet"}, {cafe, "InPlaceSet"}, {cafe, "CafeDeployment"}, {"apps/v1", "StatefulSet"}, {"apps/v1", "Deployment"}, {"apps/v1", "DaemonSet"}}
	rapid.Check(t, func(rt *rapid.T) {
		kind := rapid.SampledFrom(kinds).Draw(rt, "kind")
		render := func() *unstructured.Unstructured {
			o := renderedSet(t, kind[0], kind[1], "v1", fields{"spec.replicas": nil, "spec.template": anyTemplate(rt)})
			if rapid.Bool().Draw(rt, "a time") && kind[1] == "CloneSet" {
				put(t, o, fields{"spec.minReadySeconds": rapid.Int64Range(1, 3).Draw(rt, "seconds")})
			}
			return o
		}
		before, after := component{"cart", 1, render(), nil}, component{"cart", 2, render(), nil}
		server := api.New(clocktesting.NewFakePassiveClock(now))
		line := server.Client(apply.FieldManager)
		by := func(o *unstructured.Unstructured, number int, of component) *unstructured.Unstructured {
			o = o.DeepCopy()
			deployed(o, number, of)
			o.SetUID("")
			return o
		}
		send := func(o *unstructured.Unstructured) {
			t.Helper()
			if err := line.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(apply.FieldManager), client.ForceOwnership); err != nil {
				rt.Fatal(err)
			}
		}
		read := func() *unstructured.Unstructured {
			t.Helper()
			o := &unstructured.Unstructured{Object: map[string]any{}}
			o.SetGroupVersionKind(after.workload.GroupVersionKind())
			stored := server.Get(api.KindOf(o), client.ObjectKey{Namespace: "shop", Name: "cart"})
			tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(stored)
			if err != nil {
				rt.Fatal(err)
			}
			o.Object = tree
			o.SetGroupVersionKind(after.workload.GroupVersionKind())
			return o
		}
		send(by(before.workload, 1, before))
		theirs := read()
		tamper(rt, theirs, after.workload)
		if _, err := server.Modify("a person", api.KindOf(theirs), keyOf(theirs), api.Main, func(o client.Object) {
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(theirs.Object, o); err != nil {
				rt.Fatal(err)
			}
		}); err != nil {
			rt.Fatal(err)
		}
		live := read()
		if rapid.Bool().Draw(rt, "saved as kubectl prints it") {
			live.SetManagedFields(nil)
		}
		s := &scene{t: t}
		s.appRevision(1, before)
		s.objects = append(s.objects, live)
		p, err := newPlay(s.input(between("shop-v2", "shop-v1", nil), nil), now)
		if err != nil {
			rt.Fatal(err)
		}
		if err := p.apply(t.Context(), by(after.workload, 2, after)); err != nil {
			rt.Fatal(err)
		}
		got := &unstructured.Unstructured{}
		got.SetGroupVersionKind(live.GroupVersionKind())
		if err := p.Get(t.Context(), keyOf(live), got); err != nil {
			rt.Fatal(err)
		}
		send(by(after.workload, 2, after))
		want := read()
		for part, of := range map[string]func(*unstructured.Unstructured) any{
			"spec":   func(o *unstructured.Unstructured) any { return typed(t, o)["spec"] },
			"labels": func(o *unstructured.Unstructured) any { return o.GetLabels() },
			"owners": func(o *unstructured.Unstructured) any { return o.GetOwnerReferences() },
		} {
			if diff := cmp.Diff(of(want), of(got), inAnyOrder); diff != "" {
				rt.Fatalf("%s of a %s (-server +foreseen):\n%s", part, kind[1], diff)
			}
		}
	})
}

// inAnyOrder is for lists by key: where the elements of others stand in them makes no difference to what is foretold.
var inAnyOrder = cmpopts.SortSlices(func(a, b any) bool { return key(a) < key(b) })

func key(of any) string {
	if o, is := of.(map[string]any); is {
		return fmt.Sprint(o["name"])
	}
	return fmt.Sprint(of)
}

// typed is an object as its Go type writes it, which has members that are empty.
func typed(t *testing.T, o *unstructured.Unstructured) map[string]any {
	t.Helper()
	into, err := schemeOf(t).New(o.GroupVersionKind())
	if err != nil {
		t.Fatal(err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into); err != nil {
		t.Fatal(err)
	}
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(into)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}
