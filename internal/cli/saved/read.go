// SPDX-License-Identifier: Apache-2.0

package saved

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"slipway.dev/slipway/internal/cli/manifest"
)

// Objects are live objects as `kubectl get … -o yaml` prints them. They are read as a cluster is.
type Objects struct {
	scheme *runtime.Scheme
	byKind map[schema.GroupVersionKind][]object
}

type object struct {
	namespace, name string
	labels          labels.Set
	raw             json.RawMessage
}

var _ client.Reader = (*Objects)(nil)

// Read reads a file of YAML documents or JSON. An object that cannot be of its kind is an error that names the file and
// the document; kinds that the scheme does not know are kept as they are.
func Read(file string, r io.Reader, scheme *runtime.Scheme) (*Objects, error) {
	o := &Objects{scheme: scheme, byKind: map[schema.GroupVersionKind][]object{}}
	err := manifest.Each(file, r, func(kind metav1.TypeMeta, where string, raw []byte) error {
		id := kind.GroupVersionKind()
		var head metav1.PartialObjectMetadata
		err := json.Unmarshal(raw, &head)
		if err == nil && scheme.Recognizes(id) {
			err = o.checked(id, raw)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		o.byKind[id] = append(o.byKind[id], object{head.Namespace, head.Name, head.Labels, raw})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return o, nil
}

func (o *Objects) checked(id schema.GroupVersionKind, raw []byte) error {
	one, err := o.scheme.New(id)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, one)
}

// Get reads one object, or says as a cluster does that there is none.
func (o *Objects) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	id, err := apiutil.GVKForObject(into, o.scheme)
	if err != nil {
		return err
	}
	for _, each := range o.byKind[id] {
		if each.name == key.Name && each.namespace == key.Namespace {
			return json.Unmarshal(each.raw, into)
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{Group: id.Group, Resource: id.Kind}, key.Name)
}

// List reads all objects of a kind, by namespace and labels if asked. Fields cannot be asked for.
func (o *Objects) List(_ context.Context, into client.ObjectList, options ...client.ListOption) error {
	id, err := apiutil.GVKForObject(into, o.scheme)
	if err != nil {
		return err
	}
	asked := (&client.ListOptions{}).ApplyOptions(options)
	if asked.FieldSelector != nil {
		return errors.New("what was saved cannot be searched by field")
	}
	id.Kind = strings.TrimSuffix(id.Kind, "List")
	items := []json.RawMessage{}
	for _, each := range o.byKind[id] {
		if (asked.Namespace == "" || asked.Namespace == each.namespace) && (asked.LabelSelector == nil || asked.LabelSelector.Matches(each.labels)) {
			items = append(items, each.raw)
		}
	}
	raw, err := json.Marshal(map[string]any{"apiVersion": id.GroupVersion().String(), "kind": id.Kind + "List", "items": items})
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}
