// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"slipway.dev/slipway/internal/rollout"
	"slipway.dev/slipway/internal/rollout/errand"
)

// desk keeps errands and never runs one: the story answers them.
type desk[A any] struct {
	errands []*run[A]
	wake    func(types.NamespacedName)
}

// run is an errand that was begun.
type run[A any] struct {
	owner   errand.Owner
	key     string
	version string
	errand.Report[A]
}

var _ rollout.Desk[int] = &desk[int]{}

func (d *desk[A]) find(owner errand.Owner, key string) int {
	return slices.IndexFunc(d.errands, func(r *run[A]) bool { return r.owner == owner && r.key == key })
}

func (d *desk[A]) Begin(owner errand.Owner, e errand.Errand[A]) {
	d.errands = slices.DeleteFunc(d.errands, func(r *run[A]) bool {
		return r.owner.NamespacedName == owner.NamespacedName && r.owner.UID != owner.UID
	})
	began := &run[A]{owner: owner, key: e.Key, version: e.Version, Report: errand.Report[A]{State: errand.UnderWay}}
	switch at := d.find(owner, e.Key); {
	case at < 0:
		d.errands = append(d.errands, began)
	case d.errands[at].State == errand.UnderWay && d.errands[at].version != e.Version:
		d.errands[at] = began
	}
}

func (d *desk[A]) Reports(owner errand.Owner) map[string]errand.Report[A] {
	found := map[string]errand.Report[A]{}
	for _, r := range d.errands {
		if r.owner == owner {
			found[r.key] = r.Report
		}
	}
	return found
}

func (d *desk[A]) Keep(owner errand.Owner, keys ...string) {
	d.errands = slices.DeleteFunc(d.errands, func(r *run[A]) bool { return r.owner == owner && !slices.Contains(keys, r.key) })
}

func (d *desk[A]) Forget(name types.NamespacedName) {
	d.errands = slices.DeleteFunc(d.errands, func(r *run[A]) bool { return r.owner.NamespacedName == name })
}

func (*desk[A]) Source() source.Source { return nil }

func (*desk[A]) Start(context.Context) error { return nil }

// open is an errand that waits for an answer; nil for none.
func (d *desk[A]) open() *run[A] {
	if at := slices.IndexFunc(d.errands, func(r *run[A]) bool { return r.State == errand.UnderWay }); at >= 0 {
		return d.errands[at]
	}
	return nil
}

// answer ends an errand, and again has it tried again.
func (d *desk[A]) answer(r *run[A], a A) {
	r.State, r.Answer = errand.Answered, a
	r.Tries++
	d.wake(r.owner.NamespacedName)
}

func (d *desk[A]) again(r *run[A], said string) {
	r.Said = said
	r.Tries++
	d.wake(r.owner.NamespacedName)
}
