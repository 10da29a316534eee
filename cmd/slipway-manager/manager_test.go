// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

const kubeconfig = `
apiVersion: v1
kind: Config
clusters: [{name: here, cluster: {server: "https://127.0.0.1:6443"}}]
users: [{name: me, user: {token: secret}}]
contexts: [{name: here, context: {cluster: here, user: me}}]
current-context: here
`

func TestTheClientNamesItselfAndIsNotThrottled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := restConfig(file)
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "https://127.0.0.1:6443" || config.QPS >= 0 {
		t.Errorf("host %s, QPS %v, want no limit", config.Host, config.QPS)
	}
	if want := "slipway-manager/" + currentVersion(); config.UserAgent != want {
		t.Errorf("user agent %q, want %q", config.UserAgent, want)
	}
}

func TestAKubeconfigThatIsMissingIsNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "missing")
	if _, err := restConfig(file); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("restConfig = %v, want an error that names %s", err, file)
	}
}

func TestTheSchemeKnowsWhatControllersReadAndWrite(t *testing.T) {
	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("Pod"),
		{Group: "apps", Version: "v1", Kind: "ControllerRevision"},
		kruisev1alpha1.GroupVersion.WithKind(kruisev1alpha1.CloneSetKind),
	} {
		if !scheme.Recognizes(kind) {
			t.Errorf("%s is unknown", kind)
		}
	}
}

func TestNoNamespaceMeansAll(t *testing.T) {
	if got := namespaces(nil); got != nil {
		t.Errorf("an empty list restricts the cache to %v", got)
	}
	var got []string
	for namespace := range namespaces([]string{"a"}) {
		got = append(got, namespace)
	}
	if diff := cmp.Diff([]string{"a"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestReadyOnlyWithFilledCaches(t *testing.T) {
	ready := &cacheReady{}
	if err := ready.check(nil); err == nil {
		t.Error("ready before the caches are filled")
	}
	if err := ready.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := ready.check(nil); err != nil {
		t.Errorf("not ready with filled caches: %v", err)
	}
	if ready.NeedLeaderElection() {
		t.Error("a manager that does not lead would never be ready")
	}
}

func TestDefinitionsForAllAreSeenFromSomeNamespaces(t *testing.T) {
	for sentence, test := range map[string]struct {
		watched []string
		want    []string
	}{
		"in all namespaces":                {nil, nil},
		"in one, and where those are":      {[]string{"shop"}, []string{"shop", "slipway-system"}},
		"in one that has them besides":     {[]string{"slipway-system"}, []string{"slipway-system"}},
		"in several, and where those are ": {[]string{"shop", "store"}, []string{"shop", "slipway-system", "store"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			found := 0
			for object, by := range byObject(&options{watchNamespaces: test.watched, definitionNamespace: "slipway-system"}) {
				switch object.(type) {
				case *oamv1beta1.ComponentDefinition, *oamv1beta1.TraitDefinition:
					found++
					if diff := cmp.Diff(test.want, slices.Sorted(maps.Keys(by.Namespaces))); diff != "" {
						t.Errorf("%T (-want +got):\n%s", object, diff)
					}
				}
			}
			if found != 2 {
				t.Errorf("%d kinds of definitions have a place of their own, want 2", found)
			}
		})
	}
}
