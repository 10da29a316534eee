// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/freshness"
	"slipway.dev/slipway/test/integration/plane"
)

var (
	server *rest.Config
	live   client.Client
	writer *apply.Applier
)

func TestMain(m *testing.M) {
	os.Exit(plane.Run(m, func(config *rest.Config) {
		ctrl.SetLogger(logr.Discard())
		server = config
		scheme := runtime.NewScheme()
		err := errors.Join(clientgoscheme.AddToScheme(scheme), rolloutv1alpha1.AddToScheme(scheme))
		if err == nil {
			live, err = client.New(config, client.Options{Scheme: scheme})
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "connecting:", err)
			os.Exit(1)
		}
		writer = apply.New(live, freshness.New(live, live, clock.RealClock{}, 0), apply.Options{})
	}))
}
