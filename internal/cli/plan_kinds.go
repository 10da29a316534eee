// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/cli/forecast"
)

// foretold is what would become of one object. It is encoded as it is for -o json.
type foretold interface {
	// Lines lays it out for people, everything if asked.
	Lines(all bool) []string
	ChangesAnything() bool
	// Refusal says what in the spec keeps the controller from doing anything; empty when nothing does.
	Refusal() string
}

// foreteller plans one manifest of its kind. It reads through reader of the call, which is the cluster or offline what
// was saved, and has the call's client only online.
type foreteller func(ctx context.Context, p *planRelease, m forecast.Manifest) (foretold, error)

// foretellers are the kinds that can be planned. Each is known to NewScheme.
func foretellers() map[schema.GroupVersionKind]foreteller {
	known := map[schema.GroupVersionKind]foreteller{}
	for _, k := range []rolloutToPlan{traitToPlan(), appRolloutToPlan()} {
		known[k.GroupVersionKind()] = foretellRollout(k)
	}
	for _, k := range forecast.Kinds() {
		known[k.GVK] = foretellSets(k)
	}
	return known
}

// plannable are the same kinds, in the order of their names. An Application is rendered, and its controller decides which of its
// components is rolled out when: that is not played.
func plannable(program string) forecast.Known {
	kinds := slices.SortedFunc(maps.Keys(foretellers()), func(a, b schema.GroupVersionKind) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Group, b.Group))
	})
	return forecast.Known{Kinds: kinds, Refused: map[schema.GroupKind]string{
		oamv1beta1.GroupVersion.WithKind(oamv1beta1.ApplicationKind).GroupKind(): fmt.Sprintf(
			"`%[1]s app render -f FILE | %[1]s plan -f -` plans the workloads of one without a rolloutPlan, and for one that has made its revision the AppRollout can be planned", program),
	}}
}
