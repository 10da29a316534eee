// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/delivery"
)

// Object is an object as it stands in the cluster; nil for none, and for a kind that there is not, which applying it says.
func Object(ctx context.Context, from client.Reader, namespace string, kind schema.GroupVersionKind, name string) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	switch err := from.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, o); {
	case apierrors.IsNotFound(err), apimeta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading %s %s: %w", kind.Kind, name, err)
	}
	return o, nil
}

// Workloads are those of a component that the application owns and that are not being deleted, by name; none of a kind that there is
// not.
func Workloads(ctx context.Context, from client.Reader, of delivery.Application, kind schema.GroupVersionKind, component string) ([]*unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	labels := client.MatchingLabels{oamv1beta1.LabelAppName: of.Name, oamv1beta1.LabelComponent: component}
	switch err := from.List(ctx, list, client.InNamespace(of.Namespace), labels); {
	case apimeta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("listing the workloads of component %s: %w", component, err)
	}
	var all []*unstructured.Unstructured
	for i := range list.Items {
		if o := &list.Items[i]; o.GetDeletionTimestamp() == nil && of.Owns(o) {
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b *unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	return all, nil
}
