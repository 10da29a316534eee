// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
)

// Judge evaluates the health policy and the custom status of a definition for a live workload. What a policy reads and the
// workload does not report yet is no error: it is not healthy yet. The error is of type Problems.
//
// It may take for ever when a policy asks for it; see package worker.
func Judge(request HealthRequest) (Health, error) {
	s := source{component: request.Component, definition: request.Type}
	if live, err := json.Marshal([]any{request.Output, request.Outputs}); err != nil || len(live) > MaxLive {
		return Health{}, s.problems("status", "the live objects have %d bytes; at most %d are read", len(live), MaxLive)
	}
	outputs := map[string]any{}
	for name, object := range request.Outputs {
		outputs[name] = object
	}
	context := request.Context.fields(map[string]any{"output": request.Output, "outputs": outputs})
	health := Health{Healthy: true}
	if request.HealthPolicy != "" {
		v, problems := s.policy("status.healthPolicy", request.HealthPolicy, request.Properties, context, "isHealth")
		if len(problems) > 0 {
			return Health{}, problems
		}
		healthy, err := v.Bool()
		switch {
		case err == nil:
			health.Healthy = healthy
		case waits(v, cue.BoolKind):
			return Health{Message: "the health policy reads what the workload does not report yet"}, nil
		default:
			return Health{}, s.problems("status.healthPolicy", "isHealth has to be true or false: %s", shorten(err.Error()))
		}
	}
	if request.CustomStatus != "" {
		v, problems := s.policy("status.customStatus", request.CustomStatus, request.Properties, context, "message")
		if len(problems) > 0 {
			return Health{}, problems
		}
		text, err := v.String()
		switch {
		case err == nil:
			health.Message = shorten(text)
		case !waits(v, cue.StringKind):
			return Health{}, s.problems("status.customStatus", "message has to be text: %s", shorten(err.Error()))
		}
	}
	return health, nil
}

// policy evaluates one field of a policy.
func (s source) policy(field, text string, properties json.RawMessage, context map[string]any, name string) (cue.Value, Problems) {
	file, problems := s.parse(field, text, MaxPolicy)
	if len(problems) > 0 {
		return cue.Value{}, problems
	}
	input, problems := s.input(properties, context, false)
	if len(problems) > 0 {
		return cue.Value{}, problems
	}
	value, err := instance(cuecontext.New(), file, input)
	if err != nil {
		return cue.Value{}, s.syntax(field, err)
	}
	v := value.LookupPath(cue.ParsePath(name))
	if !v.Exists() {
		if err := value.Err(); err != nil {
			return cue.Value{}, s.syntax(field, err)
		}
		return cue.Value{}, s.problems(field, "gives no %s", name)
	}
	return v, nil
}

// waits tells whether a value only waits for what is not reported yet, and may become one of the kind.
func waits(v cue.Value, kind cue.Kind) bool {
	incomplete := v.IncompleteKind() == cue.BottomKind || v.IncompleteKind()&kind != 0
	return incomplete && v.Validate() == nil // without cue.Concrete, what is not known yet is no error
}
