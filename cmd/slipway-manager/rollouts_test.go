// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func TestWhatRolloutsHoldIsWatchedOnce(t *testing.T) {
	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	mgr, err := ctrl.NewManager(&rest.Config{Host: "http://127.0.0.1:1"}, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	o := defaultOptions()
	first, err := heldWorkloads(mgr, o)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := heldWorkloads(mgr, o); err != nil || second != first {
		t.Errorf("the second kind of rollouts has a cache of its own (%v)", err)
	}
}
