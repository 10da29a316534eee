// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"context"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/test/integration/plane"
)

var cluster client.Client

func TestMain(m *testing.M) {
	os.Exit(plane.Run(m, func(config *rest.Config) {
		scheme := runtime.NewScheme()
		if err := corev1.AddToScheme(scheme); err != nil {
			panic(err)
		}
		config.WarningHandler = rest.NoWarnings{} // about old volume kinds, which are here on purpose
		c, err := client.New(config, client.Options{Scheme: scheme})
		if err != nil {
			panic(err)
		}
		cluster = client.NewDryRunClient(c)
	}))
}

// fataler is the part of *testing.T and *rapid.T that the checks use.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// templateCheck sends the template inside a PodTemplate, which gets the defaults of templates.
func templateCheck(t fataler, ctx context.Context, template *corev1.PodTemplateSpec) {
	t.Helper()
	sent := &corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{GenerateName: "t-", Namespace: "default"}, Template: *template.DeepCopy()}
	if err := cluster.Create(ctx, sent); err != nil {
		t.Fatalf("the server refuses the template, so it proves nothing: %v\n%s", err, text(template))
	}
	same(t, "stored template", template, &sent.Template)
}

// podCheck sends a pod made from the template, which gets the defaults of templates and those of pods.
func podCheck(t fataler, ctx context.Context, template *corev1.PodTemplateSpec) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "p-", Namespace: "default", Labels: template.Labels, Annotations: template.Annotations},
		Spec:       *template.Spec.DeepCopy(),
	}
	if err := cluster.Create(ctx, pod); err != nil {
		t.Fatalf("the server refuses the pod, so it proves nothing: %v\n%s", err, text(template))
	}
	same(t, "created pod", template, &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels, Annotations: pod.Annotations},
		Spec:       *withoutAdmission(&pod.Spec),
	})
}

// withoutAdmission removes what admission plugins of the server add to every pod; that is not defaulting and depends
// on the cluster.
func withoutAdmission(spec *corev1.PodSpec) *corev1.PodSpec {
	spec.Priority, spec.PreemptionPolicy = nil, nil
	spec.Tolerations = slices.DeleteFunc(spec.Tolerations, func(t corev1.Toleration) bool {
		return t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable
	})
	return spec
}

func same(t fataler, what string, sent, got *corev1.PodTemplateSpec) {
	t.Helper()
	a, b := revision.FromTemplate(sent), revision.FromTemplate(got)
	if a.Err != nil || b.Err != nil {
		t.Fatalf("unreadable: %v, %v", a.Err, b.Err)
	}
	if !revision.Equal(a, b) {
		t.Errorf("the %s is another revision (-sent +server):\n%s\nsent: %s", what, cmp.Diff(a.Template, b.Template), text(sent))
	}
}

func text(template *corev1.PodTemplateSpec) []byte {
	raw, err := json.Marshal(template)
	if err != nil {
		return []byte(err.Error())
	}
	return raw
}
