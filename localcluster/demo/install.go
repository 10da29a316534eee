// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// crds are those that the manifest brings. None of somebody else's may be overwritten.
var crds = []string{
	"cafedeployments.apps.cafe.cloud.alipay.com", "inplacesets.apps.cafe.cloud.alipay.com", "clonesets.apps.kruise.io", "statefulsets.apps.kruise.io",
	"applicationrevisions.core.oam.dev", "applications.core.oam.dev", "approllouts.core.oam.dev", "componentdefinitions.core.oam.dev",
	"traitdefinitions.core.oam.dev", "metrictemplates.standard.oam.dev", "rollouttraits.standard.oam.dev",
}

const (
	partOf    = "app.kubernetes.io/part-of"
	fieldName = "slipway-demo" // of the field manager
	patience  = 2 * time.Minute
)

// install applies what the manifest holds, but for what would run inside the cluster: the demo runs the
// manager as a process of this machine, so that no image has to be built. The API is served then.
func install(ctx context.Context, c client.Client, manifest string) error {
	if err := foreignAPI(ctx, c); err != nil {
		return err
	}
	if err := applyAll(ctx, c, manifest); err != nil {
		return err
	}
	return waitServed(ctx, c)
}

// applyAll applies a manifest, but for what runs inside the cluster.
func applyAll(ctx context.Context, c client.Client, manifest string) error {
	objects, err := readManifest(manifest)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if kind := object.GetKind(); kind == "Deployment" || kind == "PodDisruptionBudget" {
			continue
		}
		if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(fieldName), client.ForceOwnership); err != nil {
			return fmt.Errorf("applying %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

func readManifest(path string) ([]*unstructured.Unstructured, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading what is to be installed: %w", err)
	}
	var objects []*unstructured.Unstructured
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &object.Object); err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// foreignAPI refuses to work where somebody else serves the same API: two controllers of the same objects fight.
func foreignAPI(ctx context.Context, c client.Client) error {
	for _, name := range crds {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		err := c.Get(ctx, types.NamespacedName{Name: name}, crd)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return fmt.Errorf("looking for %s: %w", name, err)
		case crd.Labels[partOf] != "slipway":
			return fmt.Errorf("this cluster has sets of somebody else (%s is not labelled %s=slipway): the demo does not touch it", name, partOf)
		}
	}
	return nil
}

func waitServed(ctx context.Context, c client.Client) error {
	for _, name := range crds {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		err := wait.PollUntilContextTimeout(ctx, lookEvery, patience, true, func(ctx context.Context) (bool, error) {
			if err := c.Get(ctx, types.NamespacedName{Name: name}, crd); err != nil {
				return false, err
			}
			for _, condition := range crd.Status.Conditions {
				if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
					return true, nil
				}
			}
			return false, nil
		})
		if err != nil {
			return fmt.Errorf("waiting until the API server serves %s: %w", name, err)
		}
	}
	return nil
}
