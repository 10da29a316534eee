// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	kjson "sigs.k8s.io/json"

	"slipway.dev/slipway/internal/application/render"
)

// Here evaluates templates in this process, and remembers for all who ask what came of each request: the same request gives the
// same result, which tests of package render see to. What comes out has gone through JSON, as it has when a worker gives it.
type Here struct{}

// answers are those to requests, by their JSON.
var answers sync.Map

type answer struct {
	raw []byte
	err error
}

// Render evaluates a template.
func (Here) Render(_ context.Context, request render.Request) (result render.Result, err error) {
	return remembered(request, func() (render.Result, error) { return render.Evaluate(request, nil) })
}

// Judge evaluates a health policy.
func (Here) Judge(_ context.Context, request render.HealthRequest) (render.Health, error) {
	return render.Judge(request)
}

func remembered[R any](request any, ask func() (R, error)) (result R, err error) {
	key, err := json.Marshal(request)
	if err != nil {
		return result, fmt.Errorf("encoding a request: %w", err)
	}
	known, found := answers.Load(string(key))
	if !found {
		var a answer
		if result, a.err = ask(); a.err == nil {
			a.raw, a.err = json.Marshal(result)
		}
		known, _ = answers.LoadOrStore(string(key), a)
	}
	a := known.(answer)
	if a.err != nil {
		return result, a.err
	}
	var fresh R
	if err := kjson.UnmarshalCaseSensitivePreserveInts(a.raw, &fresh); err != nil {
		return result, fmt.Errorf("decoding a result: %w", err)
	}
	return fresh, nil
}
