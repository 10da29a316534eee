// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	kjson "sigs.k8s.io/json"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application"
	"slipway.dev/slipway/internal/application/definition"
	"slipway.dev/slipway/internal/application/render"
	"slipway.dev/slipway/test/simulation/world"
)

// rendering evaluates templates in this process, and remembers for all stories what came of each request: the same request gives the
// same result, which tests of package render see to. What comes out has gone through JSON, as it has when a worker gives it.
type rendering struct{}

var _ application.Renderer = rendering{}

// rendered maps requests as JSON to answers.
var rendered sync.Map

type answer struct {
	raw []byte
	err error
}

func (rendering) Render(_ context.Context, request render.Request) (result render.Result, err error) {
	return remembered(request, func() (render.Result, error) { return render.Evaluate(request, nil) })
}

func (rendering) Judge(_ context.Context, request render.HealthRequest) (render.Health, error) {
	return render.Judge(request)
}

func remembered[R any](request any, ask func() (R, error)) (result R, err error) {
	key, err := json.Marshal(request)
	if err != nil {
		return result, fmt.Errorf("encoding a request: %w", err)
	}
	known, found := rendered.Load(string(key))
	if !found {
		var a answer
		if result, a.err = ask(); a.err == nil {
			a.raw, a.err = json.Marshal(result)
		}
		known, _ = rendered.LoadOrStore(string(key), a)
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

// shipped are the definitions that Slipway ships. Those of components without what they say of health are judged by their pods alone,
// which takes a hundredth of the time.
var shipped = sync.OnceValue(func() render.Definitions {
	all, err := definition.Shipped()
	if err != nil {
		panic(fmt.Sprintf("the shipped definitions cannot be read: %v", err))
	}
	return definition.ByName(all)
})

// define puts the shipped definitions that stories use into the system namespace.
func define(w *world.World, judged bool) {
	for _, name := range []string{inPlace, apart} {
		d := shipped().Components[name]
		if !judged {
			d.Spec.Status = nil
		}
		d.Namespace = oamv1beta1.SystemNamespace
		w.Must(w.Server.Create("user", &d))
	}
	for _, name := range []string{"scaler", "expose", "hpa"} {
		d := shipped().Traits[name]
		d.Namespace = oamv1beta1.SystemNamespace
		w.Must(w.Server.Create("user", &d))
	}
}
