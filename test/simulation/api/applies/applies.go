// SPDX-License-Identifier: Apache-2.0

package applies

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/fieldowner"
)

// Story is a sequence of requests about one object.
type Story struct {
	// Requests are made one after the other. Each says what should come of it.
	Requests []Request
}

// Request is one of an actor, who is the manager of the fields that he names.
type Request struct {
	Actor string
	// Applies is applied, Forced or not; else Patch is a merge patch of the object that the story is about.
	Applies *unstructured.Unstructured
	Forced  bool
	Patch   string
	// Conflict: it is refused because somebody else owns a field, or because of a version.
	Conflict bool
	// Want are lines of the object afterwards: a path, its value, and who owns it.
	Want []string
}

// Play makes the requests, and compares what comes of them. It needs a client for each actor, with that name as its field manager.
func (s Story) Play(t *testing.T, as func(actor string) client.Client) {
	t.Helper()
	about := s.Requests[0].Applies
	for i, r := range s.Requests {
		err := r.send(t.Context(), as(r.Actor), about)
		if conflict := apierrors.IsConflict(err); conflict != r.Conflict || err != nil && !conflict {
			t.Fatalf("request %d is answered with %v", i+1, err)
		}
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(about.GroupVersionKind())
		if err := as(r.Actor).Get(t.Context(), client.ObjectKeyFromObject(about), live); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, line := range r.Want {
			path, _, _ := strings.Cut(line, " ")
			got = append(got, tell(live, path))
		}
		if diff := cmp.Diff(r.Want, got); diff != "" {
			t.Errorf("after request %d (-want +got):\n%s", i+1, diff)
		}
	}
}

func (r Request) send(ctx context.Context, as client.Client, about *unstructured.Unstructured) error {
	if r.Applies == nil {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(about.GroupVersionKind())
		o.SetNamespace(about.GetNamespace())
		o.SetName(about.GetName())
		return as.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(r.Patch)), client.FieldOwner(r.Actor))
	}
	options := []client.ApplyOption{client.FieldOwner(r.Actor)}
	if r.Forced {
		options = append(options, client.ForceOwnership)
	}
	return as.Apply(ctx, client.ApplyConfigurationFromUnstructured(r.Applies.DeepCopy()), options...)
}

// tell is a line about a field: its path, its value, and who owns it. A list is told as a whole.
func tell(o *unstructured.Unstructured, path string) string {
	fields := strings.Split(path, ".")
	value, has, err := unstructured.NestedFieldNoCopy(o.Object, fields...)
	text := "absent"
	if err == nil && has {
		raw, err := json.Marshal(value)
		if err != nil {
			return err.Error()
		}
		text = string(raw)
	}
	owners := fieldowner.Of(o, fields...)
	slices.Sort(owners)
	return fmt.Sprintf("%s %s %s", path, text, strings.Join(owners, ","))
}
