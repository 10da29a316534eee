// SPDX-License-Identifier: Apache-2.0

package statefulset_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/statefulset"
	"slipway.dev/slipway/test/builders"
	"slipway.dev/slipway/test/simulation/stage"
)

// room is the stage of a StatefulSet. Its cache shows no pods of other controllers: the manager lets those go.
type room struct {
	*stage.Stage[*kruisev1beta1.StatefulSet]
	classes []storagev1.StorageClass
}

func enter(t *testing.T, set *builders.StatefulSetBuilder) *room {
	t.Helper()
	r := &room{}
	r.Stage = stage.Enter(t, set.Build(), func(s *stage.Stage[*kruisev1beta1.StatefulSet]) reconcile.Reconciler {
		return statefulset.New(statefulset.Dependencies{Cache: shown{s.Cache, r}, Live: s.Door, Client: s.Door, Events: s, Clock: s.Clock, Apply: apply.Options{Concurrency: 1}})
	})
	return r
}

func (r *room) create(o client.Object) client.Object {
	r.Helper()
	made, err := r.Server.Create("user", o)
	if err != nil {
		r.Fatal(err)
	}
	return made
}

// pods are all pods by their names.
func (r *room) pods() []*corev1.Pod {
	return slices.SortedFunc(slices.Values(r.Pods()), func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
}

// condition of the set, without its times: "status reason: message".
func (r *room) condition(kind kruisev1beta1.StatefulSetConditionType) string {
	for _, c := range r.Set().Status.Conditions {
		if c.Type == kind {
			return r.Known(fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message))
		}
	}
	return ""
}

// shown is a cache that shows no pods of other controllers, as that of the manager.
type shown struct {
	client.Reader
	room *room
}

// List lists the storage classes of the room besides what the server stores.
func (s shown) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if classes, are := list.(*storagev1.StorageClassList); are {
		classes.Items = s.room.classes
		return nil
	}
	return s.Reader.List(ctx, list, opts...)
}

func (s shown) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if err := s.Reader.Get(ctx, key, o, opts...); err != nil {
		return err
	}
	if owner := metav1.GetControllerOfNoCopy(o); owner != nil && owner.APIVersion != kruisev1beta1.GroupVersion.String() {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	return nil
}
