// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/test/simulation/api"
)

// Door is the manager's connection to the server.
type Door struct {
	client.Client
	// Refuse is a kind of writes that is refused, such as "delete pods", and Only the name of the only object that it is refused for;
	// empty for all.
	Refuse, Only string
	// Reads counts the objects that were read.
	Reads int

	refused []string // names
}

func (d *Door) refusal(verb string, o client.Object) error {
	if d.Refuse != verb+" "+api.KindOf(o).String() || d.Only != "" && d.Only != o.GetName() {
		return nil
	}
	d.refused = append(d.refused, o.GetName())
	return apierrors.NewForbidden(schema.GroupResource{}, o.GetName(), errors.New("a rule says no"))
}

// Get counts.
func (d *Door) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	d.Reads++
	return d.Client.Get(ctx, key, o, opts...)
}

// Create may be refused.
func (d *Door) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	if err := d.refusal("create", o); err != nil {
		return err
	}
	return d.Client.Create(ctx, o, opts...)
}

// Delete may be refused.
func (d *Door) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	if err := d.refusal("delete", o); err != nil {
		return err
	}
	return d.Client.Delete(ctx, o, opts...)
}

// Patch may be refused.
func (d *Door) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	if err := d.refusal("patch", o); err != nil {
		return err
	}
	return d.Client.Patch(ctx, o, p, opts...)
}
