// SPDX-License-Identifier: Apache-2.0

package inplace_test

import (
	"encoding/base64"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/inplace"
)

// reads compares an annotation with the JSON that other programs would read.
func reads(t *testing.T, p *corev1.Pod, key, want string) {
	t.Helper()
	var got, wanted any
	if err := json.Unmarshal([]byte(p.Annotations[key]), &got); err != nil {
		t.Fatalf("annotation %s is %q: %v", key, p.Annotations[key], err)
	}
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", key, diff)
	}
}

func TestTheRecordKnowsWhatRanBefore(t *testing.T) {
	p := running()
	p.Status.ContainerStatuses[0].RestartCount = 3
	take(p, begin(t, p, imageTo("app:v2"), "web-b", 0, noon))
	reads(t, p, kruisev1alpha1.AnnotationInPlaceState, `{
		"revision": "web-b", "updateTimestamp": "2026-01-02T12:00:00Z", "updateImages": true, "podGeneration": 2,
		"lastContainerStatuses": {"app": {"imageID": "sha256:v1", "image": "app:v1", "containerID": "sim://1", "startedAt": "2026-01-02T11:00:00Z", "restartCount": 3}},
		"containerBatchesRecord": [{"timestamp": "2026-01-02T12:00:00Z", "containers": ["app"]}]}`)
	if p.Generation != 2 {
		t.Errorf("the pod has generation %d", p.Generation)
	}
}

func TestTheRecordIsOverwrittenByTheNextUpdateOnly(t *testing.T) {
	p := running()
	take(p, begin(t, p, imageTo("app:v2"), "web-b", 0, noon))
	report(p, "sim://2", "sha256:v2", "app:v2", noon)
	if got := progress(t, p, noon); !got.Finished || p.Annotations[kruisev1alpha1.AnnotationInPlaceState] == "" {
		t.Fatalf("finished %v, record %q", got.Finished, p.Annotations[kruisev1alpha1.AnnotationInPlaceState])
	}
	take(p, begin(t, p, imageTo("app:v3"), "web-c", 0, noon.Add(time.Hour)))
	record, err := inplace.RecordOf(p)
	if err != nil {
		t.Fatal(err)
	}
	if record.Revision != "web-c" || record.LastContainerStatuses["app"].ImageID != "sha256:v2" || len(record.ContainerBatchesRecord) != 1 {
		t.Errorf("the record is %+v", record)
	}
}

func TestTheRecordTellsEveryBatch(t *testing.T) {
	p := crew(map[string][]corev1.EnvVar{"a": {priority("2")}, "b": {priority("1")}})
	d := inplace.Difference{Resources: map[string]corev1.ResourceRequirements{"a": {Requests: cpu("2")}, "b": {Requests: cpu("2")}}}
	for i := range p.Spec.Containers {
		p.Spec.Containers[i].Resources.Requests = amounts("1", "1Gi")
	}
	reportSizes(p)
	take(p, begin(t, p, d, "web-b", 0, noon))
	reads(t, p, kruisev1alpha1.AnnotationInPlaceState, `{
		"revision": "web-b", "updateTimestamp": "2026-01-02T12:00:00Z", "updateResources": true, "podGeneration": 2,
		"lastContainerStatuses": null, "resizedContainers": ["a"],
		"nextContainerResources": {"b": {"requests": {"cpu": "2"}}}, "preCheckBeforeNext": {"containersRequiredReady": ["a"]},
		"containerBatchesRecord": [{"timestamp": "2026-01-02T12:00:00Z", "containers": ["a"]}]}`)
	reportSizes(p)
	next, err := inplace.Advance(p, noon.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	take(p, next)
	reads(t, p, kruisev1alpha1.AnnotationInPlaceState, `{
		"revision": "web-b", "updateTimestamp": "2026-01-02T12:00:00Z", "updateResources": true, "podGeneration": 3,
		"lastContainerStatuses": null, "resizedContainers": ["a", "b"],
		"containerBatchesRecord": [{"timestamp": "2026-01-02T12:00:00Z", "containers": ["a"]}, {"timestamp": "2026-01-02T12:01:00Z", "containers": ["b"]}]}`)
}

func TestWhatAGracePeriodHoldsBackCanBeReadByOthers(t *testing.T) {
	p := reader()
	p.Spec.Containers[0].Resources.Requests = amounts("1", "1Gi")
	d := tierTo("back")
	d.Images = map[string]string{"app": "app:v2"}
	d.Resources = map[string]corev1.ResourceRequirements{"app": {Requests: cpu("2")}}
	d.Annotations, d.AddFinalizers = map[string]*string{"note": text("x"), "gone": nil}, []string{"example.com/drain"}
	take(p, begin(t, p, d, "web-b", 30*time.Second, noon))
	metadata := base64.StdEncoding.EncodeToString([]byte(`{"metadata":{"annotations":{"gone":null,"note":"x"},"finalizers":["example.com/drain"]}}`))
	reads(t, p, kruisev1alpha1.AnnotationInPlaceGrace, `{
		"revision": "web-b", "graceSeconds": 30, "updateEnvFromMetadata": true, "containerImages": {"app": "app:v2"},
		"containerResources": {"app": {"requests": {"cpu": "2"}}}, "containerRefMetadata": {"app": {"labels": {"tier": "back"}}},
		"metaDataPatch": "`+metadata+`"}`)
}
