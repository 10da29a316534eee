// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/localcluster/install"
)

// installAPI applies the API's definitions, and waits until they are served. The manager runs as a process of this
// machine with the rights of the kubeconfig, so nothing else is needed. It refuses where somebody else serves the API:
// two controllers of the same objects fight.
func installAPI(ctx context.Context, api client.Client, manifest string) error {
	objects, err := install.Read(manifest)
	if err != nil {
		return err
	}
	definitions := install.Definitions(objects)
	switch foreign, err := install.Foreign(ctx, api, definitions); {
	case err != nil:
		return err
	case foreign != "":
		return fmt.Errorf("this cluster has %s of somebody else: start their manager and give --manager-pid and --user-agent", foreign)
	}
	if err := install.Apply(ctx, api, benchAgent, definitions); err != nil {
		return err
	}
	return install.AwaitServed(ctx, api, definitions)
}

// installDefinitions applies the definitions that applications name. The kinds are served already, and their namespace is made
// where there is none.
func installDefinitions(ctx context.Context, api client.Client, manifest string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: oamv1beta1.SystemNamespace}}
	if err := api.Create(ctx, namespace); client.IgnoreAlreadyExists(err) != nil {
		return fmt.Errorf("making namespace %s: %w", namespace.Name, err)
	}
	objects, err := install.Read(manifest)
	if err != nil {
		return err
	}
	return install.Apply(ctx, api, benchAgent, objects)
}
