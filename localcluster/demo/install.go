// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/localcluster/install"
)

const (
	partOf    = "app.kubernetes.io/part-of"
	fieldName = "slipway-demo" // of the field manager
	patience  = 2 * time.Minute
)

// installAPI applies what the manifest holds, but for what would run inside the cluster: the demo runs the
// manager as a process of this machine, so that no image has to be built. The API is served then.
func installAPI(ctx context.Context, c client.Client, manifest string) error {
	objects, err := install.Read(manifest)
	if err != nil {
		return err
	}
	definitions := install.Definitions(objects)
	switch foreign, err := install.Foreign(ctx, c, definitions); {
	case err != nil:
		return err
	case foreign != "":
		return fmt.Errorf("this cluster has sets of somebody else (%s is not labelled %s=slipway): the demo does not touch it", foreign, partOf)
	}
	objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool {
		return o.GetKind() == "Deployment" || o.GetKind() == "PodDisruptionBudget"
	})
	if err := install.Apply(ctx, c, fieldName, objects); err != nil {
		return err
	}
	return install.AwaitServed(ctx, c, definitions)
}

// installDefinitions applies what applications are made of.
func installDefinitions(ctx context.Context, c client.Client, manifest string) error {
	objects, err := install.Read(manifest)
	if err != nil {
		return err
	}
	return install.Apply(ctx, c, fieldName, objects)
}
