// SPDX-License-Identifier: Apache-2.0

package install_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"slipway.dev/slipway/localcluster/install"
)

func shipped(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	objects, err := install.Read(filepath.Join("..", "..", "config", "install.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func TestTheManifestIsReadWhole(t *testing.T) {
	objects := shipped(t)
	kinds := map[string]int{}
	for _, o := range objects {
		kinds[o.GetKind()]++
	}
	for _, kind := range []string{"Namespace", "CustomResourceDefinition", "Deployment"} {
		if kinds[kind] == 0 {
			t.Errorf("no %s in the manifest: %v", kind, kinds)
		}
	}
	definitions := install.Definitions(objects)
	if len(definitions) != kinds["CustomResourceDefinition"] {
		t.Errorf("%d definitions are found, and %d are there", len(definitions), kinds["CustomResourceDefinition"])
	}
	for _, o := range definitions {
		if o.GetLabels()["app.kubernetes.io/part-of"] != "slipway" {
			t.Errorf("%s is not labelled as ours, so that of anybody would be taken for it", o.GetName())
		}
	}
}

func TestAFileThatCannotBeReadIsNamed(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(bad, []byte("kind: [\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{bad, filepath.Join(t.TempDir(), "none.yaml")} {
		if _, err := install.Read(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("error %v, want one that names %s", err, path)
		}
	}
}

func definition(labels map[string]string, conditions ...apiextensionsv1.CustomResourceDefinitionCondition) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "clonesets.apps.kruise.io", Labels: labels},
		Status:     apiextensionsv1.CustomResourceDefinitionStatus{Conditions: conditions},
	}
}

func cluster(t *testing.T, there ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(there...).Build()
}

func TestTheAPIOfOthersIsLeftAlone(t *testing.T) {
	for sentence, c := range map[string]struct {
		there []client.Object
		want  string
	}{
		"nothing is there":     {},
		"ours is there":        {there: []client.Object{definition(map[string]string{"app.kubernetes.io/part-of": "slipway"})}},
		"another one is there": {there: []client.Object{definition(nil)}, want: "clonesets.apps.kruise.io"},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := install.Foreign(t.Context(), cluster(t, c.there...), install.Definitions(shipped(t)))
			if err != nil || got != c.want {
				t.Errorf("got %q and error %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestAKindIsServedWhenTheServerSaysSo(t *testing.T) {
	for sentence, c := range map[string]struct {
		status apiextensionsv1.ConditionStatus
		served bool
	}{
		"it is established":         {apiextensionsv1.ConditionTrue, true},
		"it is not established yet": {apiextensionsv1.ConditionFalse, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			ctx := t.Context()
			if !c.served {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 200*time.Millisecond)
				defer cancel()
			}
			there := definition(nil, apiextensionsv1.CustomResourceDefinitionCondition{Type: apiextensionsv1.Established, Status: c.status})
			asked := &unstructured.Unstructured{}
			asked.SetName(there.Name)
			err := install.AwaitServed(ctx, cluster(t, there), []*unstructured.Unstructured{asked})
			if (err == nil) != c.served {
				t.Errorf("error %v, served %t wanted", err, c.served)
			}
			if err != nil && !strings.Contains(err.Error(), there.Name) {
				t.Errorf("it does not say which one: %v", err)
			}
		})
	}
}
