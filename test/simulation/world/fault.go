// SPDX-License-Identifier: Apache-2.0

package world

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/test/simulation/api"
)

// faultKind is what happens to one write of the manager.
type faultKind int

const (
	noFault     faultKind = iota
	refused               // 409, nothing written
	failed                // 500, nothing written
	lost                  // written, but the answer is an error
	crashBefore           // the process dies just before the write
	crashAfter            // the process dies just after it
	faultKinds
)

func (k faultKind) String() string {
	return [...]string{"none", "conflict", "failure", "lost answer", "crash before", "crash after"}[k]
}

// fault strikes the n-th write of a reconcile, counted from 0.
type fault struct {
	kind faultKind
	n    int
}

var errCrashed = errors.New("the process is dead")

// unreliable is the manager's connection to the API server. It has one fault at most per reconcile. It tells the judge of each write.
type unreliable struct {
	client.Client
	after func()                            // after each write
	live  func(client.Object)               // for each read of an object
	note  func(kind faultKind, what string) // for the transcript; may be nil
	fault fault
	count int
	dead  bool
}

func (u *unreliable) strike(f fault) { u.fault, u.count, u.dead = f, 0, false }

func (u *unreliable) crashed() bool { return u.dead }

// write passes one write on, or has its fault.
func (u *unreliable) write(what string, do func() error) error {
	if u.dead {
		return errCrashed
	}
	kind := noFault
	if u.fault.kind != noFault && u.count == u.fault.n {
		kind = u.fault.kind
	}
	u.count++
	if kind != noFault && u.note != nil {
		u.note(kind, what)
	}
	anything := schema.GroupResource{Resource: "anything"}
	switch kind {
	case refused:
		return apierrors.NewConflict(anything, what, errors.New("simulated"))
	case failed:
		return apierrors.NewInternalError(errors.New("simulated failure"))
	case crashBefore:
		u.dead = true
		return errCrashed
	}
	err := do()
	u.after()
	switch kind {
	case lost:
		return apierrors.NewTimeoutError("simulated: the answer was lost", 1)
	case crashAfter:
		u.dead = true
		return errCrashed
	}
	return err
}

func describe(verb string, obj client.Object) string {
	return fmt.Sprintf("%s of %s %s", verb, api.KindOf(obj), obj.GetName())
}

func (u *unreliable) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if u.dead {
		return errCrashed
	}
	err := u.Client.Get(ctx, key, obj, opts...)
	if copied, is := obj.DeepCopyObject().(client.Object); is && err == nil {
		u.live(copied)
	}
	return err
}

func (u *unreliable) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if u.dead {
		return errCrashed
	}
	return u.Client.List(ctx, list, opts...)
}

func (u *unreliable) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	return u.write(describe("creation", obj), func() error { return u.Client.Create(ctx, obj, opts...) })
}

func (u *unreliable) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	return u.write(describe("update", obj), func() error { return u.Client.Update(ctx, obj, opts...) })
}

func (u *unreliable) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	return u.write(describe("patch", obj), func() error { return u.Client.Patch(ctx, obj, patch, opts...) })
}

func (u *unreliable) Apply(ctx context.Context, configuration runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	what := "application of something"
	if o, is := configuration.(client.Object); is {
		what = "application of " + o.GetName()
	}
	return u.write(what, func() error { return u.Client.Apply(ctx, configuration, opts...) })
}

func (u *unreliable) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	return u.write(describe("deletion", obj), func() error { return u.Client.Delete(ctx, obj, opts...) })
}

func (u *unreliable) Status() client.SubResourceWriter { return u.SubResource("status") }

func (u *unreliable) SubResource(name string) client.SubResourceClient {
	return unreliableSub{SubResourceClient: u.Client.SubResource(name), line: u, name: name}
}

type unreliableSub struct {
	client.SubResourceClient
	line *unreliable
	name string
}

func (s unreliableSub) Update(ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	return s.line.write(describe(s.name+" update", obj), func() error { return s.SubResourceClient.Update(ctx, obj, opts...) })
}

func (s unreliableSub) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	return s.line.write(describe(s.name+" patch", obj), func() error { return s.SubResourceClient.Patch(ctx, obj, patch, opts...) })
}
