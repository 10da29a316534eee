// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application"
	"slipway.dev/slipway/internal/application/worker"
	"slipway.dev/slipway/internal/rollout/adapter"
)

func setUpApplication(mgr ctrl.Manager, o *options, _ bool) error {
	known, err := readKinds(o.workloadKinds)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program, which renders applications in processes of its own: %w", err)
	}
	renderer := worker.New(program, clock.RealClock{})
	if err := mgr.Add(renderer); err != nil {
		return fmt.Errorf("having the manager run the renderer: %w", err)
	}
	ofApplications, err := labels.NewRequirement(oamv1beta1.LabelAppName, selection.Exists, nil)
	if err != nil {
		return fmt.Errorf("selecting what is deployed: %w", err)
	}
	deployed, err := newLabelled(mgr, o, labels.NewSelector().Add(*ofApplications))
	if err != nil {
		return err
	}
	reconciler := application.New(application.Dependencies{
		Cache:           mgr.GetCache(),
		Live:            mgr.GetAPIReader(),
		Client:          mgr.GetClient(),
		Events:          mgr.GetEventRecorder("slipway"),
		Clock:           clock.RealClock{},
		Mapper:          mgr.GetRESTMapper(),
		Kinds:           &adapter.Adapters{Live: mgr.GetAPIReader(), Mapper: mgr.GetRESTMapper(), Registry: known},
		Renderer:        renderer,
		SystemNamespace: o.definitionNamespace,
		RevisionLimit:   o.revisionLimit,
		Managers:        []string{managerName},
		Writes:          newTracker(mgr, o),
		Apply:           o.apply(),
	})
	return reconciler.SetupWithManager(mgr, application.Options{Concurrency: o.concurrency, Deployed: deployed})
}
