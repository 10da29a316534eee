// SPDX-License-Identifier: Apache-2.0

package cafe_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/cafe"
	"slipway.dev/slipway/test/integration/plane"
)

var (
	server *plane.Plane
	live   client.Client
	scheme = runtime.NewScheme()
)

func TestMain(m *testing.M) {
	os.Exit(plane.RunWithStore(m, func(p *plane.Plane) {
		server = p
		if err := errors.Join(connect(), startController()); err != nil {
			fmt.Fprintln(os.Stderr, "starting the controller:", err)
			os.Exit(1)
		}
	}))
}

func connect() (err error) {
	err = errors.Join(clientgoscheme.AddToScheme(scheme), cafev1alpha1.AddToScheme(scheme), kruisev1alpha1.AddToScheme(scheme), kruisev1beta1.AddToScheme(scheme))
	if err == nil {
		live, err = client.New(server.Config, client.Options{Scheme: scheme})
	}
	return err
}

// startController runs the controller until the plane stops.
func startController() error {
	return server.Control(scheme, func(mgr ctrl.Manager) error {
		r := cafe.New(cafe.Dependencies{
			Cache: mgr.GetCache(), Live: mgr.GetAPIReader(), Client: mgr.GetClient(), Events: mgr.GetEventRecorder("slipway"), Clock: clock.RealClock{},
		})
		return r.SetupWithManager(mgr, cafe.Options{Concurrency: 2})
	}, cafe.Owned()...)
}
