// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func quantity(s string) resource.Quantity { return resource.MustParse(s) }

func stored(name, data string, number int64) Revision {
	return Decode(&appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Revision: number,
		Data: runtime.RawExtension{Raw: []byte(data)},
	})
}

// podTemplate wraps a container and a pod spec's other members, both JSON without braces, as stored data.
func podTemplate(container, spec string) string {
	join := func(a, b string) string { return strings.Trim(a+","+b, ",") }
	return `{"spec":{"template":{"metadata":{"labels":{"app":"web"}},"spec":{` +
		join(`"containers":[{`+join(`"name":"main","image":"nginx:1"`, container)+`}]`, spec) + `}}}}`
}

func TestStoredDataOfOthers(t *testing.T) {
	ours, err := Data(web("nginx:1"))
	if err != nil {
		t.Fatal(err)
	}
	live := FromTemplate(web("nginx:1"))
	tests := map[string]string{
		"our own": string(ours),
		"as libraries up to 0.33 wrote it": `{"spec":{"template":{"$patch":"replace","metadata":{"creationTimestamp":null,` +
			`"labels":{"app":"web"}},"spec":{"containers":[{"image":"nginx:1","name":"main","resources":{}}]}}}}`,
		"as a webhook had defaulted it": `{"spec":{"template":{"$patch":"replace","metadata":{"creationTimestamp":null,` +
			`"labels":{"app":"web"}},"spec":{"containers":[{"image":"nginx:1","imagePullPolicy":"IfNotPresent","name":"main",` +
			`"resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}],` +
			`"dnsPolicy":"ClusterFirst","restartPolicy":"Always","schedulerName":"default-scheduler","securityContext":{},` +
			`"terminationGracePeriodSeconds":30}}}}`,
		"without the directive":     podTemplate("", ""),
		"with members beside it":    `{"apiVersion":"v1","metadata":{},"spec":{"replicas":3,"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"main","image":"nginx:1"}]}}}}`,
		"with whitespace":           "\n{ \"spec\" : {\t\"template\" : " + strings.TrimSuffix(strings.TrimPrefix(podTemplate("", ""), `{"spec":{"template":`), "}}") + "} }\n",
		"with nulls everywhere":     podTemplate(`"command":null,"securityContext":null,"livenessProbe":null`, `"volumes":null,"affinity":null,"nodeSelector":{"zone":null},"unheardOf":null`),
		"with empty values":         podTemplate(`"command":[],"env":[],"lifecycle":{},"securityContext":{"capabilities":{"add":[]}},"resources":{"limits":{}}`, `"affinity":{"nodeAffinity":{}},"dnsConfig":{"searches":[]},"volumes":[],"resources":{},"securityContext":{"sysctls":[]}`),
		"with false and zero said":  podTemplate(`"stdin":false,"tty":false,"workingDir":""`, `"hostNetwork":false,"hostIPC":false`),
		"with the pod defaults too": podTemplate("", `"enableServiceLinks":true`),
	}
	for sentence, data := range tests {
		t.Run(sentence, func(t *testing.T) {
			got := stored("web-5d8c", data, 7)
			if got.Err != nil {
				t.Fatal(got.Err)
			}
			if !Equal(got, live) {
				t.Errorf("not equal to the live template:\n%s\n%s", got.Canonical, live.Canonical)
			}
			if got.Name != "web-5d8c" || got.Hash != "5d8c" || got.Number != 7 || got.Object == nil {
				t.Errorf("name %q, hash %q, number %d or object are wrong", got.Name, got.Hash, got.Number)
			}
		})
	}
}

func TestTakingOverADefaultedWorkload(t *testing.T) {
	read := func(file string) Revision {
		data, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		return stored(file, string(data), 1)
	}
	plain, defaulted := read("plain.json"), read("webhook-defaulted.json")
	if !Equal(plain, defaulted) {
		t.Errorf("not equal (%v, %v) (-plain +defaulted):\n%s", plain.Err, defaulted.Err, cmp.Diff(plain.Template, defaulted.Template))
	}
}

func TestUnreadableData(t *testing.T) {
	tests := map[string]string{
		"nothing":                    "",
		"null":                       "null",
		"a list":                     "[]",
		"cut off":                    `{"spec":{"template":{`,
		"no spec":                    "{}",
		"no template":                `{"spec":{}}`,
		"a template that is null":    `{"spec":{"template":null}}`,
		"a template that is a text":  `{"spec":{"template":"web"}}`,
		"a replica count as text":    `{"spec":{"template":{"spec":{"terminationGracePeriodSeconds":"30"}}}}`,
		"an amount that is not one":  podTemplate(`"resources":{"limits":{"cpu":"much"}}`, ""),
		"a spec that is not one":     `{"spec":{"template":{"spec":[]}}}`,
		"members in another casing ": `{"Spec":{"Template":{}}}`,
	}
	for sentence, data := range tests {
		t.Run(sentence, func(t *testing.T) {
			got := stored("web-1", data, 1)
			if got.Err == nil || !strings.Contains(got.Err.Error(), `"web-1"`) {
				t.Fatalf("error %v, want one that names the revision", got.Err)
			}
			if Equal(got, got) || Equal(got, FromTemplate(nil)) || Equal(FromTemplate(nil), got) {
				t.Errorf("what cannot be read equals something")
			}
		})
	}
	if Decode(nil).Err == nil {
		t.Errorf("no object at all is readable")
	}
}

func TestDataHeldAsAnObject(t *testing.T) {
	held := &runtime.Unknown{Raw: []byte(podTemplate("", "")), ContentType: runtime.ContentTypeJSON}
	got := Decode(&appsv1.ControllerRevision{Data: runtime.RawExtension{Object: held}})
	if !Equal(got, FromTemplate(web("nginx:1"))) {
		t.Errorf("not equal to its template (%v): %s", got.Err, got.Canonical)
	}
}

// TestSameMeaning and TestOtherMeaning: members of the container, members of the pod spec, each without braces.
func TestSameMeaning(t *testing.T) {
	type side struct{ container, spec string }
	tests := map[string]struct{ a, b side }{
		"amounts in another unit":           {side{`"resources":{"limits":{"cpu":"1000m","memory":"1Gi"}}`, ""}, side{`"resources":{"limits":{"cpu":1,"memory":"1073741824"}}`, ""}},
		"amounts finer than a thousandth":   {side{`"resources":{"limits":{"cpu":"0.1m"}}`, ""}, side{`"resources":{"limits":{"cpu":"1m"}}`, ""}},
		"requests finer than a thousandth":  {side{`"resources":{"requests":{"cpu":"0.1m"}}`, ""}, side{`"resources":{"requests":{"cpu":"1m"}}`, ""}},
		"the pod's finer than a thousandth": {side{"", `"resources":{"limits":{"cpu":"1.1m"},"requests":{"cpu":"0.1m"}}`}, side{"", `"resources":{"limits":{"cpu":"2m"},"requests":{"cpu":"1m"}}`}},
		"empty affinities":                  {side{"", `"affinity":{"podAffinity":{},"podAntiAffinity":{}}`}, side{}},
		"requests left to the limits":       {side{`"resources":{"limits":{"cpu":"1"}}`, ""}, side{`"resources":{"limits":{"cpu":"1"},"requests":{"cpu":"1"}}`, ""}},
		"a size limit in another unit":      {side{"", `"volumes":[{"name":"a","emptyDir":{"sizeLimit":"1Gi"}}]`}, side{"", `"volumes":[{"name":"a","emptyDir":{"sizeLimit":"1024Mi"}}]`}},
		"a volume without a source":         {side{"", `"volumes":[{"name":"a"}]`}, side{"", `"volumes":[{"name":"a","emptyDir":{}}]`}},
		"a service account by either name":  {side{"", `"serviceAccount":"bot"`}, side{"", `"serviceAccountName":"bot"`}},
		"the newer account name wins":       {side{"", `"serviceAccountName":"bot","serviceAccount":"old"`}, side{"", `"serviceAccountName":"bot","serviceAccount":"bot"`}},
		"ports of the host's network":       {side{`"ports":[{"containerPort":80}]`, `"hostNetwork":true`}, side{`"ports":[{"containerPort":80,"hostPort":80,"protocol":"TCP"}]`, `"hostNetwork":true`}},
		"probe defaults":                    {side{`"livenessProbe":{"httpGet":{"port":80}}`, ""}, side{`"livenessProbe":{"httpGet":{"port":80,"path":"/","scheme":"HTTP"},"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3}`, ""}},
		"a gRPC probe without service":      {side{`"startupProbe":{"grpc":{"port":80,"service":null}}`, ""}, side{`"startupProbe":{"grpc":{"port":80,"service":""}}`, ""}},
		"a token's lifetime":                {side{"", `"volumes":[{"name":"a","projected":{"sources":[{"serviceAccountToken":{"path":"t"}}]}}]`}, side{"", `"volumes":[{"name":"a","projected":{"defaultMode":420,"sources":[{"serviceAccountToken":{"path":"t","expirationSeconds":3600}}]}}]`}},
		"requests of the pod as a whole":    {side{`"resources":{"requests":{"cpu":"1"}}`, `"resources":{"limits":{"cpu":"2","memory":"1Gi"}}`}, side{`"resources":{"requests":{"cpu":"1"}}`, `"resources":{"limits":{"cpu":"2","memory":"1Gi"},"requests":{"cpu":"1","memory":"1Gi"}}`}},
		"large pages of the whole pod":      {side{`"resources":{"limits":{"hugepages-2Mi":"4Mi","cpu":"1"}}`, `"resources":{"limits":{"cpu":"2"}}`}, side{`"resources":{"limits":{"hugepages-2Mi":"4Mi","cpu":"1"}}`, `"resources":{"limits":{"cpu":"2","hugepages-2Mi":"4Mi"},"requests":{"cpu":"1","hugepages-2Mi":"4Mi"}}`}},
		"unknown fields in another order":   {side{`"new":{"a":1,"b":[null]}`, ""}, side{`"new":{"b":[null],"a":1,"c":null}`, ""}},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			a, b := stored("a", podTemplate(test.a.container, test.a.spec), 1), stored("b", podTemplate(test.b.container, test.b.spec), 2)
			if !Equal(a, b) {
				t.Errorf("not equal (%v, %v):\n%s\n%s", a.Err, b.Err, a.Canonical, b.Canonical)
			}
		})
	}
}

func TestOtherMeaning(t *testing.T) {
	type side struct{ container, spec string }
	term := func(selector string) string {
		return `"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone"` + selector + `}]}}`
	}
	tests := map[string]struct{ a, b side }{
		"an unknown field":                         {side{`"new":1`, ""}, side{}},
		"another value of an unknown field":        {side{"", `"new":{"a":1}`}, side{"", `"new":{"a":2}`}},
		"an unknown empty object":                  {side{"", `"volumes":[{"name":"a","new":{}}]`}, side{"", `"volumes":[{"name":"a"}]`}},
		"an unknown field elsewhere":               {side{`"new":1`, ""}, side{"", `"new":1`}},
		"a member in another casing":               {side{`"Tty":true`, ""}, side{`"tty":true`, ""}},
		"an in-memory volume":                      {side{"", `"volumes":[{"name":"a","emptyDir":{"medium":"Memory"}}]`}, side{"", `"volumes":[{"name":"a","emptyDir":{}}]`}},
		"a selector of everything":                 {side{"", term(`,"labelSelector":{}`)}, side{"", term("")}},
		"a selector of all namespaces":             {side{"", term(`,"namespaceSelector":{}`)}, side{"", term("")}},
		"SELinux options that replace the pod's":   {side{`"securityContext":{"seLinuxOptions":{}}`, ""}, side{}},
		"an empty handler, which is refused":       {side{`"lifecycle":{"preStop":{}}`, ""}, side{}},
		"a probe that is there":                    {side{`"livenessProbe":{"exec":{"command":["true"]}}`, ""}, side{}},
		"a request of zero":                        {side{`"resources":{"limits":{"cpu":"1"},"requests":{"cpu":"0"}}`, ""}, side{`"resources":{"limits":{"cpu":"1"}}`, ""}},
		"a variable that is empty":                 {side{`"env":[{"name":"A","value":""}]`, ""}, side{}},
		"the order of containers' arguments":       {side{`"args":["a","b"]`, ""}, side{`"args":["b","a"]`, ""}},
		"no service links":                         {side{"", `"enableServiceLinks":false`}, side{}},
		"no grace":                                 {side{"", `"terminationGracePeriodSeconds":0`}, side{}},
		"a policy that is not the image's default": {side{`"imagePullPolicy":"Always"`, ""}, side{}},
		"a tiny difference in a large amount":      {side{`"resources":{"limits":{"memory":"1Gi"}}`, ""}, side{`"resources":{"limits":{"memory":"1073741825"}}`, ""}},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			a, b := stored("a", podTemplate(test.a.container, test.a.spec), 1), stored("b", podTemplate(test.b.container, test.b.spec), 2)
			if a.Err != nil || b.Err != nil {
				t.Fatal(a.Err, b.Err)
			}
			if Equal(a, b) {
				t.Errorf("both are %s", a.Canonical)
			}
		})
	}
}

func TestWrittenIsLeftAlone(t *testing.T) {
	template := web("nginx")
	r := FromTemplate(template)
	if r.Written != template || template.Spec.RestartPolicy != "" {
		t.Errorf("the template as written was copied or changed")
	}
	if got := r.Template.Spec.Containers[0].ImagePullPolicy; got != corev1.PullAlways {
		t.Errorf("the compared template has pull policy %q", got)
	}
	if got := stored("a", podTemplate(`"resources":{"limits":{"memory":"1Gi"}}`, ""), 1).Template.Spec.Containers[0].Resources.Limits.Memory().String(); got != "1Gi" {
		t.Errorf("an amount was respelled to %s where people see it", got)
	}
}
