// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ErrUnsupported is returned by the methods of client.Client that the simulation has no use for.
var ErrUnsupported = errors.New("not supported by the simulated API server")

// Client is one actor's connection: uncached reads, and writes that are logged under the actor's name.
type Client struct {
	server *Server
	actor  string
}

var _ client.Client = (*Client)(nil)

// Client returns a connection for an actor.
func (s *Server) Client(actor string) *Client { return &Client{server: s, actor: actor} }

// Get reads the present state.
func (c *Client) Get(ctx context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("reading %s: %w", key, err)
	}
	kind := KindOf(obj)
	stored := c.server.Get(kind, key)
	if stored == nil {
		return apierrors.NewNotFound(kind.resource(), key.Name)
	}
	assign(obj, stored)
	return nil
}

// List reads the present state; it knows namespace and label selector.
func (c *Client) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("listing: %w", err)
	}
	options := (&client.ListOptions{}).ApplyOptions(opts)
	if options.FieldSelector != nil && !options.FieldSelector.Empty() {
		return fmt.Errorf("listing by field %s: %w", options.FieldSelector, ErrUnsupported)
	}
	var found []client.Object
	for _, o := range c.server.List(kindOfList(list)) {
		if matches(o, options) {
			found = append(found, o)
		}
	}
	fill(list, found, false)
	return nil
}

// Create stores a new object.
func (c *Client) Create(ctx context.Context, obj client.Object, _ ...client.CreateOption) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("creating: %w", err)
	}
	return into(obj)(c.server.Create(c.actor, obj))
}

// Update replaces an object.
func (c *Client) Update(ctx context.Context, obj client.Object, _ ...client.UpdateOption) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("updating: %w", err)
	}
	return into(obj)(c.server.Update(c.actor, Main, obj))
}

// Patch changes an object.
func (c *Client) Patch(ctx context.Context, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
	return c.patch(ctx, Main, obj, patch)
}

func (c *Client) patch(ctx context.Context, sub Subresource, obj client.Object, patch client.Patch) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("patching: %w", err)
	}
	data, err := patch.Data(obj)
	if err != nil {
		return fmt.Errorf("making the patch: %w", err)
	}
	return into(obj)(c.server.Patch(c.actor, KindOf(obj), client.ObjectKeyFromObject(obj), sub, patch.Type(), data))
}

// Delete removes an object, gracefully where the kind knows grace.
func (c *Client) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("deleting: %w", err)
	}
	options := (&client.DeleteOptions{}).ApplyOptions(opts)
	return c.server.Delete(c.actor, KindOf(obj), client.ObjectKeyFromObject(obj), options.GracePeriodSeconds, options.Preconditions)
}

// into copies the server's answer to the caller's object, as a client does after a write.
func into(obj client.Object) func(client.Object, error) error {
	return func(stored client.Object, err error) error {
		if err != nil {
			return err
		}
		assign(obj, stored)
		return nil
	}
}

// Status writes status subresources.
func (c *Client) Status() client.SubResourceWriter { return subresource{c, Status} }

// SubResource writes the named subresource.
func (c *Client) SubResource(name string) client.SubResourceClient {
	return subresource{c, Subresource(name)}
}

type subresource struct {
	client *Client
	name   Subresource
}

func (r subresource) Get(context.Context, client.Object, client.Object, ...client.SubResourceGetOption) error {
	return ErrUnsupported
}

func (r subresource) Create(context.Context, client.Object, client.Object, ...client.SubResourceCreateOption) error {
	return ErrUnsupported
}

func (r subresource) Apply(context.Context, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
	return ErrUnsupported
}

func (r subresource) Update(ctx context.Context, obj client.Object, _ ...client.SubResourceUpdateOption) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("updating: %w", err)
	}
	return into(obj)(r.client.server.Update(r.client.actor, r.name, obj))
}

func (r subresource) Patch(ctx context.Context, obj client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	return r.client.patch(ctx, r.name, obj, patch)
}

// Apply applies an object without a Go type on the server's side. The answer takes its place.
func (c *Client) Apply(ctx context.Context, configuration runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("applying: %w", err)
	}
	loose, is := configuration.(runtime.Unstructured)
	if !is {
		return fmt.Errorf("applying a %T: %w", configuration, ErrUnsupported)
	}
	object := &unstructured.Unstructured{Object: loose.UnstructuredContent()}
	options := (&client.ApplyOptions{}).ApplyOptions(opts)
	stored, err := c.server.Apply(c.actor, options.FieldManager, object, options.Force != nil && *options.Force)
	if err != nil {
		return err
	}
	assign(object, stored)
	loose.SetUnstructuredContent(object.Object)
	return nil
}

// DeleteAllOf is not supported.
func (c *Client) DeleteAllOf(context.Context, client.Object, ...client.DeleteAllOfOption) error {
	return ErrUnsupported
}

// Scheme returns an empty scheme: the simulation works with Go types only.
func (c *Client) Scheme() *runtime.Scheme { return runtime.NewScheme() }

// RESTMapper returns an empty mapper.
func (c *Client) RESTMapper() meta.RESTMapper { return meta.NewDefaultRESTMapper(nil) }

// GroupVersionKindFor is not supported.
func (c *Client) GroupVersionKindFor(runtime.Object) (schema.GroupVersionKind, error) {
	return schema.GroupVersionKind{}, ErrUnsupported
}

// IsObjectNamespaced is not supported.
func (c *Client) IsObjectNamespaced(runtime.Object) (bool, error) { return false, ErrUnsupported }

func matches(obj client.Object, options *client.ListOptions) bool {
	if options.Namespace != "" && options.Namespace != obj.GetNamespace() {
		return false
	}
	return options.LabelSelector == nil || options.LabelSelector.Matches(labels.Set(obj.GetLabels()))
}
