// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"bytes"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// What is applied is read again as what stands in the CUE files.
func TestShippedDefinitionsSurviveTheWayThroughTheirManifests(t *testing.T) {
	all, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		text, err := Manifests([]Definition{d}, "")
		if err != nil {
			t.Fatal(err)
		}
		read := Definition{}
		if d.Component != nil {
			read.Component = &oamv1beta1.ComponentDefinition{}
			err = yaml.UnmarshalStrict(text, read.Component)
		} else {
			read.Trait = &oamv1beta1.TraitDefinition{}
			err = yaml.UnmarshalStrict(text, read.Trait)
		}
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(d, read); diff != "" {
			t.Errorf("%s (-written +read):\n%s", d.Name(), diff)
		}
	}
}

func TestWhatIsShipped(t *testing.T) {
	all, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{ // component: its workload; trait: nothing
		"webservice": "apps/v1 Deployment", "worker": "apps/v1 Deployment", "cloneset": "apps.kruise.io/v1alpha1 CloneSet", "statefulset": "apps/v1 StatefulSet",
		"advanced-statefulset": "apps.kruise.io/v1beta1 StatefulSet", "cafedeployment": "apps.cafe.cloud.alipay.com/v1alpha1 CafeDeployment", "daemon": "apps/v1 DaemonSet",
		"scaler": "", "expose": "", "ingress": "", "hpa": "", "labels": "", "annotations": "", "env": "", "resource": "", "sidecar": "",
	}
	got := map[string]string{}
	for _, d := range all {
		got[d.Name()] = ""
		if d.Component != nil {
			workload := d.Component.Spec.Workload.Definition
			got[d.Name()] = workload.APIVersion + " " + workload.Kind
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheManifestOfTheShippedDefinitionsIsUpToDate(t *testing.T) {
	all, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	text, err := Manifests(all, oamv1beta1.SystemNamespace)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := os.ReadFile("../../../config/definitions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, manifests, _ := bytes.Cut(stored, []byte("\n")); !bytes.Equal(manifests, text) {
		t.Error("config/definitions.yaml is not what config/definitions says: make generate")
	}
}
