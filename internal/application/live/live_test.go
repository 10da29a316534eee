// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/delivery"
	"slipway.dev/slipway/internal/application/live"
)

var (
	shop        = delivery.Application{Namespace: "web", Name: "shop", UID: "shop"}
	deployments = appsv1.SchemeGroupVersion.WithKind("Deployment")
)

// deployment is one of component cart of shop, unless it is changed.
func deployment(name string, change ...func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: "web", Name: name, Labels: map[string]string{oamv1beta1.LabelAppName: "shop", oamv1beta1.LabelComponent: "cart"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Any", Name: "shop", UID: "shop"}},
	}}
	for _, c := range change {
		c(d)
	}
	return d
}

func cluster(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := appsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

func TestWhichWorkloadsAComponentHas(t *testing.T) {
	now := metav1.Now()
	all := cluster(t, deployment("cart-v2"), deployment("cart-v1"),
		deployment("of-nobody", func(d *appsv1.Deployment) { d.OwnerReferences = nil }),
		deployment("of-another", func(d *appsv1.Deployment) { d.Labels[oamv1beta1.LabelComponent] = "pay" }),
		deployment("elsewhere", func(d *appsv1.Deployment) { d.Namespace = "other" }),
		deployment("going", func(d *appsv1.Deployment) { d.DeletionTimestamp, d.Finalizers = &now, []string{"test/stays"} }))
	found, err := live.Workloads(t.Context(), all, shop, deployments, "cart")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range found {
		names = append(names, o.GetName())
	}
	if diff := cmp.Diff([]string{"cart-v1", "cart-v2"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnObjectIsThereOrNot(t *testing.T) {
	busy := errors.New("the server is busy")
	for sentence, c := range map[string]struct {
		name    string
		failure error
		found   bool
		want    error
	}{
		"one that is there":            {"cart", nil, true, nil},
		"one that is not":              {"lost", nil, false, nil},
		"one of a kind that is not":    {"cart", &apimeta.NoKindMatchError{GroupKind: deployments.GroupKind()}, false, nil},
		"one that nobody can tell of ": {"cart", busy, false, busy},
	} {
		t.Run(sentence, func(t *testing.T) {
			from := interceptor.NewClient(cluster(t, deployment("cart")), interceptor.Funcs{
				Get: func(ctx context.Context, server client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
					if c.failure != nil {
						return c.failure
					}
					return server.Get(ctx, key, o, options...)
				},
			})
			o, err := live.Object(t.Context(), from, "web", deployments, c.name)
			if (o != nil) != c.found || !errors.Is(err, c.want) {
				t.Errorf("got %v, %v", o, err)
			}
		})
	}
}
