// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// install applies the API's definitions, and waits until they are served. The manager runs as a process of this
// machine with the rights of the kubeconfig, so nothing else is needed. It refuses where somebody else serves the API:
// two controllers of the same objects fight.
func install(ctx context.Context, api client.Client, manifest string) error {
	return eachObject(manifest, func(object *unstructured.Unstructured) error {
		if object.GetKind() != "CustomResourceDefinition" {
			return nil
		}
		return installKind(ctx, api, object)
	})
}

// installDefinitions applies the definitions that applications name. The kinds are served already, and their namespace is made
// where there is none.
func installDefinitions(ctx context.Context, api client.Client, manifest string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: oamv1beta1.SystemNamespace}}
	if err := api.Create(ctx, namespace); client.IgnoreAlreadyExists(err) != nil {
		return fmt.Errorf("making namespace %s: %w", namespace.Name, err)
	}
	return eachObject(manifest, func(object *unstructured.Unstructured) error {
		if err := api.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(benchAgent), client.ForceOwnership); err != nil {
			return fmt.Errorf("applying %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		return nil
	})
}

// eachObject reads a file of YAML documents.
func eachObject(manifest string, do func(*unstructured.Unstructured) error) error {
	content, err := os.ReadFile(manifest)
	if err != nil {
		return fmt.Errorf("reading what is to be installed: %w", err)
	}
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", manifest, err)
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &object.Object); err != nil {
			return fmt.Errorf("reading %s: %w", manifest, err)
		}
		if len(object.Object) == 0 {
			continue // the part above the first line is a comment only
		}
		if err := do(object); err != nil {
			return err
		}
	}
}

func installKind(ctx context.Context, api client.Client, object *unstructured.Unstructured) error {
	const partOf = "app.kubernetes.io/part-of"
	name := object.GetName()
	existing := &apiextensionsv1.CustomResourceDefinition{}
	err := api.Get(ctx, types.NamespacedName{Name: name}, existing)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("looking for %s: %w", name, err)
	}
	if !apierrors.IsNotFound(err) && existing.Labels[partOf] != object.GetLabels()[partOf] {
		return fmt.Errorf("this cluster has %s of somebody else: start their manager and give --manager-pid and --user-agent", name)
	}
	if err := api.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(benchAgent), client.ForceOwnership); err != nil {
		return fmt.Errorf("applying %s: %w", name, err)
	}
	err = wait.PollUntilContextTimeout(ctx, lookEvery, time.Minute, true, func(ctx context.Context) (bool, error) {
		if err := api.Get(ctx, types.NamespacedName{Name: name}, existing); err != nil {
			return false, err
		}
		for _, condition := range existing.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("waiting until %s is served: %w", name, err)
	}
	return nil
}
