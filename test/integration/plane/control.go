// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"slipway.dev/slipway/internal/owned"
)

// Control runs what setUp gives to a manager until the plane stops. Sets are the kinds of pod sets whose owners are indexed besides.
func (p *Plane) Control(scheme *runtime.Scheme, setUp func(ctrl.Manager) error, sets ...client.Object) error {
	ctx, stop := context.WithCancel(context.Background())
	ctrl.SetLogger(logr.Discard())
	mgr, err := ctrl.NewManager(p.Config, ctrl.Options{Scheme: scheme, Logger: logr.Discard(), Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		stop()
		return fmt.Errorf("making a manager: %w", err)
	}
	if err := owned.AddIndexes(ctx, mgr.GetFieldIndexer(), sets...); err != nil {
		stop()
		return fmt.Errorf("adding indexes: %w", err)
	}
	if err := setUp(mgr); err != nil {
		stop()
		return fmt.Errorf("setting up the controller: %w", err)
	}
	ended := make(chan struct{})
	p.Before(func() { stop(); <-ended })
	go func() {
		defer close(ended)
		if err := mgr.Start(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "the controller ended:", err)
		}
	}()
	return nil
}

// Namespace makes a namespace for one test, whose name begins with prefix.
func Namespace(t *testing.T, live client.Client, prefix string) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix}}
	if err := live.Create(t.Context(), ns); err != nil {
		t.Fatalf("making a namespace: %v", err)
	}
	return ns.Name
}

// Pods are all of a namespace.
func Pods(t *testing.T, live client.Reader, ns string) []corev1.Pod {
	t.Helper()
	var list corev1.PodList
	if err := live.List(t.Context(), &list, client.InNamespace(ns)); err != nil {
		t.Fatalf("listing pods: %v", err)
	}
	return list.Items
}

// Until waits for a condition, half a minute at the most, and says what it last saw when it never came.
func Until(t *testing.T, what string, seen func() (done bool, state any)) {
	t.Helper()
	var state any
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 30*time.Second, true, func(context.Context) (done bool, _ error) {
		done, state = seen()
		return done, nil
	})
	if err != nil {
		t.Fatalf("waited for %s; last seen: %v", what, state)
	}
}
