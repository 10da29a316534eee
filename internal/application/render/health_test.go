// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/application/render"
)

func TestHealth(t *testing.T) {
	live := map[string]any{"metadata": map[string]any{"generation": int64(2)}, "spec": map[string]any{"replicas": int64(3)}, "status": map[string]any{"readyReplicas": int64(2)}}
	for sentence, test := range map[string]struct {
		policy, status string
		want           render.Health
		wrong          string
	}{
		"nothing is said":               {"", "", render.Health{Healthy: true}, ""},
		"a policy that is met":          {"isHealth: context.output.spec.replicas == 3", "", render.Health{Healthy: true}, ""},
		"a policy that is not met":      {"isHealth: context.output.status.readyReplicas == context.output.spec.replicas", "", render.Health{}, ""},
		"a field that is not there yet": {"isHealth: context.output.status.phase == \"Ready\"", "message: \"phase \\(context.output.status.phase)\"", render.Health{Message: "the health policy reads what the workload does not report yet"}, ""},
		"a value where a field is not":  {"n: *context.output.status.available | 0\nisHealth: n == 3", "n: *context.output.status.available | 0\nmessage: \"\\(n) available\"", render.Health{Message: "0 available"}, ""},
		"a form that others write":      {"ready: {n: *0 | int} & {if context.output.status.readyReplicas != _|_ {n: context.output.status.readyReplicas}}\nisHealth: ready.n == 2", "", render.Health{Healthy: true}, ""},
		"properties are read":           {"isHealth: parameter.wanted == 2", "", render.Health{Healthy: true}, ""},
		"other objects are read":        {"isHealth: context.outputs.service.spec.clusterIP != _|_", "message: context.outputs.service.spec.clusterIP", render.Health{Healthy: true, Message: "10.0.0.1"}, ""},
		"a status alone":                {"", "message: \"\\(context.output.status.readyReplicas) of \\(context.output.spec.replicas)\"", render.Health{Healthy: true, Message: "2 of 3"}, ""},
		"a status that waits":           {"", "message: \"at \\(context.output.status.phase)\"", render.Health{Healthy: true}, ""},
		"a policy that gives nothing":   {"healthy: true", "", render.Health{}, `component "web": definition "webservice": status.healthPolicy: gives no isHealth`},
		"a policy that gives a number":  {"isHealth: 3", "", render.Health{}, `status.healthPolicy: isHealth has to be true or false`},
		"a status that gives a number":  {"", "message: 3", render.Health{}, `status.customStatus: message has to be text`},
		"a policy that is no CUE":       {"isHealth: {", "", render.Health{}, `status.healthPolicy:1: `},
		"a policy that contradicts":     {"isHealth: true\nisHealth: false", "", render.Health{}, `status.healthPolicy`},
		"a policy that reaches outside": {"import \"tool/exec\"\nisHealth: true", "", render.Health{}, `status.healthPolicy:1: import "tool/exec" is not allowed`},
		"a name that there is not":      {"isHealth: output.x", "", render.Health{}, `status.healthPolicy:1: reference "output" not found`},
		"a policy that is very long":    {"isHealth: true //" + strings.Repeat("x", render.MaxPolicy), "", render.Health{}, `at most 16384 are allowed`},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := render.Judge(render.HealthRequest{
				Component: "web", Type: "webservice", HealthPolicy: test.policy, CustomStatus: test.status, Properties: []byte(`{"wanted": 2}`), Context: context,
				Output: live, Outputs: map[string]map[string]any{"service": {"spec": map[string]any{"clusterIP": "10.0.0.1"}}},
			})
			if test.wrong != "" {
				judge(t, err, test.wrong)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("health (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("a live object that is very large", func(t *testing.T) {
		_, err := render.Judge(render.HealthRequest{Component: "web", Type: "webservice", HealthPolicy: "isHealth: true", Output: map[string]any{"x": strings.Repeat("x", render.MaxLive)}})
		judge(t, err, "at most 524288 are read")
	})
}
