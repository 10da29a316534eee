// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/server"
)

// Connect makes a client for the cluster that the flags name. It does not call it yet.
func Connect(flags *genericclioptions.ConfigFlags, userAgent string) (client.WithWatch, error) {
	config, err := configOf(flags, userAgent)
	if err != nil {
		return nil, err
	}
	return NewClient(config)
}

// OffersResize asks the cluster that the flags name whether it can change the resources of living pods, as the manager
// asks at its start.
func OffersResize(flags *genericclioptions.ConfigFlags, userAgent string) (bool, error) {
	config, err := configOf(flags, userAgent)
	if err != nil {
		return false, err
	}
	connection, err := rest.HTTPClientFor(config)
	if err != nil {
		return false, fmt.Errorf("preparing the connection: %w", err)
	}
	return server.OffersResize(config, connection)
}

func configOf(flags *genericclioptions.ConfigFlags, userAgent string) (*rest.Config, error) {
	config, err := flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("finding out which cluster to look at: %w", err)
	}
	config.UserAgent = userAgent
	config.QPS = -1 // a handful of requests by a person: nothing to hold back
	return config, nil
}

// userAgent is how requests name this program.
func userAgent(env Environment) string { return "slipway/" + env.Version }

// NewClient makes a client that knows the kinds that are shown. It asks the API server for no
// discovery: that would take longer than all the rest.
func NewClient(config *rest.Config) (client.WithWatch, error) {
	scheme, err := NewScheme()
	if err != nil {
		return nil, err
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(kruisev1alpha1.GroupVersion.WithKind(kruisev1alpha1.CloneSetKind), meta.RESTScopeNamespace)
	mapper.Add(kruisev1beta1.GroupVersion.WithKind(kruisev1beta1.StatefulSetKind), meta.RESTScopeNamespace)
	mapper.Add(cafev1alpha1.GroupVersion.WithKind(cafev1alpha1.InPlaceSetKind), meta.RESTScopeNamespace)
	mapper.Add(cafev1alpha1.GroupVersion.WithKind(cafev1alpha1.CafeDeploymentKind), meta.RESTScopeNamespace)
	mapper.Add(rolloutv1alpha1.GroupVersion.WithKind(rolloutv1alpha1.RolloutTraitKind), meta.RESTScopeNamespace)
	mapper.Add(oamv1beta1.GroupVersion.WithKind(oamv1beta1.AppRolloutKind), meta.RESTScopeNamespace)
	mapper.Add(oamv1beta1.GroupVersion.WithKind(oamv1beta1.ApplicationKind), meta.RESTScopeNamespace)
	mapper.Add(oamv1beta1.GroupVersion.WithKind(oamv1beta1.ApplicationRevisionKind), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Event"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Node"), meta.RESTScopeRoot)
	mapper.Add(appsv1.SchemeGroupVersion.WithKind("ControllerRevision"), meta.RESTScopeNamespace)
	mapper.Add(appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), meta.RESTScopeNamespace)
	mapper.Add(appsv1.SchemeGroupVersion.WithKind("StatefulSet"), meta.RESTScopeNamespace)
	mapper.Add(appsv1.SchemeGroupVersion.WithKind("Deployment"), meta.RESTScopeNamespace)
	mapper.Add(appsv1.SchemeGroupVersion.WithKind("DaemonSet"), meta.RESTScopeNamespace)
	mapper.Add(definitionKind, meta.RESTScopeRoot)
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("preparing the client: %w", err)
	}
	return c, nil
}

// definitionKind is where kinds say how they are rolled out that nobody else knows.
var definitionKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// NewScheme holds the kinds that are shown.
func NewScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, kruisev1alpha1.AddToScheme, kruisev1beta1.AddToScheme, cafev1alpha1.AddToScheme, rolloutv1alpha1.AddToScheme, oamv1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("registering the kinds that are shown: %w", err)
		}
	}
	return scheme, nil
}
