// SPDX-License-Identifier: Apache-2.0

package application

import (
	"fmt"
	"sync"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/definition"
	"slipway.dev/slipway/internal/application/render"
	"slipway.dev/slipway/test/simulation/world"
)

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
